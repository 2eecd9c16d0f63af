"""Plans: files, merging and refusal."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from hlograph.plans import Measured, Placement, Plan, PlanError, PlanRefusedError, Program
from hlograph.storage.machine import machine

FULL = Plan(
    program="jit_step",
    fingerprint="ab",
    steps=("xla-simplify", "algebraic(add.1)"),
    layouts={"dot.1": "{0,1}", "argument:0": "{1,0}"},
    flags={"xla_backend_optimization_level": 1, "xla_cpu_enable_fast_math": True},
    placements=(Placement("fusion.1", "partitions", "4"), Placement("while.1", "one-kernel")),
    placed="cd",
    numerics="fast",
    method="tries",
).measured_at(Measured(2.0, 1.0, 2.0, 1.9, 2.1, 1.0, 25))


def test_a_plan_survives_its_file_and_a_pickle(tmp_path: Path) -> None:
    FULL.save(tmp_path / "step.plan.json")
    for copy in (Plan.load(tmp_path / "step.plan.json"), pickle.loads(pickle.dumps(FULL))):
        assert copy == FULL
        assert copy.digest == FULL.digest


def test_the_digest_is_that_of_the_decisions() -> None:
    assert replace(FULL, method="others", measured=None).digest == FULL.digest
    assert replace(FULL, placements=()).digest != FULL.digest


def test_the_right_plan_holds_where_both_decide() -> None:
    left = Plan(flags={"xla_backend_optimization_level": 1, "xla_cpu_optimize_for_size": True})
    right = Plan(flags={"xla_backend_optimization_level": 2}, numerics="close")
    both = left | right
    assert dict(both.flags) == {
        "xla_backend_optimization_level": 2,
        "xla_cpu_optimize_for_size": True,
    }
    assert both.numerics == "close"
    assert both.measured is None


@pytest.mark.parametrize("other", [Plan(fingerprint="x"), Plan(steps=("dce",)), Plan(placed="y")])
def test_plans_of_different_modules_are_not_merged(other: Plan) -> None:
    with pytest.raises(PlanError, match="of both plans"):
        _ = FULL | other


def test_a_summary_has_one_line_for_the_places_of_a_rule() -> None:
    steps = ("call-inliner", "a(x)", "a(y)", "a(z)", "b(x)", "a(v)")
    plan = Plan(steps=steps, flags={"xla_cpu_prefer_vector_width": 128})
    assert plan.summary() == [
        "step call-inliner",
        "step a(x), and a at 2 more places",
        "step b(x)",
        "step a(v)",
        "flag xla_cpu_prefer_vector_width = 128",
    ]
    assert len(plan.describe()) == len(steps) + 1
    assert Plan().summary() == Plan().describe()


def test_another_program_is_refused() -> None:
    with pytest.raises(PlanRefusedError, match="other shapes"):
        FULL.check(_program("other"))


def test_another_machine_is_refused() -> None:
    there = replace(FULL, machine=replace(machine(), jaxlib="0.0.1"))
    with pytest.raises(PlanRefusedError, match="measured elsewhere"):
        there.check(_program("ab"))
    there.check(_program("ab"), here=False)


def test_either_fingerprint_says_that_a_plan_fits() -> None:
    both = replace(FULL, text_fingerprint="text", machine=None)
    for plan in (both, replace(both, fingerprint="older"), replace(both, fingerprint="")):
        plan.check(_program("ab", "text"))
        plan.check(_program("", "text"))  # without the engine
        with pytest.raises(PlanRefusedError, match="other shapes"):
            plan.check(_program("other", "other"))
    both.check(_program("ab", "of another jaxlib"))
    with pytest.raises(PlanRefusedError, match="the program has text: other shapes"):
        replace(both, text_fingerprint="").check(_program("", "text"))
    assert Plan.from_json(both.to_json()) == both


def _program(fingerprint: str, text_fingerprint: str = "") -> Program:
    """Returns a program that has these fingerprints."""
    program = Program("f", "hlo", b"")
    vars(program).update(fingerprint=fingerprint, text_fingerprint=text_fingerprint)
    return program


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": "hlograph plan", "version": 99}', "\0", '{"kind": 1}']
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        Plan.from_json(text)


@pytest.mark.parametrize("missing", ["steps", "flags", "placements", "measured"])
def test_a_damaged_plan_is_refused(missing: str) -> None:
    content = json.loads(FULL.to_json())
    del content[missing]
    with pytest.raises(PlanError, match="damaged"):
        Plan.from_json(json.dumps(content))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot read"):
        Plan.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    "flags",
    [
        {"xla_no_such_flag": True},
        {"xla_backend_optimization_level": 9},
        {"xla_cpu_prefer_vector_width": True},
        {"xla_disable_hlo_passes": "a b"},
    ],
)
def test_flags_that_may_end_the_process_are_refused(flags: dict[str, bool | int | str]) -> None:
    with pytest.raises(PlanError, match="expected"):
        Plan(flags=flags)


@pytest.mark.parametrize("layout", ["", "0,1", "{0,0}", "{1}", "{a}", "{1,2}"])
def test_malformed_layouts_are_refused(layout: str) -> None:
    with pytest.raises(PlanError, match="minor-to-major"):
        Plan(layouts={"dot.1": layout})
