"""Running error bounds hold what rules change by rounding, and no wrong variant."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from benchmarks.speed_rules.lowering import array, lowered
from tests.proofs.floats.bounded import NoBoundError, gamma
from tests.proofs.floats.bounds import rounding, worst_rounding
from tests.proofs.floats.errors import error_bounds
from tests.proofs.floats.programs import Pair, applied, draws
from tests.proofs.floats.values import drawn

# A rule of each kind; the campaign takes all of them in all types.
RULES = ["factor-dots", "distances-by-dot", "one-hot-as-gather"]
ADDING = ["factor-dots", "distances-by-dot"]  # in another order


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_changes_no_more_than_its_bound(rule):
    (pair, *_) = draws(rule, "f32", 2)
    worst, count, reason = worst_rounding([pair], 1)
    assert count == 3
    assert not reason
    assert worst.holds
    assert worst.measured > 0 or rule not in ADDING
    assert worst.bound > 0


def _module(text: str) -> hlograph.Module:
    return hlograph.Module.from_text(text)


DOT = """
HloModule dot
ENTRY main {
  x = f32[1,1000] parameter(0)
  y = f32[1000,1] parameter(1)
  ROOT r = f32[1,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def test_the_bound_of_a_dot_is_that_of_the_literature():
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 1000), (1000, 1)))
    (result,) = error_bounds(_module(DOT), [x, y])
    sizes = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
    assert result.bound == pytest.approx(gamma(1000, 2.0**-24) * sizes, rel=1e-6)
    np.testing.assert_allclose(result.value, x.astype(np.float64) @ y, rtol=1e-12)


def test_a_bound_of_half_precision_does_not_hold_for_too_long_a_sum():
    text = DOT.replace("f32", "bf16")
    inputs = [np.ones(shape, jnp.bfloat16) for shape in ((1, 1000), (1000, 1))]
    with pytest.raises(NoBoundError, match="roundings"):
        error_bounds(_module(text), inputs)


def test_a_comparison_of_rounded_numbers_has_no_bound():
    module = _module("""
HloModule steps
ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  z = f32[3] parameter(2)
  product = f32[3] multiply(x, y)
  ROOT r = pred[3] compare(product, z), direction=LT
}
""")
    x, y, near, far = (np.full(3, value, np.float32) for value in (1.1, 1.3, 1.43, 1.5))
    with pytest.raises(NoBoundError, match="compares"):
        error_bounds(module, [x, y, near])
    (result,) = error_bounds(module, [x, y, far])
    assert result.value.all()


def test_loops_and_conditionals_have_bounds():
    def function(x: jax.Array) -> jax.Array:
        def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
            state = jnp.tanh(state + row)
            return state, state * 3

        last, rows = jax.lax.scan(step, jnp.zeros(4), x)
        return rows + jax.lax.cond(x.shape[0] > 2, lambda: last, lambda: -last)

    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    (result,) = error_bounds(_module(lowered(function, array(5, 4))), [x])
    apart = np.abs(np.asarray(function(jnp.asarray(x))).astype(np.float64) - result.value)
    assert (apart <= result.bound).all()
    assert (result.bound < 1e-4).all()


def _drawn(rule: str) -> Pair:
    return next(draws(rule, "f32", 4))


def _power() -> Pair:
    pair = applied("power-as-roots", lowered(lambda x: (x * x + 0.5) ** 1.5 * 3.0, array(16, 16)))
    assert pair is not None
    return pair


# Program, and what is replaced once in the module after the rule.
WRONG = {
    "a coefficient that is off by 2^-20": (_power, "constant(3)", "constant(3.0000029)"),
    "a root too many": (_power, " sqrt(", " rsqrt("),
    "a sum instead of a difference": (lambda: _drawn("distances-by-dot"), " subtract(", " add("),
    "a sum along another dimension": (
        lambda: _drawn("major-sum-as-dot"), "constant(1)", "constant(1.0000001)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variant_does_not_hold(name):
    make, old, new = WRONG[name]
    pair = make()
    inputs = drawn(pair, "usual", 0)
    assert rounding(pair, inputs).holds
    text = pair.after.to_text()
    assert old in text, text
    assert not rounding(pair.with_after(text.replace(old, new, 1)), inputs).holds


COUNTS = """
HloModule counts
ENTRY main {
  x = f32[4] parameter(0)
  n = s32[4] parameter(1)
  y = f32[4] add(x, x)
  m = s32[4] add(n, n)
  ROOT r = (f32[4], s32[4]) tuple(y, m)
}
"""


def test_an_integer_that_differs_is_no_missing_bound():
    pair = Pair("factor-products", "f32", _module(COUNTS), _module(COUNTS))
    wrong = pair.with_after(COUNTS.replace("s32[4] add(", "s32[4] multiply("))
    assert worst_rounding([pair], 1)[0].holds
    worst, count, reason = worst_rounding([wrong], 1)
    assert not worst.holds
    assert (count, reason) == (3, "")


def test_outputs_of_zeros_have_no_relative_bound():
    pair = Pair("factor-products", "f32", _module(COUNTS), _module(COUNTS))
    result = rounding(pair, [np.zeros(4, np.float32), np.zeros(4, np.int32)])
    assert result.holds
    assert result.bound == 0
