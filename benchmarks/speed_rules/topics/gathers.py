"""Rules about gathers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import (
    Case,
    Cases,
    Programs,
    Refused,
    array,
    f32,
    lowered,
    program,
    s32,
)


def _exchanged(x: jax.Array, distance: int) -> jax.Array:
    partner = jnp.arange(x.shape[1]) ^ distance
    return jnp.minimum(x, x[:, partner])


def _frames(length: int, hop: int, width: int) -> jax.Array:
    count = (length - width) // hop + 1
    return hop * jnp.arange(count)[:, None] + jnp.arange(width)


def _windowed(waves: jax.Array) -> jax.Array:
    return waves[:, _frames(waves.shape[1], 160, 400)] * jnp.hanning(400)


def _twice(x: jax.Array) -> jax.Array:
    batch, channels, height, width = x.shape
    return jax.image.resize(x, (batch, channels, 2 * height, 2 * width), "nearest")


CASES: Cases = {
    "gather-as-slices": [
        Case(
            "partners at distance 8 of 16x1024",
            lambda x: _exchanged(x, 8),
            (f32(16, 1024),),
            "sorting/bitonic/b16-n1024",
            pays=False,
        ),
        Case(
            "frames of 400 every 160 of 4x32000",
            _windowed,
            (f32(4, 32000),),
            "signal/spectrogram/b4-n32000",
            pays=False,
        ),
        Case(
            "images of 2x32x48x48, enlarged twice",
            _twice,
            (f32(2, 32, 48, 48),),
            "segmentation-unet/equinox-w16-d3-96px/forward",
        ),
        Case(
            "rows of 256x256, each twice",
            lambda x: x[jnp.arange(512) // 2],
            (f32(256, 256),),
            "moe/flax-l2-h256-e16-k2-b2-s256/forward",
        ),
    ]
}


def _windows(x: jax.Array, starts: jax.Array, width: int) -> jax.Array:
    def window(start: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(x, start, width, axis=1)

    return jax.vmap(window)(starts)


def _positions(rng: Random, size: int) -> Callable[[], jax.Array]:
    """Returns a function that computes positions below the size, with a pattern."""
    factor, shift = rng.randint(2, 4), rng.randint(1, size - 1)
    bit = rng.choice([1, 2, 4])
    hop, width = rng.randint(1, 5), rng.randint(2, 7)
    patterns: list[Callable[[], jax.Array]] = [
        lambda: jnp.arange(size) ^ bit,
        lambda: (jnp.arange(size) + shift) % size,
        lambda: jnp.arange(factor * size) // factor,
        lambda: jnp.arange(2 * size) % size,
        lambda: size - 1 - jnp.arange(size),
        lambda: factor * jnp.arange(size // factor + 3),
        lambda: jnp.concatenate([jnp.arange(4, 9), jnp.arange(3)]),
        lambda: jnp.arange(size).reshape(-1, 2)[:, ::-1].reshape(-1),
        lambda: jnp.floor((jnp.arange(2 * size) + 0.5) * size / (2 * size)).astype(int),
        lambda: _frames(size, hop, width),
    ]
    return rng.choice(patterns)


def known_gathers(rng: Random) -> str:
    """Draws gathers at positions of a pattern, along any dimension."""
    sizes = [rng.randint(1, 3), rng.randint(1, 3)]
    axis = rng.randint(0, 2)
    size = rng.choice([16, 24])
    sizes.insert(axis, size)
    kind = rng.choice(["float32", "int32", "bfloat16", "complex64"])
    if rng.random() < 0.5:
        positions = _positions(rng, size)
        mode = rng.choice(["fill", "clip", "wrap"])
        return lowered(
            lambda x: jnp.take(x, positions(), axis=axis, mode=mode), array(*sizes, dtype=kind)
        )
    hop, width = rng.randint(1, 5), rng.randint(2, 7)
    count = rng.randint(2, 6)
    return lowered(
        lambda x: _windows(x, hop * jnp.arange(count), width),
        array(rng.randint(1, 3), size, dtype=kind),
    )


def _taken(positions: Callable[[], Any], *sizes: int) -> Callable[[], str]:
    return program(
        lambda x: jnp.take(x, jnp.asarray(positions()), axis=0, mode="clip"), f32(*sizes)
    )


PROGRAMS: Programs = {"gather-as-slices": known_gathers}

REFUSED: Refused = {
    "gather-as-slices": {
        "positions that are given": program(lambda x, i: x[i], f32(16, 3), s32(16)),
        "positions without a pattern": _taken(lambda: jnp.arange(64) ** 2 % 37, 64, 3),
        "quotients near an integer": _taken(
            lambda: jnp.floor(jnp.arange(16) * 3.0 / 7.0).astype(int), 16, 3
        ),
        "positions along two dimensions": program(
            lambda x: x[jnp.arange(16), jnp.arange(16)], f32(16, 16)
        ),
        "one position": _taken(lambda: jnp.arange(1) + 3, 16, 3),
    }
}
