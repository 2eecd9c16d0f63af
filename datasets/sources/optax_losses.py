"""Losses of optax, and least squares under its projections."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, array
from sources.optax_optimizers import BATCH, CLASSES, LIBRARY


def losses() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Returns losses by name, each with abstract arguments."""
    logits, labels = array(BATCH, CLASSES), array(BATCH, dtype=jnp.int32)
    targets = array(BATCH, CLASSES)
    return {
        "ctc": (
            optax.ctc_loss,
            (array(2, 12, 8), array(2, 12), array(2, 5, dtype=jnp.int32), array(2, 5)),
        ),
        "sigmoid-focal": (partial(optax.sigmoid_focal_loss, alpha=0.25), (logits, targets)),
        "ntxent": (optax.ntxent, (array(BATCH, 16), labels)),
        "sparsemax": (optax.losses.multiclass_sparsemax_loss, (logits, labels)),
        "poly": (optax.losses.poly_loss_cross_entropy, (logits, targets)),
        "ranking-softmax": (optax.losses.ranking_softmax_loss, (logits, targets)),
        "triplet": (optax.losses.triplet_margin_loss, (logits, targets, targets)),
        "generalized-dice": (optax.losses.multiclass_generalized_dice_loss, (logits, targets)),
        "fenchel-young": (
            optax.losses.make_fenchel_young_loss(jax.nn.logsumexp),
            (array(CLASSES), array(CLASSES)),
        ),
        "perturbed-rank": (
            optax.losses.make_fenchel_young_loss(
                lambda x: optax.perturbations.make_perturbed_fun(
                    lambda leaf: jnp.max(leaf), num_samples=8
                )(jax.random.key(0), x)
            ),
            (array(CLASSES), array(CLASSES)),
        ),
    }


def lower_loss(function: Callable[..., Any], arguments: tuple[Any, ...]) -> jax.stages.Lowered:
    """Lowers value and gradient of a loss."""

    def total(first: Any, *rest: Any) -> jax.Array:
        return jnp.sum(function(first, *rest))

    return jax.jit(jax.value_and_grad(total)).lower(*arguments)


def lower_projected(name: str) -> jax.stages.Lowered:
    """Lowers projected gradient descent on least squares, 30 steps in a scan."""
    project = getattr(optax.projections, f"projection_{name.replace('-', '_')}")
    transform = optax.adam(1e-2)

    def fit(weights: jax.Array, inputs: jax.Array, targets: jax.Array) -> Any:
        def objective(weights: jax.Array) -> jax.Array:
            return jnp.mean(optax.l2_loss(inputs @ weights, targets))

        def body(carry: Any, _: None) -> Any:
            weights, state = carry
            value, gradient = jax.value_and_grad(objective)(weights)
            updates, state = transform.update(gradient, state, weights)
            return (project(optax.apply_updates(weights, updates)), state), value

        return jax.lax.scan(body, (weights, transform.init(weights)), length=30)

    return jax.jit(fit).lower(array(12), array(24, 12), array(24))


def recipes() -> Iterator[Recipe]:
    """Yields the losses and the projections."""
    for name, program in losses().items():
        yield Recipe(
            name=f"loss/{name}/grad",
            family="loss",
            library=LIBRARY,
            recipe=f"optax loss {name}, value and gradient",
            lower=partial(lower_loss, *program),
            scope="algorithm",
        )
    for name in ("simplex", "l1-ball", "l2-ball", "l1-sphere", "linf-ball"):
        words = f"Adam on least squares, projected by optax projection {name}, 30 steps in a scan"
        yield Recipe(
            name=f"projected-gradient/{name}/loop30",
            family="projected-gradient",
            library=LIBRARY,
            recipe=words,
            lower=partial(lower_projected, name),
            scope="algorithm",
        )
