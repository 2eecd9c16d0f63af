"""Cases of gathers."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def _exchanged(x: jax.Array, distance: int) -> jax.Array:
    partner = jnp.arange(x.shape[1]) ^ distance
    return jnp.minimum(x, x[:, partner])


def _frames(waves: jax.Array) -> jax.Array:
    places = jnp.arange(198)[:, None] * 160 + jnp.arange(400)
    return waves[:, places] * jnp.hanning(400)


def _twice(x: jax.Array) -> jax.Array:
    batch, channels, height, width = x.shape
    return jax.image.resize(x, (batch, channels, 2 * height, 2 * width), "nearest")


CASES: tuple[Case, ...] = (
    Case(
        ("gather-as-slices",),
        "partners at distance 8 of 16x1024",
        lambda x: _exchanged(x, 8),
        (floats(16, 1024),),
        program="sorting/bitonic/b16-n1024",
        pays=False,
    ),
    Case(
        ("gather-as-slices",),
        "frames of 400 every 160 of 4x32000",
        _frames,
        (floats(4, 32000),),
        program="signal/spectrogram/b4-n32000",
        pays=False,
    ),
    Case(
        ("gather-as-slices",),
        "images of 2x32x48x48, enlarged twice",
        _twice,
        (floats(2, 32, 48, 48),),
        program="segmentation-unet/equinox-w16-d3-96px/forward",
    ),
    Case(
        ("gather-as-slices",),
        "rows of 256x256, each twice",
        lambda x: x[jnp.arange(512) // 2],
        (floats(256, 256),),
        program="moe/flax-l2-h256-e16-k2-b2-s256/forward",
    ),
)
