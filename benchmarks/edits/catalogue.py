"""Ten edits of seven programs: other sizes, another depth, more outputs, other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Version = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


class Edit(NamedTuple):
    """A program before and after an edit.

    Attributes:
        name: Name of the program.
        change: The edit in words.
        before: The program that was tuned.
        after: The edited one.
    """

    name: str
    change: str
    before: Version
    after: Version


def _normal(*shape: int) -> jax.Array:
    numbers = np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)
    return jnp.asarray(0.1 * numbers, jnp.float32)


def _forces(x: jax.Array) -> jax.Array:
    apart = x[:, None] - x[None]
    return (apart / ((apart**2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)


def _moved_forces(positions: jax.Array, step: float = 0.1) -> tuple[jax.Array, jax.Array]:
    pull = _forces(positions)
    return positions + step * pull, jnp.abs(pull).max()


def _depthwise(x: jax.Array, kernel: jax.Array) -> jax.Array:
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=x.shape[-1]
    )


def _blocks(x: jax.Array, kernels: list[jax.Array], weights: list[jax.Array]) -> jax.Array:
    for kernel, weight in zip(kernels, weights, strict=True):
        x = x + jax.nn.gelu(_depthwise(x, kernel) @ weight)
    return x


def _block_arguments(batch: int, depth: int) -> tuple[Any, ...]:
    kernels = [_normal(7, 7, 1, 48) for _ in range(depth)]
    return _normal(batch, 28, 28, 48), kernels, [_normal(48, 48) for _ in range(depth)]


def _smallest(scores: jax.Array) -> jax.Array:
    return jnp.sort(scores)[:, :16]


def _best(scores: jax.Array) -> tuple[jax.Array, jax.Array]:
    order = jnp.argsort(scores)[:, :10]
    return order, jnp.take_along_axis(scores, order, 1)


def _solved(x: jax.Array, m: jax.Array, steps: int) -> jax.Array:
    def step(x: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        x = x + 0.01 * jnp.tanh(m @ x)
        return x, x.sum()

    return jax.lax.scan(step, x, None, steps)[1]


def _short(x: jax.Array, m: jax.Array) -> jax.Array:
    return _solved(x, m, 400)


def _long(x: jax.Array, m: jax.Array) -> jax.Array:
    return _solved(x, m, 1000)


def _means(points: jax.Array, centres: jax.Array) -> jax.Array:
    distances = ((points[:, None] - centres[None]) ** 2).sum(-1)
    members = jax.nn.one_hot(distances.argmin(1), len(centres), dtype=points.dtype)
    return (members.T @ points) / (members.sum(0)[:, None] + 1e-6)


def _iterated_means(points: jax.Array, centres: jax.Array) -> jax.Array:
    for _ in range(3):
        centres = _means(points, centres)
    return centres


def _causal(x: jax.Array, kernel: jax.Array) -> jax.Array:
    numbers = ("NWC", "WIO", "NWC")
    return jax.nn.silu(
        jax.lax.conv_general_dilated(
            x, kernel, (1,), [(3, 0)], dimension_numbers=numbers, feature_group_count=x.shape[-1]
        )
    )


def _embedded(tokens: jax.Array, table: jax.Array) -> jax.Array:
    return jax.nn.one_hot(tokens, len(table)) @ table


def _normalised(tokens: jax.Array, table: jax.Array) -> jax.Array:
    found = _embedded(tokens, table)
    return found / jnp.linalg.norm(found, axis=-1, keepdims=True)


def _tokens(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).integers(0, 1000, shape), jnp.int32)


def _version(function: Callable[..., Any], *arguments: Any) -> Version:
    return function, arguments


_SMALL_STATE = (_normal(16), _normal(16, 16))

EDITS = (
    Edit(
        "forces",
        "768 bodies, not 512",
        _version(_forces, _normal(512, 3)),
        _version(_forces, _normal(768, 3)),
    ),
    Edit(
        "forces",
        "within a step, other names",
        _version(_forces, _normal(512, 3)),
        _version(_moved_forces, _normal(512, 3)),
    ),
    Edit(
        "blocks",
        "twice the batch",
        _version(_blocks, *_block_arguments(2, 2)),
        _version(_blocks, *_block_arguments(4, 2)),
    ),
    Edit(
        "blocks",
        "one block more",
        _version(_blocks, *_block_arguments(2, 2)),
        _version(_blocks, *_block_arguments(2, 3)),
    ),
    Edit(
        "smallest",
        "longer rows",
        _version(_smallest, _normal(16, 4096)),
        _version(_smallest, _normal(16, 8192)),
    ),
    Edit(
        "smallest",
        "their order, too",
        _version(_smallest, _normal(64, 4096)),
        _version(_best, _normal(64, 4096)),
    ),
    Edit(
        "solver",
        "1,000 steps, not 400",
        _version(_short, *_SMALL_STATE),
        _version(_long, *_SMALL_STATE),
    ),
    Edit(
        "means",
        "three iterations",
        _version(_means, _normal(4096, 16), _normal(32, 16)),
        _version(_iterated_means, _normal(4096, 16), _normal(32, 16)),
    ),
    Edit(
        "causal",
        "other sizes",
        _version(_causal, _normal(4, 512, 256), _normal(4, 1, 256)),
        _version(_causal, _normal(2, 1000, 192), _normal(4, 1, 192)),
    ),
    Edit(
        "embedded",
        "normalised, other sizes",
        _version(_embedded, _tokens(1024), _normal(1024, 64)),
        _version(_normalised, _tokens(512), _normal(2048, 32)),
    ),
)
"""The programs and edits."""
