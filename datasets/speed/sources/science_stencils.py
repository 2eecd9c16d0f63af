"""Stencils on grids: heat, waves, reactions, flows, cells, by shifts, slices and convolutions."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def rolled(field: jax.Array) -> jax.Array:
    """Returns the Laplacian of a periodic field."""
    sides = [jnp.roll(field, by, axis) for axis in range(field.ndim) for by in (-1, 1)]
    return sum(sides) - 2 * field.ndim * field


def padded(field: jax.Array) -> jax.Array:
    """Returns the Laplacian of a plane field whose edges are repeated outside."""
    wide = jnp.pad(field, 1, mode="edge")
    sides = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
    return sides - 4 * field


def heat(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Diffuses heat in a periodic plane for 50 steps."""
    return jax.lax.fori_loop(0, 50, lambda _, f: f + 0.2 * rate * rolled(f), field)


def heat_cube(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Diffuses heat in a cube with cold walls for 20 steps, on slices."""

    def step(_: int, field: jax.Array) -> jax.Array:
        inner = field[1:-1, 1:-1, 1:-1]
        total = field[2:, 1:-1, 1:-1] + field[:-2, 1:-1, 1:-1]
        total += field[1:-1, 2:, 1:-1] + field[1:-1, :-2, 1:-1]
        total += field[1:-1, 1:-1, 2:] + field[1:-1, 1:-1, :-2]
        return field.at[1:-1, 1:-1, 1:-1].add(0.15 * rate * (total - 6 * inner))

    return jax.lax.fori_loop(0, 20, step, field)


def heat_convolved(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Diffuses a batch of fields for 20 steps by convolutions with a kernel of nine numbers."""
    kernel = jnp.array([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])

    def step(_: int, field: jax.Array) -> jax.Array:
        change = jax.lax.conv(field[:, None], kernel[None, None], (1, 1), "SAME")
        return field + rate * change[:, 0]

    return jax.lax.fori_loop(0, 20, step, field)


def wave(field: jax.Array, medium: jax.Array) -> Any:
    """Propagates waves in a plane with a varying medium and damped edges for 60 steps."""
    speeds = 0.1 + 0.3 * jax.nn.sigmoid(medium)
    size = field.shape[0]
    edge = jnp.minimum(jnp.arange(size), jnp.arange(size)[::-1])
    damping = 0.5 * jnp.exp(-jnp.minimum(edge[:, None], edge) / 8.0)

    def step(carry: Any, _: None) -> Any:
        before, now = carry
        after = (2 - damping) * now - (1 - damping) * before + speeds * padded(now)
        return (now, after), after[size // 2]

    return jax.lax.scan(step, (field, field), length=60)


def wave_gradient(field: jax.Array, medium: jax.Array) -> jax.Array:
    """Returns the gradient of the recorded waves for the medium, as seismic inversion needs it."""

    def misfit(medium: jax.Array) -> jax.Array:
        return jnp.mean(wave(field, medium)[1] ** 2)

    return jax.grad(misfit)(medium)


def electromagnetic(electric: jax.Array, magnetic: jax.Array, medium: jax.Array) -> Any:
    """Propagates light in a plane by Yee's scheme for 60 steps."""
    permittivity = 1.0 + jax.nn.sigmoid(medium)

    def step(carry: Any, time: jax.Array) -> Any:
        e, h_x, h_y = carry
        h_x = h_x.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
        h_y = h_y.at[:-1, :].add(0.5 * (e[1:, :] - e[:-1, :]))
        curl = (h_y[1:-1, 1:-1] - h_y[:-2, 1:-1]) - (h_x[1:-1, 1:-1] - h_x[1:-1, :-2])
        e = e.at[1:-1, 1:-1].add(0.5 * curl / permittivity[1:-1, 1:-1])
        e = e.at[e.shape[0] // 2, e.shape[1] // 4].add(jnp.sin(0.2 * time))
        return (e, h_x, h_y), jnp.sum(e**2)

    start = (electric, magnetic, jnp.zeros_like(electric))
    return jax.lax.scan(step, start, jnp.arange(60.0))


def gray_scott(first: jax.Array, second: jax.Array, feed: jax.Array) -> Any:
    """Runs a reaction and diffusion of two species for 40 steps."""

    def step(carry: Any, _: None) -> Any:
        u, v = carry
        reaction = jnp.clip(u, 0, 1) * jnp.clip(v, 0, 1) ** 2
        u = u + 0.16 * rolled(u) - reaction + 0.06 * feed * (1 - u)
        v = v + 0.08 * rolled(v) + reaction - (0.06 * feed + 0.062) * v
        return (u, v), None

    return jax.lax.scan(step, (first, second), length=40)[0]


def phase_field(field: jax.Array, width: jax.Array) -> jax.Array:
    """Separates two phases by Cahn and Hilliard's equation for 40 steps."""

    def step(_: int, field: jax.Array) -> jax.Array:
        bounded = jnp.clip(field, -2.0, 2.0)
        potential = bounded**3 - field - 0.5 * width * rolled(field)
        return field + 0.01 * rolled(potential)

    return jax.lax.fori_loop(0, 40, step, field)


def red_black(field: jax.Array, source: jax.Array) -> jax.Array:
    """Solves Poisson's equation by 50 rounds of Gauss and Seidel in two colours."""
    row, column = jnp.indices(field.shape)
    red = (row + column) % 2 == 0

    def step(_: int, field: jax.Array) -> jax.Array:
        field = jnp.where(red, field + (padded(field) - source) / 4, field)
        return jnp.where(red, field, field + (padded(field) - source) / 4)

    return jax.lax.fori_loop(0, 50, step, field)


def multigrid(source: jax.Array, levels: int = 6) -> jax.Array:
    """Solves Poisson's equation by four V-cycles of multigrid on a periodic plane."""

    def smooth(field: jax.Array, source: jax.Array) -> jax.Array:
        for _ in range(3):
            field = field + 0.2 * (rolled(field) - source)
        return field

    def cycle(field: jax.Array, source: jax.Array, level: int) -> jax.Array:
        field = smooth(field, source)
        if level:
            size = field.shape[0] // 2
            rest = source - rolled(field)
            coarse = 4 * rest.reshape(size, 2, size, 2).mean(axis=(1, 3))
            found = cycle(jnp.zeros_like(coarse), coarse, level - 1)
            field = field + jnp.repeat(jnp.repeat(found, 2, axis=0), 2, axis=1)
        return smooth(field, source)

    source = source - source.mean()
    return jax.lax.fori_loop(0, 4, lambda _, f: cycle(f, source, levels), jnp.zeros_like(source))


def life(field: jax.Array) -> jax.Array:
    """Plays the game of life for 50 generations on a torus."""

    def generation(_: int, cells: jax.Array) -> jax.Array:
        around = sum(
            jnp.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        return ((around == 3) | ((cells == 1) & (around == 2))).astype(jnp.int8)

    return jax.lax.fori_loop(0, 50, generation, (field > 0).astype(jnp.int8))


def recipes() -> Iterator[Recipe]:
    """Yields the stencils."""
    plane, scalar = array(256, 256), array()
    programs = (
        ("stencil/heat/n512-t50", heat, (array(512, 512), scalar)),
        ("stencil/heat-cube/n64-t20", heat_cube, (array(64, 64, 64), scalar)),
        ("stencil/heat-convolved/b4-n128-t20", heat_convolved, (array(4, 128, 128), scalar)),
        ("wave/plane/n256-t60", wave, (plane, plane)),
        ("wave/inversion/n128-t60", wave_gradient, (array(128, 128), array(128, 128))),
        ("wave/electromagnetic/n256-t60", electromagnetic, (plane, plane, plane)),
        ("stencil/gray-scott/n256-t40", gray_scott, (plane, plane, scalar)),
        ("stencil/phase-field/n256-t40", phase_field, (plane, scalar)),
        ("stencil/red-black/n256-t50", red_black, (plane, plane)),
        ("stencil/multigrid/n512-t4", multigrid, (array(512, 512),)),
        ("stencil/life/n512-t50", life, (array(512, 512),)),
    )
    for name, function, arguments in programs:
        words = " ".join(name.split("/")[:2]) + " on a grid"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
