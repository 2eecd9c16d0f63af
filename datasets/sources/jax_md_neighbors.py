"""Potentials of jax-md over neighbor lists: forces, updates of the lists, and dynamics."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_md import energy, partition, quantity, simulate, space
from recipe import Recipe, abstract
from sources.jax_md_potentials import (
    POSITIONS,
    SIDE,
    Energy,
    Program,
    dynamics_recipes,
    raw_key,
    species,
    spring_charge,
)

FORMS = {
    "dense": partition.Dense,
    "sparse": partition.Sparse,
    "ordered": partition.OrderedSparse,
}
"""Formats of neighbor lists."""


def lattice() -> jax.Array:
    """Returns positions on a cubic lattice, which size the neighbor lists."""
    ticks = (np.arange(3) + 0.5) * SIDE / 3
    return jnp.array(np.stack(np.meshgrid(ticks, ticks, ticks), axis=-1).reshape(-1, 3), "float32")


def neighbor_energies(sparse: Any) -> dict[str, Callable[[], tuple[Any, Energy]]]:
    """Returns what makes neighbor lists and energies over them, by name."""
    displacement, _ = space.periodic(SIDE)
    options = {"format": sparse}
    kinds = species()
    return {
        "soft-sphere": partial(energy.soft_sphere_neighbor_list, displacement, SIDE, **options),
        "lennard-jones": partial(
            energy.lennard_jones_neighbor_list,
            displacement,
            SIDE,
            r_onset=1.2,
            r_cutoff=1.5,
            dr_threshold=0.2,
            **options,
        ),
        "morse": partial(
            energy.morse_neighbor_list, displacement, SIDE, r_cutoff=1.8, r_onset=1.5, **options
        ),
        "stillinger-weber": partial(
            energy.stillinger_weber_neighbor_list, displacement, SIDE, cutoff=2.5, **options
        ),
        "silica": partial(
            energy.bks_silica_neighbor_list,
            displacement,
            SIDE,
            jnp.array(kinds),
            cutoff=2.0,
            **options,
        ),
        "embedded-atom": partial(
            energy.eam_neighbor_list,
            displacement,
            SIDE,
            spring_charge,
            lambda density: -jnp.sqrt(density + 1e-6),
            lambda distance: jnp.exp(-2 * distance),
            2.0,
            **options,
        ),
    }


def lower_neighbors(name: str, form: str, program: str) -> jax.stages.Lowered:
    """Lowers an energy over neighbor lists.

    Args:
        name: A key of `neighbor_energies`.
        form: A key of `FORMS`.
        program: `force`; `update` (of the list, and the force after it); `loop` (eight steps of
            velocity Verlet in a scan, the list updated in each).
    """
    neighbors, total = neighbor_energies(FORMS[form])[name]()
    force = quantity.force(total)
    listed = abstract(neighbors.allocate(lattice()))
    initial, advance = simulate.nve(total, space.periodic(SIDE)[1], 1e-3)

    def compute(positions: jax.Array, listed: Any) -> jax.Array:
        return force(positions, neighbor=listed)

    def update(positions: jax.Array, listed: Any) -> Any:
        listed = listed.update(positions)
        return force(positions, neighbor=listed), listed

    def start(rng: jax.Array, positions: jax.Array, listed: Any) -> Any:
        return initial(rng, positions, 0.1, neighbor=listed)

    def loop(state: Any, listed: Any) -> Any:
        def body(carry: Any, _: None) -> Any:
            state, listed = carry
            listed = listed.update(state.position)
            state = advance(state, neighbor=listed)
            return (state, listed), quantity.kinetic_energy(momentum=state.momentum)

        return jax.lax.scan(body, (state, listed), length=8)

    if program == "loop":
        state = jax.eval_shape(start, raw_key(), POSITIONS, listed)
        return jax.jit(loop).lower(state, listed)
    return jax.jit(compute if program == "force" else update).lower(POSITIONS, listed)


def recipes() -> Iterator[Recipe]:
    """Yields the potentials over neighbor lists."""
    programs: dict[str, Program] = {}
    for name, form, program in (
        ("lennard-jones", "sparse", "loop"),
        ("lennard-jones", "dense", "update"),
        ("soft-sphere", "ordered", "update"),
        ("morse", "dense", "force"),
        ("stillinger-weber", "dense", "loop"),
        ("silica", "dense", "force"),
        ("embedded-atom", "sparse", "loop"),
    ):
        lower = partial(lower_neighbors, name, form, program)
        words = f"energy {name} over {form} neighbor lists; {program}"
        programs[f"{name}-neighbors-{form}/{program}"] = (words, lower)
    yield from dynamics_recipes(programs)
