"""Solvers of optax around small pure-JAX objectives: L-BFGS, Muon, assignment, sampling."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, array, key

LIBRARY = "optax"


def logistic_loss(weights: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the loss of a linear classifier with a quadratic penalty."""
    logits = inputs @ weights["matrix"] + weights["bias"]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses.mean() + 1e-3 * jnp.sum(weights["matrix"] ** 2)


def logistic_arguments(features: int, classes: int, batch: int) -> tuple[Any, Any, Any]:
    """Returns abstract weights, inputs and labels for `logistic_loss`."""
    weights = {"matrix": array(features, classes), "bias": array(classes)}
    return weights, array(batch, features), array(batch, dtype=jnp.int32)


def lower_lbfgs(linesearch: str, until_converged: bool) -> jax.stages.Lowered:
    """Lowers L-BFGS on logistic regression.

    Args:
        linesearch: `zoom` or `backtracking`.
        until_converged: The whole minimisation in a while loop, not one iteration.
    """
    searches = {
        "zoom": optax.scale_by_zoom_linesearch(max_linesearch_steps=8),
        "backtracking": optax.scale_by_backtracking_linesearch(max_backtracking_steps=8),
    }
    solver = optax.lbfgs(memory_size=4, linesearch=searches[linesearch])
    weights, inputs, labels = logistic_arguments(8, 3, 32)

    def iteration(weights: Any, state: Any, inputs: Any, labels: Any) -> Any:
        def objective(candidate: Any) -> jax.Array:
            return logistic_loss(candidate, inputs, labels)

        value, gradient = jax.value_and_grad(objective)(weights)
        updates, state = solver.update(
            gradient, state, weights, value=value, grad=gradient, value_fn=objective
        )
        return optax.apply_updates(weights, updates), state

    def minimise(weights: Any, inputs: Any, labels: Any) -> Any:
        def unfinished(carry: Any) -> jax.Array:
            weights, _, count = carry
            gradient = jax.grad(logistic_loss)(weights, inputs, labels)
            return (count < 50) & (optax.global_norm(gradient) > 1e-3)

        def body(carry: Any) -> Any:
            weights, state, count = carry
            return *iteration(weights, state, inputs, labels), count + 1

        return jax.lax.while_loop(unfinished, body, (weights, solver.init(weights), 0))

    if until_converged:
        return jax.jit(minimise).lower(weights, inputs, labels)
    state = jax.eval_shape(solver.init, weights)
    return jax.jit(iteration).lower(weights, state, inputs, labels)


def lower_muon() -> jax.stages.Lowered:
    """Lowers a Muon step (Newton-Schulz orthogonalisation) on a two-layer regression."""
    solver = optax.contrib.muon(1e-3)
    params = {"inner": array(16, 32), "outer": array(32, 8), "bias": array(8)}

    def loss(params: Any, inputs: jax.Array, targets: jax.Array) -> jax.Array:
        hidden = jax.nn.relu(inputs @ params["inner"])
        return optax.huber_loss(hidden @ params["outer"] + params["bias"], targets).mean()

    def step(params: Any, state: Any, inputs: jax.Array, targets: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, inputs, targets)
        updates, state = solver.update(gradient, state, params)
        return optax.apply_updates(params, updates), state

    state = jax.eval_shape(solver.init, params)
    return jax.jit(step).lower(params, state, array(16, 16), array(16, 8))


def lower_assignment() -> jax.stages.Lowered:
    """Lowers set prediction: boxes matched to targets by the Hungarian algorithm, then a loss."""

    def matched_loss(boxes: jax.Array, targets: jax.Array) -> jax.Array:
        costs = jnp.abs(boxes[:, :, None] - targets[:, None]).sum(axis=-1)
        rows, columns = jax.vmap(optax.assignment.hungarian_algorithm)(costs)
        picked = jax.vmap(lambda cost, row, column: cost[row, column])(costs, rows, columns)
        return picked.mean()

    return jax.jit(matched_loss).lower(array(2, 8, 4), array(2, 6, 4))


def lower_sampler(leapfrog_steps: int, chains: int) -> jax.stages.Lowered:
    """Lowers Hamiltonian Monte Carlo on logistic regression, chains under `vmap`.

    Args:
        leapfrog_steps: Integration steps of a proposal.
        chains: Chains side by side.
    """
    weights, inputs, labels = logistic_arguments(6, 3, 24)

    def transition(weights: Any, rng: jax.Array, inputs: Any, labels: Any) -> Any:
        def potential(position: Any) -> jax.Array:
            return logistic_loss(position, inputs, labels)

        momentum_rng, accept_rng = jax.random.split(rng)
        momentum = optax.tree.random_like(momentum_rng, weights, jax.random.normal)

        def energy(position: Any, momentum: Any) -> jax.Array:
            return potential(position) + 0.5 * optax.global_norm(momentum) ** 2

        def leapfrog(_: int, carry: Any) -> Any:
            position, momentum = carry
            add = optax.tree.add_scale
            momentum = add(momentum, -0.05, jax.grad(potential)(position))
            position = add(position, 0.1, momentum)
            return position, add(momentum, -0.05, jax.grad(potential)(position))

        proposal = jax.lax.fori_loop(0, leapfrog_steps, leapfrog, (weights, momentum))
        change = energy(weights, momentum) - energy(*proposal)
        accepted = jnp.log(jax.random.uniform(accept_rng)) < change
        return jax.lax.cond(accepted, lambda: proposal[0], lambda: weights), accepted

    def sample(weights: Any, rngs: jax.Array, inputs: Any, labels: Any) -> Any:
        def step(carry: Any, _: None) -> Any:
            weights, rngs = carry
            split = jax.vmap(jax.random.split)(rngs)
            step_all = jax.vmap(transition, in_axes=(0, 0, None, None))
            weights, accepted = step_all(weights, split[:, 0], inputs, labels)
            return (weights, split[:, 1]), (weights, accepted)

        return jax.lax.scan(step, (weights, rngs), length=10)[1]

    stacked = jax.tree.map(lambda leaf: array(chains, *leaf.shape), weights)
    rngs = jax.eval_shape(lambda rng: jax.random.split(rng, chains), key())
    return jax.jit(sample).lower(stacked, rngs, inputs, labels)


def lower_clustering(points: int, clusters: int) -> jax.stages.Lowered:
    """Lowers Lloyd's k-means until nothing moves, then points sorted by cluster."""

    def cluster(data: jax.Array, centres: jax.Array) -> Any:
        def nearest(centres: jax.Array) -> jax.Array:
            return jnp.argmin(jnp.sum((data[:, None] - centres) ** 2, axis=-1), axis=-1)

        def unfinished(carry: Any) -> jax.Array:
            _, moved, count = carry
            return (moved > 1e-4) & (count < 100)

        def body(carry: Any) -> Any:
            centres, _, count = carry
            labels = nearest(centres)
            total = jax.ops.segment_sum(data, labels, clusters)
            size = jax.ops.segment_sum(jnp.ones(points), labels, clusters)
            updated = jnp.where(size[:, None] > 0, total / jnp.maximum(size, 1)[:, None], centres)
            return updated, jnp.linalg.norm(updated - centres), count + 1

        centres, _, count = jax.lax.while_loop(unfinished, body, (centres, jnp.inf, 0))
        labels = nearest(centres)
        order = jnp.argsort(labels)
        medians = jax.vmap(lambda column: jnp.median(column))(data.T)
        return centres, labels[order], data[order], medians, count

    return jax.jit(cluster).lower(array(points, 4), array(clusters, 4))


def recipes() -> Iterator[Recipe]:
    """Yields every solver recipe."""
    programs: dict[str, tuple[str, Callable[[], jax.stages.Lowered]]] = {
        "lbfgs/logistic-zoom/iteration-b32": (
            "optax.lbfgs, zoom line search, one iteration on logistic regression 8-3",
            lambda: lower_lbfgs("zoom", until_converged=False),
        ),
        "lbfgs/logistic-backtracking/minimise-b32": (
            "optax.lbfgs, backtracking line search, while loop on logistic regression 8-3",
            lambda: lower_lbfgs("backtracking", until_converged=True),
        ),
        "mlp/muon-16x32x8/train-b16": (
            "optax.contrib.muon step on a two-layer regression 16-32-8, batch 16",
            lower_muon,
        ),
        "assignment/hungarian-8x6/loss-b2": (
            "optax.assignment.hungarian_algorithm under vmap, 8 boxes, 6 targets, batch 2",
            lower_assignment,
        ),
        "hmc/logistic-l4/sample-c2": (
            "Hamiltonian Monte Carlo with optax.tree, 4 leapfrog steps, 2 chains, 10 draws",
            lambda: lower_sampler(4, 2),
        ),
        "kmeans/k4/fit-n64": (
            "Lloyd's k-means in a while loop with segment sums, sort and medians, 64 points",
            lambda: lower_clustering(64, 4),
        ),
    }
    for name, (description, lower) in programs.items():
        yield Recipe(name, name.split("/", 1)[0], LIBRARY, description, lower, "algorithm")
