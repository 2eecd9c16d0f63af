"""Searches for programs whose default is wrong, or ends the process."""

import json
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest

import hlograph
from hlograph.errors import HloError, HloWarning
from hlograph.measuring import references, service
from hlograph.measuring.references import Judgement
from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.optimization import judging, race
from hlograph.plans import Measured, Plan, Program
from hlograph.plans.known_faults import faults_of
from tests.hlograph.faulty_programs import DIES, WRONG, folds_much
from tests.hlograph.optimization.small_job import HERE, X, small_function


def _as_if_some_plan_led(self):
    self._unconfirmed = ""
    plan = Plan(flags={"xla_cpu_prefer_vector_width": 128})
    measured = Measured(2.0, 1.0, 2.0, 1.9, 2.1, 1.0, 60)
    return PlanMeasurement(plan, True, measured, Checks(True, "equal", "", ("random 0",)))


def _needs_fault(name):
    function, arguments, _ = {**WRONG, **DIES}[name]()
    program = Program.of(jax.jit(function).lower(*arguments))
    if not faults_of(program.flow):
        pytest.skip("a later jaxlib has mended it")


def test_a_wrong_default_loses_and_the_right_plan_is_stored(cache, monkeypatch):
    _needs_fault("matvec")
    # The fault is not known: the first plan, the plain reference, raises the doubt.
    monkeypatch.setattr(judging, "faults_of", lambda flow: [])
    function, arguments, expected = WRONG["matvec"]()
    with pytest.warns(HloWarning, match=r"is wrong: output 0: [\d,]+ of 40,000 elements"):
        fast = hlograph.optimize(function, *arguments, budget=1, methods=[f"{HERE}:silent"])
    np.testing.assert_allclose(fast(*arguments), expected, rtol=1e-4, atol=1e-4)
    report = fast.report
    assert report.judgement is not None
    assert report.judgement.verdict == "differs"
    assert "jaxlib's default is wrong" in report.conclusion
    assert "the engine's XLA: right" in str(report)
    assert json.loads(report.to_json())["judgement"]["wrong"][0]["output"] == 0
    assert fast.plan.measured is not None  # beside the default
    times = report.judging
    assert times.until is not None
    assert 0 < times.asking <= times.until <= report.seconds
    assert times.plain > 0
    with pytest.warns(HloWarning, match="is not used"):
        again = hlograph.optimize(function, *arguments)
    assert again.report.from_store
    assert again.plan.digest == fast.plan.digest
    assert "is wrong" in str(again.report)


def test_nothing_wins_beside_a_wrong_default_without_a_right_plan(cache, monkeypatch):
    wrong = Judgement("differs", "jaxlib's default is wrong", None)
    monkeypatch.setattr(judging, "faults_of", lambda flow: ["a fault"])
    monkeypatch.setattr(judging, "judge_default", lambda *args, **kwargs: wrong)
    monkeypatch.setattr(race.Race, "_run", _as_if_some_plan_led)
    with pytest.warns(HloWarning, match="is kept, as nothing right was found"):
        fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"])
    assert fast.plan.is_empty
    assert fast.plan.default_fault == wrong.reason


def test_plans_are_judged_by_what_is_right(cache):
    _needs_fault("negative_padding")
    function, arguments, expected = WRONG["negative_padding"]()
    with pytest.warns(HloWarning):
        fast = hlograph.optimize(function, *arguments, budget=1, methods=[f"{HERE}:widths"])
    np.testing.assert_allclose(fast(*arguments), expected, rtol=1e-5)
    times = fast.report.judging
    assert times.asking > 0
    assert times.plain == 0  # the references are asked at once, as the fault is known
    tried = [outcome.plan for outcome in fast.report.outcomes]
    assert tried
    assert all(plan.steps == ("slice-negative-padding",) for plan in tried)
    assert all(outcome.checks and outcome.checks.accepted for outcome in fast.report.outcomes)


_SCRIPT = """
import sys
import numpy as np
import hlograph
from tests.hlograph.faulty_programs import DIES
from tests.hlograph.optimization.small_job import HERE

function, arguments, expected = DIES[sys.argv[1]]()
fast = hlograph.optimize(function, *arguments, budget=1, methods=[f"{HERE}:silent"])
np.testing.assert_allclose(fast(*arguments), expected, rtol=1e-4, atol=1e-4)
print(fast.report)
"""


# One that ends the process when it runs, and one when it is compiled.
_BRIEF = ("rank_7", "division_by_zero")


@pytest.mark.parametrize(
    "name",
    [name if name in _BRIEF else pytest.param(name, marks=pytest.mark.slow) for name in DIES],
)
def test_a_default_that_ends_the_process_loses(name, cache):
    _needs_fault(name)
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT, name], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert "jaxlib's default" in run.stdout
    assert ": right" in run.stdout


def test_a_default_that_takes_too_much_memory_to_compile_loses(cache, monkeypatch):
    for module in (service, references):
        monkeypatch.setattr(module, "_MEMORY", 640 << 20)
    function, arguments = folds_much()
    with pytest.warns(HloWarning, match="out of memory.* is not used"):
        fast = hlograph.optimize(function, *arguments, budget=1, methods=[f"{HERE}:silent"])
    np.testing.assert_allclose(fast(*arguments), np.full(4, -1))
    assert fast.report.judgement is not None
    assert fast.report.judgement.verdict == "dies"
    assert "constant_folding" in str(fast.plan.flags)


_JIT = """
import sys, warnings
import numpy as np
import hlograph
from tests.hlograph.faulty_programs import DIES
from tests.hlograph.optimization.small_job import HERE

function, arguments, expected = DIES[sys.argv[1]]()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fast = hlograph.jit(function, budget=1, methods=[f"{HERE}:silent"])
    np.testing.assert_allclose(fast(*arguments), expected, rtol=1e-4, atol=1e-4)
    print(fast.plans[0].default_fault)
    fast.wait()
    np.testing.assert_allclose(fast(*arguments), expected, rtol=1e-4, atol=1e-4)
print([str(each.message) for each in caught if "ends the process" in str(each.message)])
print(fast.report)
"""


def test_the_first_call_of_a_program_with_a_known_fault_runs_by_what_is_right(cache):
    _needs_fault("rank_7")
    run = subprocess.run(
        [sys.executable, "-c", _JIT, "rank_7"], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    reason, warned, *report = run.stdout.splitlines()
    assert "jaxlib's default ends the process" in reason
    assert warned.count("is not used") == 1
    assert "jaxlib's default ends the process" in "\n".join(report)


def test_a_first_call_is_checked_if_the_user_asks_for_it(cache):
    fast = hlograph.jit(small_function, budget=1, methods=[f"{HERE}:silent"], first="checked")
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    (signature,) = fast._signatures.values()
    assert signature.function.report.judgement is not None
    fast.close()
    with pytest.raises(HloError, match="first=default or checked"):
        hlograph.jit(small_function, first="child")


def test_a_right_default_is_said_to_be_right(cache):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:silent"])
    assert fast.report.judgement is not None
    assert fast.report.judgement.verdict == "agrees"
    times = fast.report.judging
    assert times.until is not None
    assert 0 < times.plain <= times.until <= fast.report.seconds
    assert times.asking == 0
    assert "agrees with jaxlib without library fusions" in str(fast.report)
