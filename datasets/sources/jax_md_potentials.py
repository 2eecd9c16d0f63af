"""Potentials of jax-md over all pairs: energies, forces, their derivatives, stress and moduli.

The particles and the recipes' form are here too, for jax-md's other files.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_md import elasticity, energy, quantity, space
from recipe import Recipe, Scope, array

LIBRARY = "jax-md"
COUNT, SIDE = 27, 6.0
POSITIONS = array(COUNT, 3)

Energy = Callable[..., jax.Array]
Program = tuple[str, Callable[[], jax.stages.Lowered]]
"""Description of a graph, and its lowering."""


def raw_key() -> Any:
    """Returns an abstract random key: two numbers."""
    return array(2, dtype=jnp.uint32)


def species() -> np.ndarray:
    """Returns two kinds of particles in turn."""
    return np.arange(COUNT) % 2


def spring_charge(distance: jax.Array) -> jax.Array:
    """Returns the electron density that an atom leaves at a distance."""
    return jnp.exp(-distance)


def all_pairs() -> dict[str, Energy]:
    """Returns energies over all pairs in a periodic box, by name."""
    displacement, _ = space.periodic(SIDE)
    kinds = species()
    pair = np.array([[1.0, 0.8], [0.8, 0.9]])
    bonds = np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1)
    charges = jnp.where(kinds == 0, 1.0, -1.0)
    return {
        "spring-bonds": energy.simple_spring_bond(displacement, bonds, length=1.0),
        "soft-sphere": energy.soft_sphere_pair(displacement),
        "lennard-jones": energy.lennard_jones_pair(displacement),
        "lennard-jones-species": energy.lennard_jones_pair(
            displacement, species=kinds, sigma=pair, epsilon=pair
        ),
        "morse": energy.morse_pair(displacement),
        "stillinger-weber": energy.stillinger_weber(displacement),
        "edip": energy.edip(displacement),
        "gupta-gold": energy.gupta_gold55(displacement),
        "silica": energy.bks_silica_pair(displacement, species=kinds),
        "embedded-atom": energy.eam(
            displacement,
            spring_charge,
            lambda density: -jnp.sqrt(density),
            lambda distance: jnp.exp(-2 * distance),
        ),
        "ewald": energy.coulomb_recip_ewald(charges, SIDE, 0.34, 2.0),
        "mesh-ewald": energy.coulomb_recip_pme(charges, jnp.eye(3) * SIDE, 8),
    }


def lower_energy(name: str, program: str) -> jax.stages.Lowered:
    """Lowers an energy over all pairs.

    Args:
        name: A key of `all_pairs`.
        program: `force` (with the energy), `batch-force` (of four systems under `vmap`) or
            `hessian` (the force, and its change along a direction).
    """
    total = all_pairs()[name]
    force = quantity.force(total)

    def both(positions: jax.Array) -> tuple[jax.Array, jax.Array]:
        return total(positions), force(positions)

    def push(positions: jax.Array, direction: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(force, (positions,), (direction,))

    if program == "force":
        return jax.jit(both).lower(POSITIONS)
    if program == "batch-force":
        return jax.jit(jax.vmap(force)).lower(array(4, COUNT, 3))
    return jax.jit(push).lower(POSITIONS, POSITIONS)


def lower_stress() -> jax.stages.Lowered:
    """Lowers pressure and stress of a Lennard-Jones fluid in a general box."""
    displacement, _ = space.periodic_general(jnp.eye(3) * SIDE)
    total = energy.lennard_jones_pair(displacement)

    def measure(positions: jax.Array, box: jax.Array, velocity: jax.Array) -> Any:
        tensor = quantity.stress(total, positions, box, velocity=velocity)
        return tensor, quantity.pressure(total, positions, box)

    return jax.jit(measure).lower(POSITIONS, array(3, 3), POSITIONS)


def lower_moduli() -> jax.stages.Lowered:
    """Lowers the elastic moduli of a packing of soft spheres at rest."""
    displacement, _ = space.periodic_general(jnp.eye(3) * SIDE)
    total = energy.soft_sphere_pair(displacement)
    moduli = elasticity.athermal_moduli(total)
    return jax.jit(moduli).lower(POSITIONS, array(3, 3))


def lower_correlation() -> jax.stages.Lowered:
    """Lowers the pair correlation function, averaged."""
    displacement, _ = space.periodic(SIDE)
    radii = jnp.linspace(0.1, 3.0, 20)
    measure = quantity.pair_correlation(displacement, radii, 0.1, compute_average=True)
    return jax.jit(measure).lower(POSITIONS)


def dynamics_recipes(
    programs: Mapping[str, Program], scope: Scope = "algorithm"
) -> Iterator[Recipe]:
    """Yields the recipes of programs of molecular dynamics, given by name without family."""
    for name, (words, lower) in programs.items():
        yield Recipe(
            name=f"molecular-dynamics/{name}",
            family="molecular-dynamics",
            library=LIBRARY,
            recipe=f"jax_md {words}; {COUNT} particles",
            lower=lower,
            scope=scope,
        )


def recipes() -> Iterator[Recipe]:
    """Yields the potentials over all pairs and what is measured with them."""
    programs: dict[str, Program] = {
        "stress-lennard-jones/measure": ("quantity stress, pressure", lower_stress),
        "moduli-soft-sphere/measure": ("elasticity athermal_moduli", lower_moduli),
        "correlation/measure": ("quantity pair_correlation", lower_correlation),
    }
    for name, program in (
        ("spring-bonds", "force"),
        ("soft-sphere", "hessian"),
        ("lennard-jones", "batch-force"),
        ("lennard-jones-species", "force"),
        ("morse", "force"),
        ("stillinger-weber", "force"),
        ("edip", "force"),
        ("gupta-gold", "force"),
        ("silica", "force"),
        ("embedded-atom", "hessian"),
        ("ewald", "force"),
        ("mesh-ewald", "force"),
    ):
        words = f"energy {name} over all pairs; {program}"
        programs[f"{name}/{program}"] = (words, partial(lower_energy, name, program))
    yield from dynamics_recipes(programs)
