"""A tiny module that every pass of the tests has an effect on."""

import pytest

from hlograph import Module, corpus
from hlograph.isolation import FlightRecorder
from tests.tiny_module import TINY

DYNAMIC = """
HloModule dynamic
ENTRY main {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  n = s32[] parameter(2)
  m = s32[] parameter(3)
  da = f32[<=8] set-dimension-size(a, n), dimensions={0}
  db = f32[<=8] set-dimension-size(b, m), dimensions={0}
  ROOT s = f32[<=8] add(da, db)
}
"""
"""``dynamic_padder`` fails on it: the two sizes may differ."""

NETWORK = """
HloModule network
ENTRY main {
  x = f32[96,96] parameter(0)
  w = f32[96,96] parameter(1)
  first = f32[96,96] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wave = f32[96,96] tanh(first)
  second = f32[96,96] dot(wave, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT sum = f32[96,96] add(second, x)
}
"""
"""Its dots can run in several libraries."""


class PassCounter(FlightRecorder):
    """Counts the passes that are run: each is noted before it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        self.begun += 1
        super().begin(note, seconds)


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
