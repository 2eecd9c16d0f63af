"""A tiny module that every pass of the tests has an effect on."""

from __future__ import annotations

import pytest

from hlograph import Module, corpus
from tests.tiny_module import TINY


@pytest.fixture
def tiny() -> Module:
    """Eight instructions; dce leaves 7, call-inliner then 5, cse then 4."""
    return Module.from_text(TINY)


@pytest.fixture(scope="session")
def small_benchmarks() -> list[corpus.Benchmark]:
    """The smallest benchmark of 60 to 200 instructions of each of ten families."""
    smallest: dict[str, corpus.Benchmark] = {}
    for benchmark in sorted(corpus.load(max_op_count=200), key=lambda b: (b.op_count, b.name)):
        if benchmark.op_count >= 60:
            smallest.setdefault(benchmark.family, benchmark)
    return [smallest[family] for family in sorted(smallest)[:10]]
