"""Fluids: lattices, shallow water, incompressible flow by projection, shocks, spectral methods."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def lattice_boltzmann(density: jax.Array, solid: jax.Array) -> Any:
    """Moves a fluid of nine velocities around obstacles for 30 steps (D2Q9)."""
    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    weights = jnp.array([(4 / 9, 1 / 9, 1 / 36)[abs(i) + abs(j)] for i, j in moves])
    velocity = jnp.array(moves, jnp.float32)
    wall = solid > 2.0

    def balance(mass: jax.Array, speed: jax.Array) -> jax.Array:
        along = jnp.einsum("qd,dxy->qxy", velocity, speed)
        squares = jnp.sum(speed**2, axis=0)
        shape = 1 + 3 * along + 4.5 * along**2 - 1.5 * squares
        return weights[:, None, None] * mass * shape

    def step(parts: jax.Array, _: None) -> Any:
        parts = jnp.stack(
            [jnp.roll(part, by, (0, 1)) for part, by in zip(parts, moves, strict=True)]
        )
        mass = parts.sum(axis=0)
        speed = jnp.einsum("qd,qxy->dxy", velocity, parts) / mass
        speed = speed.at[0].add(1e-4)
        parts = jnp.where(wall, parts[::-1], parts + 1.2 * (balance(mass, speed) - parts))
        return parts, jnp.abs(speed).mean()

    mass = 1.0 + 0.01 * jnp.tanh(density)
    start = balance(mass, jnp.zeros((2, *density.shape)))
    return jax.lax.scan(step, start, length=30)


def shallow_water(height: jax.Array) -> Any:
    """Moves shallow water on a turning plane for 40 steps, on staggered grids."""

    def step(carry: Any, _: None) -> Any:
        h, u, v = carry
        u = u - 0.1 * (jnp.roll(h, -1, 1) - h) + 0.02 * v
        v = v - 0.1 * (jnp.roll(h, -1, 0) - h) - 0.02 * u
        depth = 1.0 + h
        flux_x = u * 0.5 * (depth + jnp.roll(depth, -1, 1))
        flux_y = v * 0.5 * (depth + jnp.roll(depth, -1, 0))
        change = flux_x - jnp.roll(flux_x, 1, 1) + flux_y - jnp.roll(flux_y, 1, 0)
        h = h - 0.1 * change
        return (h, u, v), h.max()

    height = 0.1 * jnp.tanh(height)
    return jax.lax.scan(step, (height, jnp.zeros_like(height), jnp.zeros_like(height)), length=40)


def cavity(u: jax.Array, v: jax.Array) -> Any:
    """Moves a flow in a box with a moving lid for ten steps, pressures by Jacobi's method."""
    time, cell, viscosity = 0.002, 0.05, 0.05

    def slopes(field: jax.Array) -> tuple[jax.Array, jax.Array]:
        along = (field[1:-1, 2:] - field[1:-1, :-2]) / (2 * cell)
        return along, (field[2:, 1:-1] - field[:-2, 1:-1]) / (2 * cell)

    def spread(field: jax.Array) -> jax.Array:
        sides = field[1:-1, 2:] + field[1:-1, :-2] + field[2:, 1:-1] + field[:-2, 1:-1]
        return (sides - 4 * field[1:-1, 1:-1]) / cell**2

    def carried(field: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        along, across = slopes(field)
        change = viscosity * spread(field) - u[1:-1, 1:-1] * along - v[1:-1, 1:-1] * across
        return field.at[1:-1, 1:-1].add(time * change)

    def step(_: int, carry: Any) -> Any:
        u, v, pressure = carry
        u, v = carried(u, u, v), carried(v, u, v)
        source = (slopes(u)[0] + slopes(v)[1]) / time

        def relax(_: int, p: jax.Array) -> jax.Array:
            sides = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
            inner = 0.25 * (sides - cell**2 * source)
            return jnp.pad(inner, 1, mode="edge")

        pressure = jax.lax.fori_loop(0, 40, relax, pressure)
        along, across = slopes(pressure)
        u = jnp.pad(u[1:-1, 1:-1] - time * along, 1).at[-1].set(1.0)
        v = jnp.pad(v[1:-1, 1:-1] - time * across, 1)
        return u, v, pressure

    start = (0.1 * jnp.tanh(u), 0.1 * jnp.tanh(v), jnp.zeros_like(u))
    return jax.lax.fori_loop(0, 10, step, start)


def smoke(density: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
    """Carries smoke along a flow for eight steps, by interpolation where it came from."""
    rows, columns = jnp.indices(density.shape, jnp.float32)

    def step(_: int, carry: Any) -> Any:
        density, u, v = carry
        places = [rows - u, columns - v]

        def carried(field: jax.Array) -> jax.Array:
            return jax.scipy.ndimage.map_coordinates(field, places, order=1, mode="wrap")

        return carried(density), carried(u), carried(v)

    return jax.lax.fori_loop(0, 8, step, (density, u, v))[0]


def shock(state: jax.Array) -> jax.Array:
    """Moves a gas in tubes for 40 steps by fluxes with limited slopes (Euler's equations)."""
    density = 1.0 + 0.3 * jnp.tanh(state[0])
    start = jnp.stack([density, 0.1 * jnp.tanh(state[1]), 2.0 + 0.3 * jnp.tanh(state[2])])

    def flux(gas: jax.Array) -> tuple[jax.Array, jax.Array]:
        mass, momentum, energy = gas
        mass = jnp.maximum(mass, 0.05)
        speed = momentum / mass
        pressure = jnp.maximum(0.4 * (energy - 0.5 * momentum * speed), 0.01)
        moved = jnp.stack([momentum, momentum * speed + pressure, (energy + pressure) * speed])
        return moved, jnp.abs(speed) + jnp.sqrt(1.4 * pressure / mass)

    def step(_: int, gas: jax.Array) -> jax.Array:
        back, ahead = gas - jnp.roll(gas, 1, -1), jnp.roll(gas, -1, -1) - gas
        same = (back * ahead > 0).astype(gas.dtype)
        slope = same * jnp.sign(back) * jnp.minimum(jnp.abs(back), jnp.abs(ahead))
        left, right = gas + 0.5 * slope, jnp.roll(gas - 0.5 * slope, -1, -1)
        (first, fast), (second, faster) = flux(left), flux(right)
        through = 0.5 * (first + second) - 0.5 * jnp.maximum(fast, faster) * (right - left)
        return gas - 0.1 * (through - jnp.roll(through, 1, -1))

    return jax.lax.fori_loop(0, 40, step, start)


def vorticity(field: jax.Array) -> jax.Array:
    """Moves a turbulent flow for 20 steps by Fourier transforms, products dealiased."""
    size = field.shape[0]
    k_y = jnp.fft.fftfreq(size, 1 / size)[:, None]
    k_x = jnp.fft.rfftfreq(size, 1 / size)[None]
    squares = k_x**2 + k_y**2
    inverse = jnp.where(squares > 0, 1 / jnp.where(squares > 0, squares, 1.0), 0.0)
    kept = (jnp.abs(k_x) < size / 3) & (jnp.abs(k_y) < size / 3)

    def change(spectrum: jax.Array) -> jax.Array:
        stream = spectrum * inverse
        fields = jnp.stack(
            [1j * k_y * stream, -1j * k_x * stream, 1j * k_x * spectrum, 1j * k_y * spectrum]
        )
        u, v, along, across = jnp.fft.irfft2(fields, (size, size))
        return -jnp.fft.rfft2(u * along + v * across) * kept

    def step(_: int, spectrum: jax.Array) -> jax.Array:
        half = spectrum + 0.5e-3 * change(spectrum)
        return (spectrum + 1e-3 * change(half)) / (1 + 1e-6 * squares)

    spectrum = jnp.fft.rfft2(field) * kept
    return jnp.fft.irfft2(jax.lax.fori_loop(0, 20, step, spectrum), (size, size))


def recipes() -> Iterator[Recipe]:
    """Yields the fluids."""
    small, plane = array(128, 128), array(256, 256)
    programs = (
        ("lattice/boltzmann/n192-t30", lattice_boltzmann, (array(192, 192), array(192, 192))),
        ("fluid/shallow-water/n256-t40", shallow_water, (plane,)),
        ("fluid/cavity/n128-t10", cavity, (small, small)),
        ("fluid/smoke/n256-t8", smoke, (plane, plane, plane)),
        ("fluid/shock/b3-n16384-t40", shock, (array(3, 16384),)),
        ("fluid/vorticity/n128-t20", vorticity, (small,)),
    )
    for name, function, arguments in programs:
        words = " ".join(name.split("/")[:2]) + " on a grid"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
