"""Cumulative sums, products and extremes by a native kernel, beside NumPy's."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from benchmarks.speed_rules.lowering import array, lowered
from tests.hlograph.transforms.kernels.kernel_checks import outputs_of, with_kernels

CUMULATIVE = {
    "sums": (jax.lax.cumsum, np.add),
    "products": (jax.lax.cumprod, np.multiply),
    "greatest": (jax.lax.cummax, np.maximum),
    "least": (jax.lax.cummin, np.minimum),
}


@pytest.mark.parametrize(("function", "operation"), CUMULATIVE.values(), ids=CUMULATIVE.keys())
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float64])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 1003), 1), ((70001,), 0), ((3, 40, 300), 1), ((19, 2), 0)]
)
def test_cumulative_results(function, operation, dtype, shape, axis):
    text = lowered(partial(function, axis=axis), array(*shape, dtype=dtype))
    rule = "kernel-cumulative" + (":integers" if dtype != np.float64 else "")
    _, rewritten = with_kernels(rule, text)
    rng = np.random.default_rng(0)
    values = (
        rng.uniform(0.999, 1.001, shape) if dtype == np.float64 else rng.integers(0, 2**31, shape)
    )
    inputs = values.astype(dtype)
    expected = operation.accumulate(inputs, axis=axis, dtype=dtype)
    (result,) = outputs_of(rewritten, [inputs])
    np.testing.assert_allclose(result, expected, rtol=1e-12 if dtype == np.float64 else 0)


@pytest.mark.parametrize("function", [jax.lax.cummax, jax.lax.cummin])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_extremes_are_nan_from_a_nan_on(function, reverse):
    text = lowered(partial(function, reverse=reverse), array(50))
    _, rewritten = with_kernels("kernel-cumulative", text)
    x = np.arange(50, dtype=np.float32)
    x[20] = np.nan
    (result,) = outputs_of(rewritten, [x])
    np.testing.assert_array_equal(
        np.isnan(result), np.arange(50) <= 20 if reverse else np.arange(50) >= 20
    )


def test_cumulative_results_refuse_another_operation():
    _, rewritten = with_kernels("kernel-cumulative", lowered(jnp.cumsum, array(33)))
    text = rewritten.to_text().replace('"add"', '"subtract"')
    with pytest.raises(jax.errors.JaxRuntimeError, match="a sum, a product or an extreme"):
        outputs_of(hlograph.Module.from_text(text), [np.zeros(33, np.float32)])
