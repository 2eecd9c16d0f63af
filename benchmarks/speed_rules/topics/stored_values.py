"""Rules about values that are stored before they are used."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, f32, lowered, program, s32

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


CASES: Cases = {
    "stored-gather-table": [
        Case(
            "tanh of 4096x32, 32768 rows gathered",
            _messages,
            (_values(4096, 32), _places(4096, 32768), _values(32768)),
            "graph-algorithm/sparse-products/n4096-e32768-d32",
        ),
        Case("bitonic sort of 16x1024", _bitonic, (f32(16, 1024),), "sorting/bitonic/b16-n1024"),
        Case(
            "tanh of 64x32, 16 rows gathered",
            lambda x, i: jnp.tanh(x)[i],
            (_values(64, 32), _places(64, 16)),
            pays=False,
        ),
    ],
    "stored-repeated-sine": [
        Case(
            "512x256 times the sines of 256 angles",
            lambda x, angles: x * jnp.sin(angles) + 1,
            (f32(512, 256), f32(256)),
        ),
        Case("12 heads of 192x64, turned by angles", _turned, (f32(192, 32), f32(2, 192, 12, 64))),
        Case(
            "heads of 4x512x256, transposed, times the cosines of 512 positions",
            _heads,
            (f32(4, 512, 256), f32()),
            "transpose/heads/b4-t512-d256",
        ),
        Case(
            "64x32 times the sines of 32 angles",
            lambda x, angles: x * jnp.sin(angles),
            (f32(64, 32), f32(32)),
            pays=False,
        ),
    ],
}


def _pointwise(rng: Random) -> Callable[[jax.Array], jax.Array]:
    functions: list[Callable[[jax.Array], jax.Array]] = [
        jnp.tanh,
        lambda x: jnp.exp(x - x[:1] * 0.5),
        lambda x: 1.0 / (1.0 + x * x),
        lambda x: jnp.where(x > 0, jnp.exp(-x), 1.0) + 3.0,
    ]
    return rng.choice(functions)


def gathered_values(rng: Random) -> str:
    """Draws rows that are gathered from a table of computed values."""
    function = _pointwise(rng)
    rows, width = rng.randint(64, 80), rng.randint(16, 20)
    mode = rng.choice(["fill", "clip"])
    return lowered(
        lambda x, i: jnp.take(function(x), i, axis=0, mode=mode),
        f32(rows, width),
        s32(rng.randint(1, 100)),
    )


def repeated_values(rng: Random) -> str:
    """Draws sines that are repeated along other dimensions."""
    functions: list[Callable[[jax.Array], jax.Array]] = [
        jnp.sin,
        jnp.cos,
        lambda x: 1.5 * jnp.cos(x) + 0.5,
    ]
    function = rng.choice(functions)
    length, axis = rng.randint(8, 40), rng.randint(0, 2)
    sizes = [rng.randint(12, 16) for _ in range(2)]
    sizes.insert(axis, length)
    rank_one = [length if i == axis else 1 for i in range(3)]
    return lowered(lambda x, y: function(x).reshape(rank_one) * y, f32(length), f32(*sizes))


_SMALL, _LARGE = (8, 4), (64, 32)
_INDICES = s32(16)


PROGRAMS: Programs = {
    "stored-gather-table": gathered_values,
    "stored-repeated-sine": repeated_values,
}

REFUSED: Refused = {
    "stored-gather-table": {
        "a table that is given": program(lambda x, i: x[i], f32(*_LARGE), _INDICES),
        "computed indices": program(lambda x, i: x[2 * i], f32(*_LARGE), s32(2048)),
        "a small table": program(lambda x, i: jnp.tanh(x)[i], f32(*_SMALL), _INDICES),
    },
    "stored-repeated-sine": {
        "a cheap function, repeated": program(lambda x, y: (x + 1) * y, f32(32), f32(*_LARGE)),
        "exponentials, repeated": program(lambda x, y: jnp.exp(x) * y, f32(32), f32(*_LARGE)),
        "repeated before the function": program(lambda x, y: jnp.sin(x + y), f32(32), f32(*_LARGE)),
        "few repetitions": program(lambda x, y: jnp.sin(x) * y, f32(1024), f32(3, 1024)),
    },
}
