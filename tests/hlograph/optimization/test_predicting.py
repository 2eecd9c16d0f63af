"""hlograph.predict: times and decisions, without a run and without code."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import log_ratios
from hlograph.errors import HloError, HloWarning, WorkerLostError
from hlograph.execution.prediction_errors import default_errors
from hlograph.execution.rates import default_rates
from hlograph.isolation import Remote
from hlograph.optimization.predicting import _Optimizer
from hlograph.plans import PlanError, Program, compile_program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_seconds import PredictedTime
from hlograph.profiling.kernel_trees import KernelTrees

NO_CODE = """HloModule no_code
ENTRY e {
  a = f32[64,64] parameter(0)
  b = f32[64,64] custom-call(a), custom_call_target="nobody_has_this", API
  ROOT c = f32[64,64] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
""".replace("API", "api_version=API_VERSION_TYPED_FFI")
ENDLESS = """HloModule endless
body { p = (f32[64]) parameter(0) x = f32[64] get-tuple-element(p), index=0
  y = f32[64] sine(x) ROOT t = (f32[64]) tuple(y) }
condition { q = (f32[64]) parameter(0) ROOT go = pred[] constant(true) }
ENTRY e { a = f32[64] parameter(0) s = (f32[64]) tuple(a)
  ROOT w = (f32[64]) while(s), condition=condition, body=body }
"""


def product(size):
    x = jax.ShapeDtypeStruct((size, size), jnp.float32)
    return jax.jit(jnp.matmul).lower(x, x)


@pytest.fixture(scope="module")
def sorts():
    def prefix(x, y):
        return jnp.sort(x)[:, :4], jnp.power(y, 4.0), jnp.arctan2(y, x[:, :1])

    shapes = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((64, 4096), (64, 64)))
    return Program.of(jax.jit(prefix).lower(*shapes))


@pytest.fixture(scope="module")
def predicted(sorts):
    return hlograph.predict(sorts, rates=default_rates())


def test_a_product_takes_longer_the_larger_it_is():
    small, large = (hlograph.predict(product(size)) for size in (64, 512))
    assert large.seconds > 10 * small.seconds
    dot = large.kernels[0]
    assert (dot.kind, dot.calls, dot.bound_by) == ("dot", 1, "arithmetic")


def test_kernels_add_up_and_the_interval_is_that_of_the_errors(predicted):
    assert sum(kernel.seconds for kernel in predicted.kernels) == pytest.approx(predicted.seconds)
    assert predicted.kernels[0].kind == "sort"
    assert predicted.errors == default_errors()
    assert predicted.interval == default_errors().interval(predicted.seconds)


def test_decisions_are_those_of_the_default_with_their_predicted_gains(sorts, predicted):
    state, trees = PlanStates(sorts).state(Point()), KernelTrees.load()
    ratios = np.exp(log_ratios(state, trees, state.actions))
    known = {action.name: ratio for action, ratio in zip(state.actions, ratios, strict=True)}
    assert "rule sort-prefix-as-top-k" in known
    assert {decision.name for decision in predicted.decisions} == known.keys() - {"rule predicted"}
    for decision in predicted.decisions:
        assert decision.ratio == pytest.approx(known[decision.name])
        action = state.by_name[decision.name]
        assert (decision.places, decision.instructions) == (action.places, action.touched)


def test_the_most_promising_decisions_come_first(predicted):
    saved = [decision.saved for decision in predicted.decisions]
    assert saved == sorted(saved, reverse=True)
    subjects = [decision.subject for decision in predicted.promising]
    assert len(set(subjects)) == len(subjects)
    for decision in predicted.decisions:
        if decision.saved >= 0.02 * predicted.seconds:
            assert decision.subject in subjects
    best = predicted.promising[0]
    assert best.name.startswith("rule ")
    assert best.ratio == pytest.approx(predicted.seconds / (predicted.seconds - best.saved))
    assert all(decision.ratio > 1.02 for decision in predicted.promising)


def test_exact_results_leave_out_rules_that_round(sorts, predicted):
    exact = hlograph.predict(sorts, numerics="exact", rates=default_rates())
    assert exact.seconds == predicted.seconds
    rules, others = (
        {decision.name for decision in each.decisions if decision.name.startswith("rule ")}
        for each in (exact, predicted)
    )
    assert rules < others
    assert rules == {decision.name for decision in predicted.decisions if decision.exact}


def test_times_and_savings_are_by_the_given_rates(sorts, predicted):
    rates = default_rates()
    slow = replace(rates, seconds=tuple(3 * second for second in rates.seconds))
    slower = hlograph.predict(sorts, rates=slow)
    assert slower.seconds == pytest.approx(3 * predicted.seconds, rel=0.01)
    assert slower.decisions[0].ratio == predicted.decisions[0].ratio
    assert slower.decisions[0].saved == pytest.approx(3 * predicted.decisions[0].saved, rel=0.01)
    assert slower.rates is slow


def test_no_code_is_generated():
    program = Program.of(hlograph.Module.from_text(NO_CODE))
    with pytest.raises(PlanError, match="nobody_has_this"):
        compile_program(program)
    prediction = hlograph.predict(program)
    assert {kernel.opcode for kernel in prediction.kernels} >= {"custom-call"}
    assert [kernel.kind for kernel in prediction.kernels].count("dot") == 1


def test_nothing_runs_and_loops_without_an_end_are_named():
    prediction = hlograph.predict(hlograph.Module.from_text(ENDLESS))
    assert len(prediction.unknown_loops) == 1
    assert prediction.seconds > 0


def test_another_function_may_predict_the_times():
    def constant(kernels, flags):
        return PredictedTime(2.0, (1.0,) + (0.0,) * (len(kernels) - 1))

    prediction = hlograph.predict(product(8), time=constant)
    assert prediction.seconds == pytest.approx(2.0)
    assert (prediction.errors, prediction.interval) == (None, None)


def test_the_end_of_a_process_is_an_error_or_a_warning(monkeypatch):
    call = Remote.call
    lost: set[object] = {_Optimizer.optimized_and_ratios}

    def call_or_lose(remote, method, *args):
        if method in lost:
            raise WorkerLostError("the process ended")
        return call(remote, method, *args)

    monkeypatch.setattr(Remote, "call", call_or_lose)
    with pytest.warns(HloWarning, match="what can be decided"):
        prediction = hlograph.predict(product(8))
    assert prediction.decisions == ()
    assert "dot" in {kernel.kind for kernel in prediction.kernels}
    lost.add(_Optimizer.optimized)
    with pytest.raises(HloError, match="a process ended while XLA optimized"):
        hlograph.predict(product(9))


def test_a_source_that_holds_no_program(tmp_path):
    path = tmp_path / "broken.hlo"
    path.write_text("HloModule broken {")
    with pytest.raises(HloError, match="cut off"):
        hlograph.predict(path)
