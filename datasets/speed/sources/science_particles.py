"""Particles that act on all others: gravity, vortices, flocks, fluids, electric fields."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "n-body"


def gravity(positions: jax.Array, masses: jax.Array) -> jax.Array:
    """Returns softened accelerations over all pairs by broadcast."""
    apart = positions[None] - positions[:, None]
    squares = jnp.sum(apart**2, axis=-1) + 0.01
    return jnp.sum(masses[None, :, None] * apart / squares[..., None] ** 1.5, axis=1)


def forces(positions: jax.Array) -> jax.Array:
    """Returns pairwise forces of unit charges by broadcast."""
    apart = positions[:, None] - positions[None]
    squares = jnp.sum(apart**2, axis=-1, keepdims=True) + 1e-2
    return jnp.sum(apart / squares**1.5, axis=1)


def leapfrog(positions: jax.Array, velocities: jax.Array, masses: jax.Array) -> Any:
    """Moves stars for 20 leapfrog steps and records their kinetic energy."""
    masses = jax.nn.softplus(masses) / len(masses)

    def step(carry: Any, _: None) -> Any:
        place, speed, pull = carry
        speed = speed + 0.005 * pull
        place = place + 0.01 * speed
        pull = gravity(place, masses)
        speed = speed + 0.005 * pull
        return (place, speed, pull), 0.5 * jnp.sum(masses[:, None] * speed**2)

    start = (positions, velocities, gravity(positions, masses))
    return jax.lax.scan(step, start, length=20)


def potential_gradient(positions: jax.Array, masses: jax.Array) -> Any:
    """Returns the energy of gravity and its gradient by differentiation."""

    def energy(positions: jax.Array) -> jax.Array:
        apart = positions[:, None] - positions[None]
        distance = jnp.sqrt(jnp.sum(apart**2, axis=-1) + 0.01)
        weights = jax.nn.softplus(masses)
        return -0.5 * jnp.sum(weights[:, None] * weights / distance)

    return jax.value_and_grad(energy)(positions)


def mapped(positions: jax.Array, velocities: jax.Array, masses: jax.Array) -> Any:
    """Moves stars for ten steps, forces by two nested maps over single pairs."""
    weights = jax.nn.softplus(masses) / len(masses)

    def pull(one: jax.Array, other: jax.Array, mass: jax.Array) -> jax.Array:
        apart = other - one
        return mass * apart * jax.lax.rsqrt(apart @ apart + 0.01) ** 3

    on_one = jax.vmap(pull, (None, 0, 0))

    def step(_: int, carry: Any) -> Any:
        place, speed = carry
        total = jax.vmap(lambda one: on_one(one, place, weights).sum(axis=0))(place)
        speed = speed + 0.01 * total
        return place + 0.01 * speed, speed

    return jax.lax.fori_loop(0, 10, step, (positions, velocities))


def blocked(positions: jax.Array, masses: jax.Array) -> jax.Array:
    """Returns accelerations of many stars, a block of 64 after another by `lax.map`."""
    weights = jax.nn.softplus(masses)

    def block(places: jax.Array) -> jax.Array:
        lengths = jnp.sum(places**2, 1)[:, None] + jnp.sum(positions**2, 1)
        squares = jnp.maximum(lengths - 2 * places @ positions.T, 0.0) + 0.01
        factors = weights / squares**1.5
        return factors @ positions - factors.sum(axis=1, keepdims=True) * places

    return jax.lax.map(block, positions.reshape(-1, 64, 3)).reshape(positions.shape)


def vortices(places: jax.Array, strengths: jax.Array) -> jax.Array:
    """Moves point vortices in the plane by 20 steps of Runge and Kutta."""

    def velocity(places: jax.Array) -> jax.Array:
        x = places[:, None, 0] - places[None, :, 0]
        y = places[:, None, 1] - places[None, :, 1]
        factor = strengths / (x**2 + y**2 + 0.05) / (2 * jnp.pi)
        return jnp.stack([-jnp.sum(factor * y, axis=1), jnp.sum(factor * x, axis=1)], axis=1)

    def step(places: jax.Array, _: None) -> Any:
        first = velocity(places)
        second = velocity(places + 0.005 * first)
        third = velocity(places + 0.005 * second)
        fourth = velocity(places + 0.01 * third)
        return places + 0.01 / 6 * (first + 2 * second + 2 * third + fourth), None

    return jax.lax.scan(step, places, length=20)[0]


def flock(places: jax.Array, headings: jax.Array) -> Any:
    """Moves a flock of birds (Reynolds) for 30 steps: apart, along and together."""

    def step(carry: Any, _: None) -> Any:
        places, speeds = carry
        apart = places[:, None] - places[None]
        squares = jnp.sum(apart**2, axis=-1)
        near = (squares < 0.5).astype(places.dtype)
        close = jnp.where(squares[..., None] < 0.05, apart, 0.0).sum(axis=1)
        count = near.sum(axis=1, keepdims=True)
        along = near @ speeds / count - speeds
        together = near @ places / count - places
        speeds = speeds + 0.1 * close + 0.05 * along + 0.01 * together
        speeds = speeds / jnp.maximum(jnp.linalg.norm(speeds, axis=1, keepdims=True), 1.0)
        return (places + 0.05 * speeds, speeds), jnp.linalg.norm(speeds.mean(axis=0))

    return jax.lax.scan(step, (places, headings), length=30)


def smoothed_fluid(places: jax.Array, speeds: jax.Array) -> Any:
    """Moves a fluid of smoothed particles for ten steps: densities, then pressures."""

    def step(_: int, carry: Any) -> Any:
        places, speeds = carry
        apart = places[:, None] - places[None]
        squares = jnp.sum(apart**2, axis=-1)
        density = jnp.sum(jnp.maximum(1.0 - squares, 0.0) ** 3, axis=1)
        pressure = 0.5 * (density - 4.0)
        distance = jnp.sqrt(squares + 1e-4)
        slope = jnp.maximum(1.0 - distance, 0.0) ** 2 / distance
        push = (pressure[:, None] + pressure) / (2 * density[None])
        force = jnp.sum((push * slope)[..., None] * apart, axis=1)
        drag = (slope / density) @ speeds - (slope / density).sum(1, keepdims=True) * speeds
        speeds = speeds + 0.002 * (force / density[:, None] + 0.1 * drag)
        return places + 0.002 * speeds, speeds

    return jax.lax.fori_loop(0, 10, step, (places, speeds))


def in_cells(places: jax.Array, speeds: jax.Array) -> Any:
    """Moves electrons for 50 steps on a periodic line, their field by FFT on 256 cells."""
    cells, length = 256, 10.0
    waves = 2 * jnp.pi * jnp.fft.rfftfreq(cells, length / cells)
    inverse = jnp.where(waves > 0, 1 / jnp.where(waves > 0, waves, 1.0), 0.0)

    def step(carry: Any, _: None) -> Any:
        places, speeds = carry
        scaled = places * (cells / length)
        left = jnp.floor(scaled).astype(jnp.int32)
        share = scaled - left
        left, right = left % cells, (left + 1) % cells
        charge = jnp.zeros(cells).at[left].add(1 - share).at[right].add(share)
        charge = charge * (cells / len(places)) - 1.0
        field = jnp.fft.irfft(-1j * inverse * jnp.fft.rfft(charge), cells)
        pull = field[left] * (1 - share) + field[right] * share
        speeds = speeds - 0.05 * pull
        return ((places + 0.05 * speeds) % length, speeds), 0.5 * jnp.sum(field**2)

    return jax.lax.scan(step, (places % length, speeds), length=50)


def recipes() -> Iterator[Recipe]:
    """Yields the systems of particles."""
    space, plane = array(512, 3), array(512, 2)
    programs = (
        ("forces/n512", "pairwise forces by broadcast", forces, (space,)),
        ("leapfrog/n384-t20", "gravity, 20 steps", leapfrog, (array(384, 3),) * 2 + (array(384),)),
        ("gradient/n768", "gravity by gradient", potential_gradient, (array(768, 3), array(768))),
        ("mapped/n256-t10", "gravity by maps", mapped, (array(256, 3),) * 2 + (array(256),)),
        ("blocked/n2048", "gravity by blocks", blocked, (array(2048, 3), array(2048))),
        ("vortices/n256-t20", "point vortices", vortices, (array(256, 2), array(256))),
        ("flock/n384-t30", "a flock of birds", flock, (array(384, 2),) * 2),
        ("smoothed-fluid/n512-t10", "smoothed particles", smoothed_fluid, (plane, plane)),
        ("in-cells/n16384-t50", "particles in cells", in_cells, (array(16384),) * 2),
    )
    yield from program_recipes(
        LIBRARY, [Program(f"{FAMILY}/{name}", *others) for name, *others in programs]
    )
