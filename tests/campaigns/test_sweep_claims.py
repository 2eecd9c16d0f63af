"""The sweep of claims: what it takes for a change, and its report."""

from pathlib import Path

import numpy as np
import pytest

from hlograph import Module
from hlograph.execution.equivalence.verdict import difference
from tests.campaigns.framework.module_sets import load, select
from tests.campaigns.sweep_claims import (
    ClaimsConfig,
    Original,
    change_of,
    flushed,
    make_sweep,
    write_report,
)

ONE = np.array([1, 2, 4], np.float32)


@pytest.mark.parametrize(
    ("other", "change"),
    [
        ([1, 2, 4], "equal"),
        ([1, 2, 4 + 1e-6], "rounding"),
        ([1, 2, 5], "numbers"),
        ([1, 2, np.nan], "special values"),
        ([1, 2, np.inf], "special values"),
        ([np.inf, 2, 5], "numbers"),
    ],
)
def test_changes_of_floats(other, change):
    assert change_of(difference(ONE, np.array(other, np.float32), "f32")) == change


def test_signs_of_zeros_are_special_and_denormals_are_zeros():
    zeros = np.array([0.0, -0.0, 1e-42, -1e-42], np.float32)
    other = np.array([-0.0, -0.0, 0.0, -0.0], np.float32)
    assert change_of(difference(flushed(zeros), flushed(other), "f32")) == "special values"
    assert change_of(difference(flushed(zeros[1:]), flushed(other[1:]), "f32")) == "equal"
    assert change_of(difference(np.array([1]), np.array([2]), "s64")) == "numbers"


LOG_OF_EXP = """
HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  a = f32[64] exponential(x)
  ROOT b = f32[64] log(a)
}
"""


def test_special_values_show_what_usual_ones_do_not():
    module = Module.from_text(LOG_OF_EXP)
    changed = module.clone()
    changed.run("algsimp")
    usual, special = Original(module, ClaimsConfig()).changes(changed)
    assert usual == "rounding"
    assert special in ("special values", "numbers")


def test_sets_of_small_modules():
    names = [module.name for module in select(["degenerate/dots-*", "random/1*", "small/fft"])]
    assert "random/11" in names
    assert any(name.startswith("degenerate/dots-of-scalar") for name in names)
    assert not any(name.startswith("degenerate/sorts") for name in names)
    for name in names[:3]:
        load(name).verify()


def test_sweep_and_report(tmp_path: Path):
    config = ClaimsConfig(
        out=tmp_path,
        benchmarks=("degenerate/dots-of-one-parameters-*",),
        passes=("algsimp", "cse", "dot_decomposer"),
        workers=0,
        samples=1,
    )
    sweep = make_sweep(config)
    assert sweep.run(lambda lines: write_report(lines, config)) == 0
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| `algsimp` | approximate | formulas become others" in report
    assert "No pass of class exact changed a bit." in report
    assert "Changed no module whose results could be compared: `cse`" in report


def test_a_change_by_an_exact_pass_is_named():
    line = {
        "benchmark": "random/7",
        "op_count": 3,
        "results": [{"name": "cse", "verdict": "equal", "special": "special values", "reason": ""}],
    }
    assert "bits changed: `cse` on `random/7`" in write_report([line], ClaimsConfig())
