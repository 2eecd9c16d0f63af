"""Programs with Fourier transforms, which a native kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def spectrum(signals: jax.Array) -> jax.Array:
    """Returns spectra of real signals."""
    return jnp.fft.rfft(signals)


def signals_of(spectra: jax.Array) -> jax.Array:
    """Returns real signals by their spectra."""
    return jnp.fft.irfft(spectra)


def transformed(values: jax.Array, *, dimensions: int = 1, inverse: bool = False) -> jax.Array:
    """Returns the Fourier transform of complex numbers along the last dimensions."""
    transform = jnp.fft.ifftn if inverse else jnp.fft.fftn
    return transform(values, axes=tuple(range(-dimensions, 0)))


def long_convolution(signals: jax.Array, filters: jax.Array) -> jax.Array:
    """Returns causal convolutions as long as the signals."""
    size = signals.shape[-1]
    product = jnp.fft.rfft(signals, 2 * size) * jnp.fft.rfft(filters, 2 * size)
    return jnp.fft.irfft(product, 2 * size)[..., :size]


def filtered(values: jax.Array, factors: jax.Array, *, dimensions: int = 2) -> jax.Array:
    """Returns real values whose spectra are multiplied by factors."""
    axes = tuple(range(-dimensions, 0))
    sizes = values.shape[-dimensions:]
    return jnp.fft.irfftn(jnp.fft.rfftn(values, axes=axes) * factors, s=sizes, axes=axes)


_SHORT, _LONG = (2, 3, 4, 5, 8), (9, 12, 15, 16, 30, 48, 64, 125, 256, 512, 640)


def transforms(rng: Random) -> str:
    """Draws transforms of complex numbers, of real ones and to real ones, of parts of rows, too."""
    kind, is_double = rng.choice(("complex", "real", "to real")), rng.random() < 0.5
    dimensions = rng.choice((1, 1, 2, 3))
    size = rng.choice(_LONG if dimensions == 1 else _LONG[:6])
    outer, inner = rng.choice(((9,), (3, 4))), rng.choices(_SHORT, k=dimensions - 1)
    axes, whole = tuple(range(-dimensions, 0)), (*inner, 2 * size)
    part = rng.choice((1, size, 2 * size - 1, 2 * size))
    compound = "complex128" if is_double else "complex64"
    if kind == "complex":
        given = array(*outer, *inner, size, dtype=compound)
        inverse = rng.random() < 0.5
        return lowered(partial(transformed, dimensions=dimensions, inverse=inverse), given)
    if kind == "real":
        given = array(*outer, *inner, part, dtype="float64" if is_double else "float32")
        return lowered(partial(jnp.fft.rfftn, s=whole, axes=axes), given)
    given = array(*outer, *inner, size + 1, dtype=compound)
    return lowered(lambda x: jnp.fft.irfftn(x, s=whole, axes=axes)[..., :part], given)


def _refused(function: Callable[..., Any], **arguments: str) -> dict[str, Callable[[], str]]:
    return {name.replace("_", " "): program(function, shapes) for name, shapes in arguments.items()}


PROGRAMS: Programs = {}
REFUSED: Refused = {
    "kernel-fourier": _refused(
        transformed,
        a_length_with_another_factor="c64:16x14",
        few_long_rows_that_fill_no_vectors="c64:3x1000",
        few_numbers="c64:8x4",
        more_than_the_longest="c64:4194304",
    )
    | _refused(
        partial(transformed, dimensions=2),
        columns_with_another_factor="c64:22x16",
        few_columns="c64:64x4",
    )
    | _refused(jnp.fft.rfft, an_odd_number_of_real_numbers="16x15")
}
