"""The decisions of plans, and a plan of a small program, recorded and measured in workers."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.explorer.plan_bench import PlanBench, Refused
from hlograph.explorer.plan_pages import (
    decisions_of,
    measure_all,
    measure_decision,
    plan_data,
    report_of,
)
from hlograph.measuring.trial import Job
from hlograph.plans import Measured, Plan, Program
from hlograph.plans.placement import Placement

PLAN = Plan(
    program="p",
    steps=("call-inliner", "sine-by-polynomial(a.1)", "cse", "sine-by-polynomial(b.2)"),
    layouts={"argument:0": "{0,1}"},
    flags={"xla_cpu_prefer_vector_width": 512},
    placements=(
        Placement("dot.1", "library", "ynn"),
        Placement("dot.2", "library", "none"),
        Placement("dot.3", "library", "ynn"),
        Placement("fusion.1", "fuse", "fusion.2"),
        Placement("fusion.3", "fuse", "fusion.4"),
    ),
    placed="0123",
)


def test_decisions_of_all_kinds_in_order():
    shown = [str(one) for one in decisions_of(PLAN)]
    assert shown == [
        "step call-inliner",
        "step sine-by-polynomial at 2 places",
        "step cse",
        "layout argument:0 = {0,1}",
        "flag xla_cpu_prefer_vector_width = 512",
        "library kernels = ynn at 2 places",
        "library dot.2 = none",
        "fuse kernels at 2 places",
    ]


def test_the_plan_without_a_decision_has_all_others():
    for decision in decisions_of(PLAN):
        left = decision.without
        lost = set(PLAN.describe()) - set(left.describe())
        assert len(lost) == max(1, len(decision.places))
        assert set(left.describe()) < set(PLAN.describe())
        assert left.placed == "0123"


def test_without_its_last_placement_a_plan_is_about_no_optimized_module():
    (decision,) = decisions_of(Plan(placements=PLAN.placements[:1], placed="0123"))
    assert decision.without.is_empty
    assert decision.without.placed == ""


def test_the_empty_plan_decides_nothing():
    assert decisions_of(Plan()) == []


NARROW = Plan(flags={"xla_cpu_prefer_vector_width": 128}, steps=("cse",), method="by hand")
X = np.linspace(0, 1, 64 * 64, dtype=np.float32).reshape(64, 64)


def _program(x):
    return jax.lax.fori_loop(0, 5, lambda i, y: jnp.tanh(y @ x), x)


@pytest.fixture(scope="module")
def bench():
    # With a donated argument, which each run needs a copy of.
    lowered = jax.jit(_program, donate_argnums=0).lower(X)
    with PlanBench(Job(Program.of(lowered), [X]), workers=1) as made:
        yield made


def test_page_of_a_plan(bench):
    content, modules = plan_data(NARROW, bench)
    json.dumps(content, allow_nan=False)
    assert modules.keys() == {"default", "plan"}
    for name, timeline in content["timelines"].items():
        kernels, run = timeline["kernels"], timeline["run"]
        assert sum(kernels["seconds"]) == pytest.approx(timeline["seconds"])
        assert run["seconds"] > 0
        assert all(0 <= at <= 1e6 * run["seconds"] for at in run["start"])
        known = set(modules[name]["names"])
        assert {kernels["name"][kernel] for kernel in run["kernel"]} <= known
    assert [decision["kind"] for decision in content["decisions"]] == ["step", "flag"]
    assert all(decision["brought"] is None for decision in content["decisions"])


def test_what_decisions_bring(bench):
    said = []
    brought = measure_all(NARROW, bench, said.append)
    json.dumps(brought, allow_nan=False)
    assert said == [f"without {decision}" for decision in decisions_of(NARROW)]
    step, flag = (decision["brought"] for decision in brought["decisions"])
    assert step["same_code"]  # XLA's own passes do what it did
    assert (step["ratio"], step["pairs"]) == (1, 0)
    for ratio in (flag, brought["whole"], brought["control"]):
        assert ratio["low"] <= ratio["ratio"] <= ratio["high"]
        assert ratio["pairs"] > 0
    assert not {"same_code", "error"} & flag.keys()


def test_placements_that_do_not_apply_without_a_decision_are_left_out_with_it(bench):
    plan = replace(NARROW, steps=(), placements=(Placement("nothing", "unfuse"),), placed="0" * 32)
    brought = measure_decision(plan, 0, bench)
    assert "PlanRefused" in brought["error"] or "fingerprint" in brought["error"]


def test_what_cannot_be_compiled_is_refused(bench):
    wrong = Plan(steps=("no-such-pass",))
    first, second = bench.answers([(wrong,), (wrong, Plan())])
    assert isinstance(first, Refused)
    assert isinstance(second, Refused)
    assert "no-such-pass" in first.reason
    content, _ = plan_data(wrong, bench)
    assert "no-such-pass" in content["timelines"]["plan"]["error"]
    assert "error" not in content["timelines"]["default"]


def test_report_of_a_plan():
    measured = Measured(2e-3, 1e-3, 2.0, 1.9, 2.1, 1.0, 30)
    report = report_of(NARROW.measured_at(measured))
    assert report["measured"]["ratio"] == 2
    assert report["machine"] == report["here"]
    assert report["numerics"] == "exact"
    assert report_of(NARROW)["machine"] is None
