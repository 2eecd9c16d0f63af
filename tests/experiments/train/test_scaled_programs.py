"""Training programs in other sizes."""

from pathlib import Path

import pytest

from experiments.kernel_bank import drawing
from experiments.train.scaled_programs import scaled_programs
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import make_rollout_worker, pool_of
from hlograph.module import Module
from tests.experiments.train.test_train_tuning import tiny_tuning_config

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


@pytest.fixture
def runner(tmp_path):
    config = tiny_tuning_config()
    with pool_of(config, make_rollout_worker) as pool:
        yield TaskRunner(config, pool, tmp_path)


def test_programs_have_other_sizes_and_the_same_operations(programs, runner, tmp_path):
    paths = scaled_programs(programs, 4, runner, tmp_path / "scaled")
    assert 0 < len(paths) <= 4  # what calls other code is left out
    fingerprints = {Module.from_text(ROWS).fingerprint()}
    for path in paths:
        module = Module.load(path)
        module.verify()
        fingerprints.add(module.fingerprint())
        assert {"dot", "tanh", "reduce"} <= set(module.opcodes())
        seconds = drawing.predicted_seconds(module)
        assert drawing.SHORTEST / 3 < seconds < 3 * drawing.LONGEST
    assert len(fingerprints) == len(paths) + 1


def test_a_seed_draws_the_same_programs_and_a_run_keeps_its_own(programs, runner, tmp_path):
    first = scaled_programs(programs, 3, runner, tmp_path / "first")
    again = scaled_programs(programs, 3, runner, tmp_path / "again")
    assert [Path(p).read_bytes() for p in first] == [Path(p).read_bytes() for p in again]
    kept = Path(first[0])
    kept.write_bytes(b"kept")
    assert scaled_programs(programs, 3, runner, tmp_path / "first") == first
    assert kept.read_bytes() == b"kept"
    # Another number of draws draws again, and none leaves out what the folder has.
    assert set(scaled_programs(programs, 5, runner, tmp_path / "first")) > set(first)
    assert kept.read_bytes() != b"kept"
    assert scaled_programs(programs, 0, runner, tmp_path / "first") == []


def test_programs_that_cannot_be_read_are_left_out(runner, tmp_path):
    broken = tmp_path / "broken.hlo"
    broken.write_text("HloModule broken")
    assert scaled_programs([str(broken)], 2, runner, tmp_path / "scaled") == []
