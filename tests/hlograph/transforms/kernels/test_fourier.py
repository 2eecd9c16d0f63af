"""Fourier transforms by a native kernel, beside NumPy's of twice the precision."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from benchmarks.speed_rules.lowering import array, lowered
from benchmarks.speed_rules.topics import fourier
from tests.hlograph.transforms.kernels.kernel_checks import outputs_of, with_kernels

SHAPES = {
    "rows one by one": (3, 1024),
    "one row": (4096,),
    "rows side by side": (35, 60),
    "rows of eights and more": (9, 128),
    "a length with fives and threes": (17, 1350),
}
KINDS = {
    "complex": (jnp.fft.fft, np.fft.fft),
    "inverse": (jnp.fft.ifft, np.fft.ifft),
    "real": (jnp.fft.rfft, np.fft.rfft),
    "to real": (jnp.fft.irfft, np.fft.irfft),
}


def _given(shape, kind, dtype):
    rng = np.random.default_rng(0)
    sizes = (*shape[:-1], shape[-1] // 2 + 1) if kind == "to real" else shape
    real, imaginary = rng.standard_normal((2, *sizes)).astype(dtype)
    return real if kind == "real" else real + 1j * imaginary


def _distance(result, expected):
    return np.linalg.norm(result - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_transforms_of_rows(shape, dtype, kind):
    function, exactly = KINDS[kind]
    given = _given(shape, kind, dtype)
    text = lowered(function, array(*given.shape, dtype=given.dtype))
    module, rewritten = with_kernels("kernel-fourier", text)
    (default,), (result,) = (outputs_of(each, [given]) for each in (module, rewritten))
    wide = np.complex128 if np.iscomplexobj(given) else np.float64
    expected = exactly(given.astype(wide))
    if dtype == np.float32:  # of doubles, NumPy's are no better
        assert _distance(result, expected) < 2 * _distance(default, expected)
    assert _distance(result, expected) < 6 * np.finfo(dtype).eps


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("sizes", [(5, 12, 30), (4, 64, 32)])
def test_transforms_along_several_dimensions(dimensions, sizes):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2, *sizes)).astype(np.float32)
    factors = rng.standard_normal((*sizes[:-1], sizes[-1] // 2 + 1)).astype(np.float32)
    function = partial(fourier.filtered, dimensions=dimensions)
    text = lowered(function, array(*values.shape), array(*factors.shape))
    _, rewritten = with_kernels("kernel-fourier", text)
    axes = tuple(range(-dimensions, 0))
    spectra = np.fft.rfftn(values.astype(np.float64), axes=axes) * factors
    expected = np.fft.irfftn(spectra, s=sizes[-dimensions:], axes=axes)
    (result,) = outputs_of(rewritten, [values, factors])
    assert _distance(result, expected) < 1e-6


@pytest.mark.parametrize("size", [15, 1024])
def test_long_convolutions_read_no_padding_and_write_the_start_of_rows(size):
    rng = np.random.default_rng(0)
    signals, filters = (rng.standard_normal((n, size)).astype(np.float32) for n in (9, 9))
    text = lowered(fourier.long_convolution, array(9, size), array(9, size))
    _, rewritten = with_kernels("kernel-fourier", text)
    rewritten.run("dce")
    assert {"pad", "slice"}.isdisjoint(rewritten.opcodes())
    expected = [np.convolve(x, y)[:size] for x, y in zip(signals, filters, strict=True)]
    (result,) = outputs_of(rewritten, [signals, filters])
    assert _distance(result, np.array(expected)) < 1e-6


def test_imaginary_parts_of_what_is_real_are_not_read():
    for size in (16, 512):
        text = lowered(jnp.fft.irfft, array(8, size + 1, dtype="complex64"))
        _, rewritten = with_kernels("kernel-fourier", text)
        spectra = np.ones((8, size + 1), np.complex64)
        spectra[:, [0, size]] += 5j
        (result,) = outputs_of(rewritten, [spectra])
        np.testing.assert_allclose(result, np.eye(1, 2 * size) * np.ones((8, 1)), atol=1e-6)


WRONG_CALLS = {
    "a length of seven": ("c64[8,16]", "c64[8,14]", "products of 2, 3 and 5"),
    "a dimension that there is not": ("array<i64: 1>", "array<i64: 2>", "dimensions of a Fourier"),
    "a dimension twice": ("array<i64: 1>", "array<i64: 1, 1>", "dimensions of a Fourier"),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_a_transform_refuses(old, new, message):
    text = lowered(fourier.transformed, array(8, 16, dtype="complex64"))
    _, rewritten = with_kernels("kernel-fourier", text)
    wrong = hlograph.Module.from_text(rewritten.to_text().replace(old, new))
    given = np.zeros((8, 14 if "14" in new else 16), np.complex64)
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        outputs_of(wrong, [given])
