"""Modules of the corpus that several tests use."""

from __future__ import annotations

import pytest

from hlograph import Module, corpus


@pytest.fixture(scope="session")
def small_benchmarks() -> list[corpus.Benchmark]:
    """One benchmark a family, each the smallest of its family and under 700 instructions."""
    smallest: dict[str, corpus.Benchmark] = {}
    for benchmark in corpus.benchmarks(max_op_count=700):
        best = smallest.setdefault(benchmark.family, benchmark)
        if benchmark.op_count < best.op_count:
            smallest[benchmark.family] = benchmark
    return list(smallest.values())


@pytest.fixture(scope="session")
def corpus_module() -> Module:
    """A GPT-2 training step; clone it before a pass changes it."""
    gpt2 = [b for b in corpus.benchmarks("train") if b.family == "gpt2" and "train" in b.name]
    return min(gpt2, key=lambda benchmark: benchmark.op_count).load()
