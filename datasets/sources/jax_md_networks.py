"""Potentials of jax-md that are learnt: Behler-Parrinello networks and graph networks."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax_md import energy, space
from recipe import Recipe, abstract, array
from sources.jax_md_potentials import COUNT, POSITIONS, SIDE, Program, dynamics_recipes


def lower_network(kind: str, trained: bool) -> jax.stages.Lowered:
    """Lowers a learnt energy: forces, or a training step on energies and forces.

    Args:
        kind: `behler-parrinello` or `graph-network`.
        trained: A training step.
    """
    displacement, _ = space.periodic(SIDE)
    concrete = jax.random.PRNGKey(0)
    sizes = {"key": concrete, "mlp_sizes": (8, 8)}
    if kind == "behler-parrinello":
        model = energy.behler_parrinello(displacement, **sizes).model
    else:
        model = energy.graph_network(displacement, 2.5, n_recurrences=2, **sizes).model
    graph, weights, rest = nnx.split(model, nnx.Param, ...)
    params = abstract(weights)

    def total(params: Any, positions: jax.Array) -> jax.Array:
        return nnx.merge(graph, params, rest)(positions)

    slope = jax.grad(total, argnums=1)

    def both(params: Any, positions: jax.Array) -> tuple[jax.Array, jax.Array]:
        return total(params, positions), -slope(params, positions)

    if not trained:
        return jax.jit(both).lower(params, POSITIONS)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))

    def loss(params: Any, positions: jax.Array, energies: jax.Array, forces: jax.Array) -> Any:
        predicted = jax.vmap(total, (None, 0))(params, positions)
        pushed = -jax.vmap(slope, (None, 0))(params, positions)
        return jnp.mean((predicted - energies) ** 2) + jnp.mean((pushed - forces) ** 2)

    def step(params: Any, moments: Any, *batch: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, *batch)
        updates, moments = optimizer.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments

    batch = (array(2, COUNT, 3), array(2), array(2, COUNT, 3))
    return jax.jit(step).lower(params, jax.eval_shape(optimizer.init, params), *batch)


def recipes() -> Iterator[Recipe]:
    """Yields forces and training steps of the learnt potentials."""
    forces: dict[str, Program] = {}
    steps: dict[str, Program] = {}
    for kind in ("behler-parrinello", "graph-network"):
        words = f"energy {kind.replace('-', '_')}"
        forces[f"{kind}/force"] = (
            f"{words}, energy and force",
            partial(lower_network, kind, trained=False),
        )
        steps[f"{kind}/train-adam-b2"] = (
            f"{words}, training step on energies and forces",
            partial(lower_network, kind, trained=True),
        )
    yield from dynamics_recipes(forces, "model")
    yield from dynamics_recipes(steps, "training-step")
