"""Prepared programs, and judgements of outputs by an independent reference."""

import pickle

import numpy as np
import pytest

from benchmarks.peers.module_workers import JaxlibModuleWorker
from benchmarks.peers.npbench_programs import programs_of_checkout
from benchmarks.peers.references import (
    INPUTS,
    MODULE,
    ModuleReference,
    NPBenchReference,
    TooLargeError,
    check_size,
)
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import ArraySpec
from hlograph.plans import Plan
from tests.benchmarks.peers.checkouts import small_checkout

SUMS = """HloModule sums
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY main {
  x = f32[64,32] parameter(0)
  zero = f32[] constant(0)
  ROOT s = f32[64] reduce(x, zero), dimensions={1}, to_apply=add
}
"""
TOP = """HloModule top
ENTRY main {
  x = f32[8,32] parameter(0)
  ROOT t = (f32[8,4], s32[8,4]) topk(x), k=4, largest=true
}
"""


@pytest.fixture
def sums(tmp_path):
    """Returns the reference of a program and its folder."""
    file = tmp_path / "sums.hlo"
    file.write_text(SUMS)
    return ModuleReference(str(file), str(tmp_path / "prepared")), tmp_path / "prepared"


def test_the_prepared_program_is_stablehlo_with_inputs(sums):
    _, folder = sums
    assert "stablehlo.reduce" in (folder / MODULE).read_text()
    (inputs,) = pickle.loads((folder / INPUTS).read_bytes())
    assert inputs.shape == (64, 32)


def test_jaxlib_is_right_and_timed(sums):
    reference, folder = sums
    worker = JaxlibModuleWorker(str(folder))
    assert worker.compile() > 0
    assert reference.judge(worker.outputs()) == ""
    assert worker.seconds(2) > 0


def test_a_plan_and_another_text_are_carried_out(sums, tmp_path):
    reference, folder = sums
    Plan(flags={"xla_cpu_prefer_vector_width": 512}).save(tmp_path / "plan.json")
    text = (folder / MODULE).read_text().replace("@main", "@main")
    (folder / "other.mlir").write_text(text)
    worker = JaxlibModuleWorker(str(folder), str(tmp_path / "plan.json"), "other.mlir")
    worker.compile()
    assert reference.judge(worker.outputs()) == ""


def test_rounding_is_right_and_more_is_wrong(sums):
    reference, folder = sums
    (inputs,) = pickle.loads((folder / INPUTS).read_bytes())
    exact = inputs.astype(np.float64).sum(axis=1)
    assert reference.judge([exact]) == ""
    assert "output 0: relative error" in reference.judge([exact * 1.01])
    assert "not those of the original" in reference.judge([np.full(64, np.nan)])


def test_outputs_of_another_shape_are_wrong(sums):
    reference, _ = sums
    assert "expected outputs of shapes" in reference.judge([np.zeros(3)])
    assert "expected outputs of shapes" in reference.judge([])


def test_top_k_is_as_jax_lowers_it(tmp_path):
    (tmp_path / "top.hlo").write_text(TOP)
    ModuleReference(str(tmp_path / "top.hlo"), str(tmp_path))
    text = (tmp_path / MODULE).read_text()
    assert "chlo.top_k" in text
    assert "mhlo.topk" not in text


def test_a_program_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(HloError, match="no program of"):
        ModuleReference("no/such/program", str(tmp_path))


def test_arguments_that_every_process_would_have_are_limited():
    check_size([ArraySpec("f32", (1024, 1024))])
    with pytest.raises(TooLargeError, match=r"got 4096\.00 GiB: measure the program on a larger"):
        check_size([ArraySpec("f32", (1 << 20, 1 << 20))])


def test_npbench_judges_by_its_own_check(tmp_path):
    (program,) = programs_of_checkout(small_checkout(tmp_path / "npbench", name="judged"), "S")
    reference = NPBenchReference(program, str(tmp_path / "prepared"))
    worker = JaxlibModuleWorker(str(tmp_path / "prepared"))
    worker.compile()
    outputs = worker.outputs()
    assert outputs[0].dtype == np.float64
    assert reference.judge(outputs) == ""
    assert reference.judge([outputs[0] + 1]).startswith("NPBench's check: relative error")
