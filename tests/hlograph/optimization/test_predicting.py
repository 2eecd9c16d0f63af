"""hlograph.predict: times and rules, without a run and without code."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

import hlograph
from hlograph.errors import HloError, HloWarning, WorkerLostError
from hlograph.execution.prediction_errors import default_errors
from hlograph.execution.rates import default_rates
from hlograph.isolation import Remote
from hlograph.optimization.methods.forms import _Worker
from hlograph.optimization.predicting import _Optimizer
from hlograph.plans import PlanError, Program, compile_program
from hlograph.profiling.kernel_seconds import PredictedTime
from hlograph.transforms.sweeping import PREPARATION

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


def test_the_rules_apply_where_they_are_said_to(sorts, predicted):
    assert {"sort-prefix-as-top-k", "power-as-roots"} & {rule.rule for rule in predicted.rules}
    module = sorts.module()
    for step in PREPARATION:
        module.run(step)
    for rule in predicted.rules:
        rewrites = module.rewrites(rule.rule)
        assert len(rewrites) == rule.places
        assert -sum(rewrite.seconds for rewrite in rewrites) == pytest.approx(rule.saved)
        assert rule.exact == hlograph.rules[rule.rule].exact


def test_the_most_promising_rules_come_first(predicted):
    saved = [rule.saved for rule in predicted.rules]
    assert saved == sorted(saved, reverse=True)
    assert predicted.promising == predicted.rules[: len(predicted.promising)]
    best = predicted.promising[0]
    assert best.ratio == pytest.approx(predicted.seconds / (predicted.seconds - best.saved))
    assert all(rule.ratio > 1.02 for rule in predicted.promising)


def test_exact_results_leave_out_rules_that_round(sorts, predicted):
    exact = hlograph.predict(sorts, numerics="exact", rates=default_rates())
    assert exact.seconds == predicted.seconds
    assert {rule.rule for rule in exact.rules} < {rule.rule for rule in predicted.rules}
    assert all(rule.exact for rule in exact.rules)


def test_times_and_savings_are_by_the_given_rates(sorts, predicted):
    rates = default_rates()
    slow = replace(rates, seconds=tuple(3 * second for second in rates.seconds))
    slower = hlograph.predict(sorts, rates=slow)
    assert slower.seconds == pytest.approx(3 * predicted.seconds, rel=0.01)
    assert slower.rules[0].saved == pytest.approx(3 * predicted.rules[0].saved)
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
    lost: set[object] = {_Worker.choices}

    def call_or_lose(remote, method, *args):
        if method in lost:
            raise WorkerLostError("the process ended")
        return call(remote, method, *args)

    monkeypatch.setattr(Remote, "call", call_or_lose)
    with pytest.warns(HloWarning, match="where rules apply"):
        assert hlograph.predict(product(8)).rules == ()
    lost.add(_Optimizer.optimized)
    with pytest.raises(HloError, match="a process ended while XLA optimized"):
        hlograph.predict(product(9))


def test_a_source_that_holds_no_program(tmp_path):
    path = tmp_path / "broken.hlo"
    path.write_text("HloModule broken {")
    with pytest.raises(HloError, match="cut off"):
        hlograph.predict(path)
