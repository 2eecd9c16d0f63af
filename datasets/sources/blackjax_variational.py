"""Variational inference of blackjax: pathfinder, Gaussian families, Stein particles, a flow."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import blackjax
import jax
import optax
from recipe import Recipe, array, key
from sources.blackjax_samplers import (
    DATA,
    FEATURES,
    POSITION,
    Density,
    Lowering,
    logistic,
    posterior_recipes,
    regression,
)


def posterior(data: tuple[jax.Array, ...]) -> Density:
    """Returns the log density of `regression` given data."""
    return lambda position: regression(position, *data)


def lower_pathfinder(sampled: bool) -> jax.stages.Lowered:
    """Lowers pathfinder: Gaussians along a descent by L-BFGS, or 16 samples from the best."""

    def find(rng: Any, position: Any, *data: jax.Array) -> Any:
        state, info = blackjax.vi.pathfinder.approximate(
            rng, posterior(data), position, 20, maxiter=15, maxcor=4
        )
        return blackjax.vi.pathfinder.sample(rng, state, 16) if sampled else (state, info)

    return jax.jit(find).lower(key(), POSITION, *DATA)


def lower_follmer(steps: int) -> jax.stages.Lowered:
    """Lowers the Schroedinger-Follmer sampler, a diffusion towards the posterior."""

    def follow(rng: Any, position: Any, *data: jax.Array) -> Any:
        algorithm = blackjax.schrodinger_follmer(posterior(data), steps, 4)
        state = algorithm.init(position)
        return jax.lax.scan(
            lambda state, rng: algorithm.step(rng, state), state, jax.random.split(rng, steps)
        )

    return jax.jit(follow).lower(key(), POSITION, *DATA)


def lower_stein(steps: int) -> jax.stages.Lowered:
    """Lowers Stein variational gradient descent of 12 particles on `logistic`."""

    def transport(particles: Any, *data: jax.Array) -> Any:
        score = jax.grad(lambda weights: logistic(weights, *data))
        algorithm = blackjax.svgd(score, optax.adagrad(0.1))
        state = algorithm.init(particles, {"length_scale": 1.0})
        return jax.lax.scan(lambda state, _: (algorithm.step(state), None), state, length=steps)[0]

    return jax.jit(transport).lower(array(12, FEATURES), *DATA)


def lower_gaussian(family: str, steps: int, stl: bool = True) -> jax.stages.Lowered:
    """Lowers the fit of a Gaussian by its evidence lower bound.

    Args:
        family: `meanfield_vi` or `fullrank_vi`.
        steps: Steps of Adam in a scan; 0 for a single one.
        stl: Leave the score out of the gradient (the estimator "sticking the landing").
    """

    def fit(rng: Any, position: Any, *data: jax.Array) -> Any:
        algorithm = getattr(blackjax, family)(
            posterior(data), optax.adam(1e-2), num_samples=8, stl_estimator=stl
        )
        state = algorithm.init(position)
        if not steps:
            return algorithm.step(rng, state)
        return jax.lax.scan(
            lambda state, rng: algorithm.step(rng, state), state, jax.random.split(rng, steps)
        )

    return jax.jit(fit).lower(key(), POSITION, *DATA)


def recipes() -> Iterator[Recipe]:
    """Yields variational inference."""
    programs: dict[str, Lowering] = {
        "pathfinder/fit0": partial(lower_pathfinder, sampled=False),
        "pathfinder-sample/fit0": partial(lower_pathfinder, sampled=True),
        "meanfield-vi/fit0": partial(lower_gaussian, "meanfield_vi", 0),
        "meanfield-vi/fit20": partial(lower_gaussian, "meanfield_vi", 20),
        "meanfield-vi-sticky/fit20": partial(lower_gaussian, "meanfield_vi", 20, stl=False),
        "fullrank-vi/fit0": partial(lower_gaussian, "fullrank_vi", 0),
        "fullrank-vi/fit20": partial(lower_gaussian, "fullrank_vi", 20),
        "svgd/fit10": partial(lower_stein, 10),
        "schrodinger-follmer/fit20": partial(lower_follmer, 20),
    }
    yield from posterior_recipes(
        {f"variational-inference/{name}": lower for name, lower in programs.items()}
    )
