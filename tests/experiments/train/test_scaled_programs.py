"""Training programs in other sizes."""

from pathlib import Path

import pytest

from experiments.kernel_bank import drawing
from experiments.train.scaled_programs import scaled_programs
from hlograph.module import Module

ROWS = """HloModule rows

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[256,512]{1,0} parameter(0)
  y = f32[512,64]{1,0} parameter(1)
  zero = f32[] constant(0)
  dot = f32[256,64]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  tanh = f32[256,64]{1,0} tanh(dot)
  ROOT sums = f32[64]{0} reduce(tanh, zero), dimensions={0}, to_apply=add
}
"""
FIXED = """HloModule fixed

ENTRY main {
  x = f32[8] parameter(0)
  ROOT y = f32[8] custom-call(x), custom_call_target="other"
}
"""


@pytest.fixture
def programs(tmp_path):
    names = []
    for name, text in {"rows": ROWS, "fixed": FIXED}.items():
        path = tmp_path / f"{name}.hlo"
        path.write_text(text)
        names.append(str(path))
    return names


def test_programs_have_other_sizes_and_the_same_operations(programs, tmp_path):
    paths = scaled_programs(programs, 4, 0, tmp_path / "scaled")
    assert 0 < len(paths) <= 4  # what calls other code is left out
    rows = Module.from_text(ROWS)
    for path in paths:
        module = Module.load(path)
        module.verify()
        assert module.fingerprint() != rows.fingerprint()
        assert {"dot", "tanh", "reduce"} <= set(module.opcodes())
        assert drawing.SHORTEST / 3 < module.seconds() < 3 * drawing.LONGEST
    assert len({Module.load(path).fingerprint() for path in paths}) == len(paths)


def test_a_seed_draws_the_same_programs_and_a_run_keeps_its_own(programs, tmp_path):
    first = scaled_programs(programs, 3, 0, tmp_path / "first")
    again = scaled_programs(programs, 3, 0, tmp_path / "again")
    assert [Path(path).read_bytes() for path in first] == [Path(p).read_bytes() for p in again]
    assert scaled_programs(programs, 9, 1, tmp_path / "first") == first
    assert scaled_programs(programs, 0, 0, tmp_path / "none") == []
    assert not (tmp_path / "none").exists()
