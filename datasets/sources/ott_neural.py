"""Neural optimal transport by ott-jax: dual potentials, and a map fitted with the Monge gap."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from ott.neural.methods import monge_gap
from ott.neural.networks import icnn, potentials
from ott.tools import sinkhorn_divergence
from recipe import Recipe, array, key
from sources.ott_problems import FAMILY, LIBRARY


def lower_dual(network: str) -> jax.stages.Lowered:
    """Lowers a step of neural dual transport, both potentials trained against each other.

    Args:
        network: `icnn` (input-convex) or `mlp`.
    """
    width = 2
    if network == "icnn":
        model: Any = icnn.ICNN(dim_data=width, dim_hidden=[16, 16])
    else:
        model = potentials.PotentialMLP(dim_hidden=[16, 16])
    params = jax.eval_shape(model.init, key(), array(width))["params"]
    optimizer = optax.adam(1e-3)

    def value(params: Any, points: jax.Array) -> jax.Array:
        return jax.vmap(lambda point: model.apply({"params": params}, point))(points)

    def push(params: Any, points: jax.Array) -> jax.Array:
        return jax.vmap(jax.grad(lambda point: model.apply({"params": params}, point)))(points)

    def conjugate_loss(second: Any, first: Any, target: jax.Array) -> jax.Array:
        moved = push(second, target)
        return jnp.mean(value(first, moved) - jnp.sum(moved * target, axis=-1))

    def dual_loss(first: Any, second: Any, source: jax.Array, target: jax.Array) -> jax.Array:
        moved = jax.lax.stop_gradient(push(second, target))
        return jnp.mean(value(first, source)) - jnp.mean(value(first, moved))

    def step(both: Any, moments: Any, source: jax.Array, target: jax.Array) -> Any:
        first, second = both
        gradient = jax.grad(conjugate_loss)(second, first, target)
        updates, second_moments = optimizer.update(gradient, moments[1], second)
        second = optax.apply_updates(second, updates)
        gradient = jax.grad(dual_loss)(first, second, source, target)
        updates, first_moments = optimizer.update(gradient, moments[0], first)
        return (optax.apply_updates(first, updates), second), (first_moments, second_moments)

    moments = jax.eval_shape(optimizer.init, params)
    arguments = ((params, params), (moments, moments), array(16, width), array(16, width))
    return jax.jit(step).lower(*arguments)


def lower_gap() -> jax.stages.Lowered:
    """Lowers a step of a map fitted by Sinkhorn divergence and the Monge gap."""
    model = potentials.PotentialMLP(dim_hidden=[16, 16], is_potential=False)
    params = jax.eval_shape(model.init, key(), array(16, 2))["params"]
    optimizer = optax.adamw(1e-3)

    def loss(params: Any, source: jax.Array, target: jax.Array) -> jax.Array:
        moved = model.apply({"params": params}, source)
        fit = sinkhorn_divergence.sinkdiv(moved, target, epsilon=0.1)[0]
        return fit + monge_gap.monge_gap_from_samples(source, moved, epsilon=0.1)

    def step(params: Any, moments: Any, source: jax.Array, target: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, source, target)
        updates, moments = optimizer.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments

    moments = jax.eval_shape(optimizer.init, params)
    return jax.jit(step).lower(params, moments, array(16, 2), array(12, 2))


def recipes() -> Iterator[Recipe]:
    """Yields the training steps."""
    programs = {
        "dual-icnn": partial(lower_dual, "icnn"),
        "dual-mlp": partial(lower_dual, "mlp"),
        "monge-gap": lower_gap,
    }
    for name, lower in programs.items():
        yield Recipe(
            name=f"{FAMILY}/neural-{name}/train-adam",
            family=FAMILY,
            library=LIBRARY,
            recipe=f"ott.neural, {name}, hidden layers 16-16; training step",
            lower=lower,
            scope="training-step",
        )
