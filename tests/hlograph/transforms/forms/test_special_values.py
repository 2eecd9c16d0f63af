"""Rules for time in jaxlib on NaN, infinities and negative zeros, beside known answers.

The reductions of jaxlib 0.10.2 may lose a NaN of an array, and with it a greater element before it.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.plans import Program
from tests.hlograph.transforms.forms.applied import rewritten


def _large_before_nans(large: float) -> np.ndarray:
    """Returns ordinary numbers with large ones and, later in the same array, NaNs."""
    values = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
    values[:64] = large + np.arange(64) * large / 1000
    values[128:256] = np.nan
    return values


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_that_are_too_large_are_seen_beside_nans(name):
    angles = _large_before_nans(1e9)
    result = rewritten("sine-by-polynomial", getattr(jnp, name), angles)
    expected = getattr(np, name)(angles.astype(np.float64))
    np.testing.assert_allclose(result, expected, atol=1e-6)


def test_numbers_that_are_too_large_for_subtraction_are_seen_beside_nans():
    numbers = _large_before_nans(1000)
    divisors = 1 + np.abs(np.random.default_rng(1).standard_normal(4096)).astype(np.float32)
    result = rewritten("remainder-by-subtraction", jax.lax.rem, numbers, divisors)
    np.testing.assert_array_equal(result, np.fmod(numbers, divisors))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize(("shape", "axis"), [((64, 256), 1), ((256, 64), 0), ((8, 4096), 1)])
def test_the_position_of_the_first_nan_is_the_greatest_and_least(name, shape, axis):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    rows = np.moveaxis(values, axis, -1)
    rows[:, 1], rows[:, 3] = -100, 100
    for i, row in enumerate(rows[1:], 1):  # all positions of a block of vectors, and pairs of them
        row[[4 + i, -i]] = np.nan
    result = rewritten("argmax-as-first-maximum", lambda x: getattr(jnp, name)(x, axis), values)
    np.testing.assert_array_equal(result, getattr(np, name)(values, axis))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_point_that_is_not_finite_is_far_from_all_others(bad):
    random = np.random.default_rng(0)
    points, centres = (random.standard_normal((n, 16)).astype(np.float32) for n in (64, 32))
    points[3, 5] = bad

    def distances(points, centres):
        return ((points[:, None] - centres) ** 2).sum(-1)

    result = rewritten("distances-by-dot", distances, points, centres)
    expected = distances(points.astype(np.float64), centres.astype(np.float64))
    np.testing.assert_allclose(result, expected, rtol=1e-4)
    kernel = rewritten(
        "distances-by-dot", lambda *x: jnp.exp(-distances(*x)).sum(0), points, centres
    )
    assert np.isnan(kernel).all() == np.isnan(bad)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_head_that_is_not_finite_leaves_the_others_as_they_are(bad):
    random = np.random.default_rng(0)
    query = random.standard_normal((1, 4, 16)).astype(np.float32)
    keys = random.standard_normal((128, 4, 16)).astype(np.float32)
    keys[3, 1, 2] = bad

    def scores(query: jax.Array, keys: jax.Array) -> jax.Array:
        return jnp.einsum("bhd,khd->hbk", query, keys)

    result = rewritten("heads-in-one-dot", scores, query, keys)
    expected = np.einsum("bhd,khd->hbk", query, keys)
    assert np.sum(~np.isfinite(expected)) == 1
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("rule", "function"),
    [
        ("sine-by-polynomial", jnp.sin),
        ("remainder-by-subtraction", lambda x: jax.lax.rem(x, jnp.full_like(x, 3))),
    ],
)
def test_a_negative_zero_keeps_its_sign(rule, function):
    zeros = np.where(np.arange(1024) % 3 == 0, -0.0, 0.0).astype(np.float32)
    result = rewritten(rule, function, zeros)
    np.testing.assert_array_equal(result, zeros)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(zeros))


@pytest.mark.parametrize(
    ("rule", "function", "shapes"),
    [
        ("sine-by-polynomial", jnp.sin, [(512,)]),
        ("remainder-by-subtraction", jax.lax.rem, [(512,), (512,)]),
        (
            "heads-in-one-dot",
            lambda query, keys: jnp.einsum("hd,khd->hk", query, keys),
            [(4, 16), (128, 4, 16)],
        ),
    ],
)
def test_a_rule_is_not_applied_again_where_it_chose_the_slow_way(rule, function, shapes):
    arguments = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    module = Program.of(jax.jit(function).lower(*arguments)).module()
    module.run("call-inliner")
    (rewrite,) = module.rewrites([rule])
    module.apply(rewrite)
    assert " conditional(" in module.to_text()
    assert not module.rewrites([rule])


@pytest.mark.parametrize("rule", ["sort-by-integer-keys", "sort-as-network"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_keeps_the_sign_of_every_zero(rule, descending):
    row = [0.0, -0.0, 1.0, -0.0, 0.0, -1.0, -0.0, 2.0]
    values = np.tile(np.array(row, np.float32), (16, 1))
    result = rewritten(rule, lambda x: jnp.sort(x, descending=descending), values)
    np.testing.assert_array_equal(result[0], sorted(row, reverse=descending))
    assert np.sum(np.signbit(result[result == 0])) == 3 * len(values)
