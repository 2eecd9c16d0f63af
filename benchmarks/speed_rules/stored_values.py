"""Cases of values that are stored before they are used."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed_rules.case import Case, floats

_RANDOM = np.random.default_rng(0)


def _places(rows: int, count: int) -> np.ndarray:
    return _RANDOM.integers(0, rows, count).astype(np.int32)


def _values(*sizes: int) -> np.ndarray:
    return _RANDOM.standard_normal(sizes).astype(np.float32)


def _messages(features: jax.Array, senders: jax.Array, weights: jax.Array) -> jax.Array:
    rows = jnp.take(jnp.tanh(features), senders, axis=0, mode="fill", fill_value=0)
    return weights[:, None] * rows


def _turned(angles: jax.Array, heads: jax.Array) -> jax.Array:
    low, high = jnp.split(heads, 2, axis=-1)
    sine, cosine = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    return jnp.concatenate([low * cosine - high * sine, high * cosine + low * sine], axis=-1)


def _heads(tokens: jax.Array, scale: jax.Array) -> jax.Array:
    heads = tokens.reshape(4, 512, 8, 32).transpose(0, 2, 3, 1)
    return heads * jnp.cos(0.01 * jnp.arange(512)) + scale * heads[:, :, ::-1]


def _bitonic(values: jax.Array) -> jax.Array:
    size = values.shape[1]
    index = jnp.arange(size)
    block = 2
    while block <= size:
        step = block // 2
        while step:
            other = values[:, index ^ step]
            smaller = ((index & block) == 0) == ((index & step) == 0)
            values = jnp.where(smaller, jnp.minimum(values, other), jnp.maximum(values, other))
            step //= 2
        block *= 2
    return values


CASES: tuple[Case, ...] = (
    Case(
        ("stored-gather-table",),
        "tanh of 4096x32, 32768 rows gathered",
        _messages,
        (_values(4096, 32), _places(4096, 32768), _values(32768)),
        program="graph-algorithm/sparse-products/n4096-e32768-d32",
    ),
    Case(
        ("stored-gather-table",),
        "bitonic sort of 16x1024",
        _bitonic,
        (floats(16, 1024),),
        program="sorting/bitonic/b16-n1024",
    ),
    Case(
        ("stored-gather-table",),
        "tanh of 64x32, 16 rows gathered",
        lambda x, i: jnp.tanh(x)[i],
        (_values(64, 32), _places(64, 16)),
        pays=False,
    ),
    Case(
        ("stored-repeated-sine",),
        "512x256 times the sines of 256 angles",
        lambda x, angles: x * jnp.sin(angles) + 1,
        (floats(512, 256), floats(256)),
    ),
    Case(
        ("stored-repeated-sine",),
        "12 heads of 192x64, turned by angles",
        _turned,
        (floats(192, 32), floats(2, 192, 12, 64)),
    ),
    Case(
        ("stored-repeated-sine",),
        "heads of 4x512x256, transposed, times the cosines of 512 positions",
        _heads,
        (floats(4, 512, 256), floats()),
        program="transpose/heads/b4-t512-d256",
    ),
    Case(
        ("stored-repeated-sine",),
        "64x32 times the sines of 32 angles",
        lambda x, angles: x * jnp.sin(angles),
        (floats(64, 32), floats(32)),
        pays=False,
    ),
)
