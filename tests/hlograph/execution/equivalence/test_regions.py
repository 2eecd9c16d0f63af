"""Regions of results, evaluated alone, are those of the whole results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph import Module
from hlograph.execution.equivalence.arrays import signature_of
from hlograph.execution.equivalence.engines import Limits, make_runner
from hlograph.execution.equivalence.regions import with_regions
from hlograph.plans import Program
from hlograph.plans.jaxlib_modules import text_of
from hlograph.reading.hlo_editing import ModuleText


def _evaluated(module, arrays):
    return make_runner("evaluator", module, signature_of(module), Limits())(arrays)


def _products(x, y):
    return jnp.tanh(x @ y).sum(1), jnp.exp(x)[None, :, :, None].transpose(2, 1, 0, 3) * 2


def _sliced(x, y):
    return jnp.concatenate([x[1:7:2], x[:3] + 1]), jnp.cumsum(y, 0), y[::-1, ::3]


def _batched(x, y):
    a, b = x.reshape(2, 4, 6), y.reshape(3, 2, 8)
    return jnp.einsum("bij,jbk->bki", a[:, :, :3], b), jnp.where(x > 0, x, 1 / x).max()


def _convolved(x, y):
    image, kernel = x.reshape(2, 4, 3, 2), y[:, :8].reshape(3, 2, 2, 4)
    numbers = ("NHWC", "HWIO", "NHWC")
    both = jax.lax.conv_general_dilated(
        image, kernel, (1, 1), [(1, 1), (-1, 2)], dimension_numbers=numbers
    )
    return (both,)


@pytest.mark.parametrize("function", [_products, _sliced, _batched, _convolved])
def test_regions_are_those_of_the_whole(function):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, np.float32) for shape in ((8, 6), (6, 8))]
    program = Program.of(jax.jit(function).lower(*arrays))
    module = program.module()
    module.run("call-inliner")
    text = ModuleText.parse(text_of(module.to_proto()))
    whole = _evaluated(module, arrays)
    for _ in range(4):
        regions = []
        for array in whole:
            begins = [int(rng.integers(size)) for size in array.shape]
            ends = [
                int(rng.integers(begin, size)) + 1
                for begin, size in zip(begins, array.shape, strict=True)
            ]
            regions.append(tuple(zip(begins, ends, strict=True)))
        part = Module.from_text(str(with_regions(text, regions)))
        for result, array, region in zip(_evaluated(part, arrays), whole, regions, strict=True):
            expected = array[tuple(slice(*bounds) for bounds in region)]
            np.testing.assert_array_equal(result, expected)
