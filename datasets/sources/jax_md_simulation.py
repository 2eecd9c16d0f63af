"""Simulation and minimisation by jax-md: ensembles, changing boxes, rigid molecules."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax_md import energy, minimize, rigid_body, simulate, space
from recipe import Recipe, array
from sources.jax_md_potentials import (
    POSITIONS,
    SIDE,
    Energy,
    Program,
    all_pairs,
    dynamics_recipes,
    raw_key,
)

Maker = Callable[[Energy, Callable[..., Any]], tuple[Any, Any]]

ENSEMBLES: dict[str, Maker] = {
    "nve": lambda total, shift: simulate.nve(total, shift, 1e-3),
    "nose-hoover": lambda total, shift: simulate.nvt_nose_hoover(total, shift, 1e-3, 0.1),
    "nose-hoover-chain3": lambda total, shift: simulate.nvt_nose_hoover(
        total, shift, 1e-3, 0.1, chain_length=3, chain_steps=1, sy_steps=1
    ),
    "langevin": lambda total, shift: simulate.nvt_langevin(total, shift, 1e-3, 0.1),
    "brownian": lambda total, shift: simulate.brownian(total, shift, 1e-3, 0.1),
    "rescale": lambda total, shift: simulate.temp_rescale(total, shift, 1e-3, 0.1, 0.02, 1.0),
    "berendsen": lambda total, shift: simulate.temp_berendsen(total, shift, 1e-3, 0.1, 0.5),
    "csvr": lambda total, shift: simulate.temp_csvr(total, shift, 1e-3, 0.1, 0.5),
    "nvk": lambda total, shift: simulate.nvk(total, shift, 1e-3, 0.1),
    "fire": minimize.fire_descent,
    "descent": lambda total, shift: minimize.gradient_descent(total, shift, 1e-2),
}
"""Ensembles and minimisers, each made from energy and shift of positions."""


def lower_simulation(ensemble: str, potential: str, steps: int) -> jax.stages.Lowered:
    """Lowers steps of a simulation.

    Args:
        ensemble: A key of `ENSEMBLES`.
        potential: A key of `all_pairs`.
        steps: Steps, in a loop if more than one.
    """
    _, shift = space.periodic(SIDE)
    initial, step = ENSEMBLES[ensemble](all_pairs()[potential], shift)
    if ensemble in ("fire", "descent"):
        state = jax.eval_shape(initial, POSITIONS)
    elif ensemble == "nve":
        state = jax.eval_shape(lambda rng, place: initial(rng, place, 0.1), raw_key(), POSITIONS)
    else:
        state = jax.eval_shape(initial, raw_key(), POSITIONS)
    return _lower_steps(step, state, steps)


def lower_box(ensemble: str, steps: int) -> jax.stages.Lowered:
    """Lowers steps in which the box changes: at constant pressure (`npt`) or by FIRE (`fire`)."""
    box = array(3, 3)

    def total(positions: jax.Array, box: jax.Array, **options: Any) -> jax.Array:
        displacement, _ = space.periodic_general(box, fractional_coordinates=True)
        return energy.lennard_jones_pair(displacement)(positions, box=box, **options)

    _, shift = space.periodic_general(jnp.eye(3) * SIDE, fractional_coordinates=True)
    if ensemble == "npt":
        initial, step = simulate.npt_nose_hoover(total, shift, 1e-3, 0.1, 0.1)
        state = jax.eval_shape(initial, raw_key(), POSITIONS, box)
    else:
        initial, step = minimize.fire_descent_box(total, shift)
        state = jax.eval_shape(initial, POSITIONS, box)
    return _lower_steps(step, state, steps)


def lower_molecules() -> jax.stages.Lowered:
    """Lowers a step of rigid molecules of three atoms each, kept at a temperature."""
    _, shift = space.periodic(SIDE)
    displacement, _ = space.periodic(SIDE)
    points = jnp.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0], [0.0, 0.6, 0.0]])
    shape = rigid_body.point_union_shape(points, jnp.ones(3))
    total = rigid_body.point_energy(energy.soft_sphere_pair(displacement), shape)
    initial, step = simulate.nvt_nose_hoover(total, shift, 1e-3, 0.1)

    def start(rng: jax.Array, positions: jax.Array) -> Any:
        turns = jax.random.split(rng, len(positions))
        orientation = jax.vmap(rigid_body.random_quaternion, (0, None))(turns, jnp.float32)
        return initial(rng, rigid_body.RigidBody(positions, orientation), mass=shape.mass())

    return _lower_steps(step, jax.eval_shape(start, raw_key(), array(9, 3)), 1)


def _lower_steps(step: Callable[[Any], Any], state: Any, steps: int) -> jax.stages.Lowered:
    """Lowers one step, or several in a loop."""

    def loop(state: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda _, state: step(state), state)

    return jax.jit(step if steps == 1 else loop).lower(state)


def recipes() -> Iterator[Recipe]:
    """Yields the simulations and minimisations."""
    programs: dict[str, Program] = {
        "npt-lennard-jones/t1": (
            "simulate npt_nose_hoover on lennard-jones",
            partial(lower_box, "npt", 1),
        ),
        "npt-lennard-jones/t8": (
            "simulate npt_nose_hoover on lennard-jones, eight steps",
            partial(lower_box, "npt", 8),
        ),
        "fire-box-lennard-jones/t1": (
            "minimize fire_descent_box on lennard-jones",
            partial(lower_box, "fire", 1),
        ),
        "molecules-soft-sphere/t1": (
            "simulate nvt_nose_hoover of rigid molecules",
            lower_molecules,
        ),
    }
    for ensemble, potential, steps in (
        ("nve", "stillinger-weber", 1),
        ("nose-hoover", "lennard-jones", 1),
        ("nose-hoover-chain3", "morse", 8),
        ("langevin", "lennard-jones", 8),
        ("brownian", "soft-sphere", 1),
        ("rescale", "lennard-jones", 8),
        ("berendsen", "morse", 1),
        ("csvr", "lennard-jones", 1),
        ("nvk", "soft-sphere", 8),
        ("fire", "soft-sphere", 8),
        ("fire", "embedded-atom", 1),
        ("descent", "gupta-gold", 8),
    ):
        words = f"simulate {ensemble} on {potential}, steps: {steps}"
        lower = partial(lower_simulation, ensemble, potential, steps)
        programs[f"{ensemble}-{potential}/t{steps}"] = (words, lower)
    yield from dynamics_recipes(programs)
