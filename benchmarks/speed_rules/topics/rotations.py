"""The rules about rotations of arrays, as of a periodic grid and its neighbours."""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def laplacian(grid: jax.Array) -> jax.Array:
    """Returns the differences of a periodic grid and its neighbours."""
    return (
        jnp.roll(grid, 1, 0)
        + jnp.roll(grid, -1, 0)
        + jnp.roll(grid, 1, 1)
        + jnp.roll(grid, -1, 1)
        - 4 * grid
    )


def heat(grid: jax.Array) -> jax.Array:
    """Returns a periodic grid after 50 steps of diffusion."""
    return lax.fori_loop(0, 50, lambda _, grid: grid + 0.1 * laplacian(grid), grid)


def reaction(first: jax.Array, second: jax.Array) -> Any:
    """Returns two periodic grids after 50 steps of the model of Gray and Scott."""

    def step(_: jax.Array, grids: Any) -> Any:
        u, v = grids
        reacted = u * v * v
        u = u + 0.16 * laplacian(u) - reacted + 0.04 * (1 - u)
        return u, v + 0.08 * laplacian(v) + reacted - 0.1 * v

    return lax.fori_loop(0, 50, step, (first, second))


def life(cells: jax.Array) -> jax.Array:
    """Returns the cells of a periodic grid after 20 generations of Conway's rules."""

    def step(_: jax.Array, cells: jax.Array) -> jax.Array:
        rows = cells + jnp.roll(cells, 1, 0) + jnp.roll(cells, -1, 0)
        around = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - cells
        return ((around == 3) | ((cells == 1) & (around == 2))).astype(cells.dtype)

    return lax.fori_loop(0, 20, step, cells)


def draw_stencil(rng: Random) -> str:
    """Draws operations on several rotations of an array along one of its dimensions."""
    shape = rng.choice([(1200,), (40, 30), (9, 12, 11)])
    dimension = rng.randrange(len(shape))
    size = shape[dimension]
    shifts = rng.sample([shift for shift in range(1 - size, size) if shift], rng.randint(2, 4))
    weights = [rng.randint(-3, 3) for _ in shifts]
    dtype = rng.choice(["float32", "int32"])

    def function(x: jax.Array) -> jax.Array:
        terms = [
            w * jnp.roll(x, shift, dimension) for w, shift in zip(weights, shifts, strict=True)
        ]
        if len(terms) == 4:
            return terms[0] * terms[1] - abs(terms[2] - terms[3])
        return sum(terms, jnp.maximum(x, 0))

    return lowered(function, array(*shape, dtype=dtype))


PROGRAMS: Programs = {"rotations-as-slices": draw_stencil, "rotation-as-select": draw_stencil}

REFUSED: Refused = {
    "rotations-as-slices": {
        "one rotation": program(lambda x: x + jnp.roll(x, 1), "2048"),
        "one rotation of each dimension": program(
            lambda x: jnp.roll(x, 1, 0) + jnp.roll(x, 1, 1), "64x64"
        ),
        "rotations of two arrays": program(
            lambda x, y: jnp.roll(x, 1) + jnp.roll(y, -1), "2048 2048"
        ),
        "small arrays": program(lambda x: jnp.roll(x, 1) + jnp.roll(x, -1), "1023"),
        "one of them reversed": program(
            lambda x: jnp.concatenate([x[2:], x[:2]]) * jnp.concatenate([x[3:], x[:3]])[::-1],
            "2048",
        ),
        "other ends": program(
            lambda x, y: jnp.concatenate([x[1:], y[:1]]) + jnp.concatenate([y[:1], x[:-1]]),
            "2048 2048",
        ),
    },
    "rotation-as-select": {
        "three parts": program(lambda x: jnp.concatenate([x[5:], x[2:5], x[:2]]), "2048"),
        "parts of two arrays": program(lambda x, y: jnp.concatenate([x[1:], y[:1]]), "2048 2048"),
        "elements left out": program(lambda x: jnp.concatenate([x[2:], x[:1]]), "2048"),
        "every second element": program(lambda x: jnp.concatenate([x[::2], x[1::2]]), "2048"),
        "a small array": program(lambda x: jnp.roll(x, 1), "1023"),
    },
}
