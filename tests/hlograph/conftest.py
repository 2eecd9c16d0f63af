"""Modules of the corpus that several tests use, and a lock of their own."""

import pytest

from hlograph import Module, corpus
from tests.hlograph.own_machine import own_lock, short_finals, single_workers

__all__ = ["own_lock", "short_finals", "single_workers"]


@pytest.fixture(scope="session")
def small_benchmarks() -> list[corpus.Benchmark]:
    """Returns the smallest benchmark of 100 to 700 instructions of each of 40 families."""
    smallest: dict[str, corpus.Benchmark] = {}
    for benchmark in corpus.load(max_op_count=700):
        best = smallest.setdefault(benchmark.family, benchmark)
        if best.op_count < 100 or 100 <= benchmark.op_count < best.op_count:
            smallest[benchmark.family] = benchmark
    spread = sorted(smallest.values(), key=lambda b: b.fingerprint)
    return sorted(spread[:40], key=lambda b: b.name)


@pytest.fixture(scope="session")
def corpus_module() -> Module:
    """Returns a GPT-2 training step; clone it before a pass changes it."""
    gpt2 = [b for b in corpus.load(split="train") if b.family == "gpt2" and "train" in b.name]
    return min(gpt2, key=lambda benchmark: benchmark.op_count).load()
