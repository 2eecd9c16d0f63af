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


# Of complex numbers, or half as many as there are real ones: few passes of each radix, and rows
# that fill whole vectors, in one pass and in several.
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 15, 16, 25, 27, 32, 40, 48, 64, 80, 128, 160, 192, 243, 256)
LENGTHS += (320, 512, 625, 768, 1024, 1280, 2048)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths_of_all_radices(dtype, kind):
    function, exactly = KINDS[kind]
    numbers = 2 if kind in ("real", "to real") else 1
    given = [_given((9 + 64 // n, numbers * n), kind, dtype) for n in LENGTHS]
    arguments = [array(*x.shape, dtype=x.dtype) for x in given]
    text = lowered(lambda *xs: tuple(map(function, xs)), *arguments)
    _, rewritten = with_kernels("kernel-fourier", text)
    assert "fft" not in rewritten.opcodes()
    for length, x, result in zip(LENGTHS, given, outputs_of(rewritten, given), strict=True):
        wide = np.complex128 if np.iscomplexobj(x) else np.float64
        assert _distance(result, exactly(x.astype(wide))) < 6 * np.finfo(dtype).eps, length


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


PADS = {
    "before the rows": (11, "0_0x3_2", 0),
    "between elements": (8, "0_0x0_1_1", 0),
    "of fewer at the end": (18, "0_0x0_-2", 0),
    "of fewer before": (11, "0_0x-1_6", 0),
    "of fewer elements between them": (11, "0_0x0_-5_1", 0),
    "of ones": (11, "0_0x0_5", 1),
    "of rows": (16, "-1_1x0_0", 0),
}


@pytest.mark.parametrize(("size", "padding", "value"), PADS.values(), ids=PADS.keys())
def test_other_padding_stays(size, padding, value):
    _, rewritten = with_kernels(
        "kernel-fourier",
        f"""HloModule padded
        ENTRY main {{
          x = f32[9,{size}] parameter(0)
          value = f32[] constant({value})
          padded = f32[9,16] pad(x, value), padding={padding}
          spectra = c64[9,9] fft(padded), fft_type=RFFT, fft_length={{16}}
          ROOT both = (f32[9,16], c64[9,9]) tuple(padded, spectra)
        }}""",
    )
    given = np.random.default_rng(0).standard_normal((9, size)).astype(np.float32)
    padded, spectra = outputs_of(rewritten, [given])
    assert _distance(spectra, np.fft.rfft(padded.astype(np.float64))) < 1e-6


SLICES = {
    "of the end": ("3", "[0:9], [12:15]"),
    "of every second element": ("3", "[0:9], [0:6:2]"),
    "of the rows": ("16", "[3:9], [0:16]"),
    "of starts of few rows": ("2", "[0:4], [0:2]"),
}


@pytest.mark.parametrize(("size", "places"), SLICES.values(), ids=SLICES.keys())
def test_other_slices_stay(size, places):
    ranges = [slice(*map(int, part.strip(" []").split(":"))) for part in places.split(",")]
    rows = len(range(9)[ranges[0]])
    _, rewritten = with_kernels(
        "kernel-fourier",
        f"""HloModule sliced
        ENTRY main {{
          x = c64[9,9] parameter(0)
          y = f32[9,16] fft(x), fft_type=IRFFT, fft_length={{16}}
          ROOT part = f32[{rows},{size}] slice(y), slice={{{places}}}
        }}""",
    )
    assert "slice" in rewritten.opcodes()
    given = _given((9, 16), "to real", np.float32)
    (result,) = outputs_of(rewritten, [given])
    assert _distance(result, np.fft.irfft(given.astype(np.complex128))[tuple(ranges)]) < 1e-6


def test_a_transform_that_is_read_as_a_whole_too_is_computed_once():
    text = lowered(lambda x: (y := jnp.fft.irfft(x), y[:, :5]), array(9, 9, dtype="complex64"))
    _, rewritten = with_kernels("kernel-fourier", text)
    assert sorted(set(rewritten.opcodes())) == ["custom-call", "parameter", "slice", "tuple"]
    given = _given((9, 16), "to real", np.float32)
    whole, part = outputs_of(rewritten, [given])
    np.testing.assert_array_equal(whole[:, :5], part)


def test_columns_may_follow_each_other_in_memory():
    _, rewritten = with_kernels(
        "kernel-fourier",
        """HloModule m, entry_computation_layout={(c64[12,20]{0,1})->c64[12,20]{0,1}}
        ENTRY main {
          x = c64[12,20]{0,1} parameter(0)
          ROOT y = c64[12,20]{0,1} fft(x), fft_type=FFT, fft_length={12,20}
        }""",
    )
    given = _given((12, 20), "complex", np.float32)
    (result,) = outputs_of(rewritten, [given])
    assert _distance(result, np.fft.fft2(given.astype(np.complex128))) < 1e-6


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


@pytest.mark.parametrize("size", [24, 1024])
def test_spectra_of_real_numbers_are_as_large_as_floats_are(size):
    text = lowered(jnp.fft.rfft, array(9, size))
    _, rewritten = with_kernels("kernel-fourier", text)
    given = np.zeros((9, size), np.float32)
    given[:, 2] = 3e38
    (result,) = outputs_of(rewritten, [given])
    largest = np.max(np.abs(given))
    assert _distance(result / largest, np.fft.rfft(given / largest)) < 1e-6


@pytest.mark.parametrize("size", [24, 1024])
def test_spectra_of_real_numbers_begin_and_end_with_real_ones(size):
    text = lowered(jnp.fft.rfft, array(9, size))
    _, rewritten = with_kernels("kernel-fourier", text)
    given = np.ones((9, size), np.float32)
    given[0, 3], given[1, 3] = np.nan, np.inf
    (result,) = outputs_of(rewritten, [given])
    np.testing.assert_array_equal(result[:, [0, -1]].imag, 0)
    assert not np.isfinite(result[:2]).any()
    np.testing.assert_allclose(result[2:], np.fft.rfft(given[2:]), atol=1e-3)
