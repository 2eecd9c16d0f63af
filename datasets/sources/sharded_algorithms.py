"""Stencils and solvers of grids spread over eight devices, with their collectives.

Most exchange their edges under `jax.shard_map`; the others leave that to XLA.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax.sharding import PartitionSpec as P
from partitioned import request_devices, shift
from recipe import Recipe, array
from sources.sharded_products import Program, program_recipes


def halo(field: jax.Array, axis: str, dimension: int, width: int = 1) -> jax.Array:
    """Returns a block with its neighbours' edges along one dimension, periodic."""
    size = field.shape[dimension]
    first = jax.lax.slice_in_dim(field, 0, width, axis=dimension)
    last = jax.lax.slice_in_dim(field, size - width, size, axis=dimension)
    before, after = shift(last, axis), shift(first, axis, -1)
    return jnp.concatenate([before, field, after], axis=dimension)


def laplacian(field: jax.Array) -> jax.Array:
    """Returns the five-point (in 3D seven-point) Laplacian of a block, halos exchanged."""
    total = -2.0 * field.ndim * field
    for dimension, axis in enumerate("xyz"[: field.ndim]):
        padded = halo(field, axis, dimension)
        size = padded.shape[dimension]
        total += jax.lax.slice_in_dim(padded, 0, size - 2, axis=dimension)
        total += jax.lax.slice_in_dim(padded, 2, size, axis=dimension)
    return total


def diffuse(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Diffuses for 16 explicit steps."""
    return jax.lax.fori_loop(0, 16, lambda _, field: field + rate * laplacian(field), field)


def wave(field: jax.Array, speed: jax.Array) -> Any:
    """Propagates waves for 16 leapfrog steps and records the energy."""

    def step(carry: Any, _: None) -> Any:
        before, now = carry
        after = 2 * now - before + speed**2 * laplacian(now)
        energy = jax.lax.psum(jnp.sum((after - now) ** 2), ("x", "y", "z"))
        return (now, after), energy

    return jax.lax.scan(step, (field, field), length=16)


def gray_scott(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Runs a reaction and diffusion of two species, a wide halo exchanged every fourth step."""

    def local(values: jax.Array) -> jax.Array:
        inner = values[1:-1, 1:-1]
        sides = values[2:, 1:-1] + values[:-2, 1:-1] + values[1:-1, 2:] + values[1:-1, :-2]
        return sides - 4 * inner

    def steps(_: Any, species: Any) -> Any:
        first, second = (halo(halo(one, "x", 0, 4), "y", 1, 4) for one in species)
        for _ in range(4):
            reaction = (first * second**2)[1:-1, 1:-1]
            spread = 0.16 * local(first), 0.08 * local(second)
            first, second = first[1:-1, 1:-1], second[1:-1, 1:-1]
            first = first + spread[0] - reaction + rate * (1 - first)
            second = second + spread[1] + reaction - (rate + 0.06) * second
        return first, second

    return jax.lax.fori_loop(0, 8, steps, (field, 1 - field))


def jacobi(source: jax.Array, tolerance: jax.Array) -> Any:
    """Solves Poisson's equation by Jacobi's method until no point changes by much."""

    def unfinished(carry: Any) -> jax.Array:
        _, change, count = carry
        return (change > tolerance) & (count < 200)

    def step(carry: Any) -> Any:
        field, _, count = carry
        update = (laplacian(field) - source) / 4
        return field + update, jax.lax.pmax(jnp.abs(update).max(), ("x", "y")), count + 1

    return jax.lax.while_loop(unfinished, step, (jnp.zeros_like(source), jnp.inf, 0))[0]


def life(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Plays the game of life for 16 generations, from cells above a threshold."""

    def generation(_: Any, cells: jax.Array) -> jax.Array:
        padded = halo(halo(cells, "x", 0), "y", 1)
        around = jax.lax.reduce_window(padded, 0, jax.lax.add, (3, 3), (1, 1), "VALID") - cells
        return ((around == 3) | ((cells == 1) & (around == 2))).astype(jnp.int32)

    return jax.lax.fori_loop(0, 16, generation, (field > rate).astype(jnp.int32))


def rolled_laplacian(field: jax.Array) -> jax.Array:
    """Returns the Laplacian of a whole periodic field."""
    sides = [jnp.roll(field, by, axis) for by in (-1, 1) for axis in range(field.ndim)]
    return sum(sides) - 2 * field.ndim * field


def rolled(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Diffuses by rolled arrays; XLA finds the halos."""

    def step(_: Any, field: jax.Array) -> jax.Array:
        return field + rate * rolled_laplacian(field)

    return jax.lax.fori_loop(0, 16, step, field)


def implicit(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Takes implicit diffusion steps by jax's conjugate gradients; XLA sums the dot products."""

    def operator(field: jax.Array) -> jax.Array:
        return field - rate * rolled_laplacian(field)

    def step(_: Any, field: jax.Array) -> jax.Array:
        return jsp.sparse.linalg.cg(operator, field, x0=field, maxiter=20)[0]

    return jax.lax.fori_loop(0, 4, step, field)


def convolved(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Diffuses by a convolution with zeros outside; XLA finds the halos."""
    kernel = jnp.array([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])

    def step(field: jax.Array, _: None) -> Any:
        field = field + rate * jsp.signal.convolve(field, kernel, mode="same")
        return field, jnp.abs(field).max()

    return jax.lax.scan(step, field, length=16)


def spectral(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Solves diffusion exactly by fast Fourier transforms, blocks transposed by all-to-all."""
    exchange = partial(jax.lax.all_to_all, axis_name="x", tiled=True)
    rows = exchange(jnp.fft.fft(field, axis=1), split_axis=1, concat_axis=0)
    columns = jnp.fft.fft(rows, axis=0)
    size = field.shape[1]
    first = jax.lax.axis_index("x") * columns.shape[1]
    waves = jnp.fft.fftfreq(size)[:, None] ** 2
    waves = (
        waves + jax.lax.dynamic_slice_in_dim(jnp.fft.fftfreq(size), first, columns.shape[1]) ** 2
    )
    columns = jnp.fft.ifft(columns * jnp.exp(-rate * waves), axis=0)
    return jnp.fft.ifft(exchange(columns, split_axis=0, concat_axis=1), axis=1).real


FLAT, SOLID = P("x", "y"), P("x", "y", "z")
PLANE, CUBE = (array(32, 32), array()), (array(16, 16, 16), array())
"""A field and a rate."""

STENCILS: tuple[tuple[str, str, Callable[..., Any], Any, Any, Any, str], ...] = (
    # Name, layout, body, arguments, how the field and the results are spread, kind.
    ("diffusion", "x4-y2", diffuse, PLANE, FLAT, FLAT, "forward"),
    ("diffusion3d", "x2-y2-z2", diffuse, CUBE, SOLID, SOLID, "grad"),
    ("wave3d", "x2-y2-z2", wave, CUBE, SOLID, ((SOLID, SOLID), P()), "forward"),
    ("gray-scott", "x2-y4", gray_scott, PLANE, FLAT, (FLAT, FLAT), "forward"),
    ("jacobi", "x4-y2", jacobi, PLANE, FLAT, FLAT, "forward"),
    ("life", "x4-y2", life, PLANE, FLAT, FLAT, "forward"),
    ("spectral", "x8", spectral, PLANE, P("x"), P("x"), "forward"),
)
AUTOMATIC: tuple[tuple[str, str, Callable[..., Any], Any, Any, Any, str], ...] = (
    ("roll", "x4-y2", rolled, PLANE, FLAT, FLAT, "forward"),
    ("roll3d", "x2-y2-z2", rolled, CUBE, SOLID, SOLID, "grad"),
    ("implicit", "x2-y4", implicit, PLANE, FLAT, FLAT, "forward"),
    ("convolution", "x8", convolved, PLANE, P("x"), (P("x"), P()), "forward"),
    ("convolution", "x2-y4", convolved, PLANE, FLAT, (FLAT, P()), "forward"),
)
"""Stencils that XLA partitions by itself, in the same form."""


def recipes() -> Iterator[Recipe]:
    """Yields the stencils and solvers."""
    request_devices()
    for rows, mapped in ((STENCILS, True), (AUTOMATIC, False)):
        programs = (
            Program(name, layout, body, arguments, (spec, P()), out, kind)
            for name, layout, body, arguments, spec, out, kind in rows
        )
        yield from program_recipes("stencil", programs, mapped)
