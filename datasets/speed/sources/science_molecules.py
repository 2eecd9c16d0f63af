"""Molecular dynamics of jax-md with hundreds of particles that start near a lattice."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax_md import energy, minimize, partition, quantity, simulate, space
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax-md"
FAMILY = "molecular-dynamics"
SPACING = 1.2

Energy = Callable[..., jax.Array]


def lattice(cells: int) -> jax.Array:
    """Returns positions of a cubic lattice."""
    return (jnp.indices((cells,) * 3).reshape(3, -1).T + 0.5) * SPACING


def placed(offsets: jax.Array) -> jax.Array:
    """Returns positions near a cubic lattice."""
    cells = round(len(offsets) ** (1 / 3))
    return lattice(cells) + 0.1 * jnp.tanh(offsets)


def potentials(cells: int) -> dict[str, Energy]:
    """Returns energies over all pairs in a periodic box, by name."""
    displacement, _ = space.periodic(cells * SPACING)
    return {
        "lennard-jones": energy.lennard_jones_pair(displacement),
        "soft-sphere": energy.soft_sphere_pair(displacement, sigma=1.5),
        "morse": energy.morse_pair(displacement),
        "stillinger-weber": energy.stillinger_weber(displacement),
        "embedded-atom": energy.eam(
            displacement,
            lambda distance: jnp.exp(-distance),
            lambda density: -jnp.sqrt(density),
            lambda distance: jnp.exp(-2 * distance),
        ),
    }


def forces(name: str, cells: int) -> Callable[..., Any]:
    """Returns energy and forces of a potential over all pairs."""
    total = potentials(cells)[name]

    def both(offsets: jax.Array) -> Any:
        return jax.value_and_grad(total)(placed(offsets))

    return both


def moved(name: str, cells: int, ensemble: str, steps: int) -> Callable[..., Any]:
    """Returns steps of a simulation or minimisation, with the energies on the way."""
    total = potentials(cells)[name]
    _, shift = space.periodic(cells * SPACING)
    makers: dict[str, Callable[[], Any]] = {
        "nve": lambda: simulate.nve(total, shift, 1e-3),
        "nose-hoover": lambda: simulate.nvt_nose_hoover(total, shift, 1e-3, 0.1),
        "langevin": lambda: simulate.nvt_langevin(total, shift, 1e-3, 0.1),
        "fire": lambda: minimize.fire_descent(total, shift),
    }

    def run(offsets: jax.Array, rng: jax.Array) -> Any:
        start, step = makers[ensemble]()
        positions = placed(offsets)
        state = start(positions) if ensemble == "fire" else start(rng, positions, kT=0.1)

        def body(state: Any, _: None) -> Any:
            state = step(state)
            return state, quantity.kinetic_energy(momentum=state.momentum)

        state, speeds = jax.lax.scan(body, state, length=steps)
        return state.position, speeds

    return run


def neighboring(cells: int, steps: int) -> Callable[..., Any]:
    """Returns steps at constant energy over a sparse list of neighbors, updated in each step."""
    side = cells * SPACING
    displacement, shift = space.periodic(side)
    make, total = energy.lennard_jones_neighbor_list(
        displacement,
        side,
        r_onset=1.5,
        r_cutoff=2.0,
        dr_threshold=0.3,
        format=partition.Sparse,
    )
    start, step = simulate.nve(total, shift, 1e-3)
    first = make.allocate(lattice(cells), extra_capacity=8)

    def run(offsets: jax.Array, rng: jax.Array) -> Any:
        positions = placed(offsets)
        neighbors = make.update(positions, first)
        state = start(rng, positions, 0.1, neighbor=neighbors)

        def body(carry: Any, _: None) -> Any:
            state, neighbors = carry
            neighbors = neighbors.update(state.position)
            state = step(state, neighbor=neighbors)
            return (state, neighbors), quantity.kinetic_energy(momentum=state.momentum)

        (state, _), energies = jax.lax.scan(body, (state, neighbors), length=steps)
        return state.position, energies

    return run


def correlation(cells: int) -> Callable[..., Any]:
    """Returns the pair correlation function of particles."""
    displacement, _ = space.periodic(cells * SPACING)
    measure = quantity.pair_correlation(
        displacement, jnp.linspace(0.1, 3.0, 64), 0.1, compute_average=True
    )
    return lambda offsets: measure(placed(offsets))


def recipes() -> Iterator[Recipe]:
    """Yields the programs of molecular dynamics."""
    rng = array(2, dtype=jnp.uint32)
    big, middle, small = array(512, 3), array(216, 3), array(64, 3)
    programs = (
        ("lennard-jones/force-n512", forces("lennard-jones", 8), (big,)),
        ("stillinger-weber/force-n64", forces("stillinger-weber", 4), (small,)),
        ("embedded-atom/force-n512", forces("embedded-atom", 8), (big,)),
        ("nve/lennard-jones-n216-t20", moved("lennard-jones", 6, "nve", 20), (middle, rng)),
        ("nose-hoover/morse-n216-t10", moved("morse", 6, "nose-hoover", 10), (middle, rng)),
        ("langevin/lennard-jones-n512-t10", moved("lennard-jones", 8, "langevin", 10), (big, rng)),
        ("fire/soft-sphere-n216-t20", moved("soft-sphere", 6, "fire", 20), (middle, rng)),
        ("neighbors/lennard-jones-n512-t20", neighboring(8, 20), (big, rng)),
        ("correlation/n216", correlation(6), (middle,)),
    )
    for name, function, arguments in programs:
        words = f"jax_md {name.split('/')[0]}, {name.split('/')[1]}"
        yield from program_recipes(
            LIBRARY, [Program(f"{FAMILY}/{name}", words, function, arguments)]
        )
