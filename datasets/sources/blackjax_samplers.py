"""Markov chains of blackjax: a transition, a chain, and chains side by side of each sampler.

The posteriors are here too, and the recipes' form, both for blackjax's other files.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, array, key

LIBRARY = "blackjax"
POINTS, FEATURES = 24, 4
DATA = (array(POINTS, FEATURES), array(POINTS))
POSITION = {"weights": array(FEATURES), "scale": array()}
FLAT = array(FEATURES)
SIZE = FEATURES + 1

Density = Callable[[Any], jax.Array]
Lowering = Callable[[], jax.stages.Lowered]


def prior(position: Any) -> jax.Array:
    """Returns the log density of the prior of `regression`."""
    normal = jax.scipy.stats.norm.logpdf
    return normal(position["weights"], 0.0, 2.0).sum() + normal(position["scale"], 0.0, 1.0)


def likelihood(position: Any, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Returns the log density of targets in a linear regression with Student-t noise."""
    scale = jnp.exp(position["scale"])
    mean = inputs @ position["weights"]
    return jax.scipy.stats.t.logpdf(targets, 4.0, mean, scale).sum()


def regression(position: Any, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Returns the log posterior of a robust linear regression."""
    return prior(position) + likelihood(position, inputs, targets)


def logistic(weights: jax.Array, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the log posterior of a logistic regression."""
    losses = optax.sigmoid_binary_cross_entropy(inputs @ weights, labels)
    return -losses.sum() + jax.scipy.stats.norm.logpdf(weights).sum()


def samplers() -> dict[str, Callable[[Density], Any]]:
    """Returns every algorithm by name, to be given a log density."""
    ones, flat = jnp.ones(SIZE), jnp.ones(FEATURES)
    integrators = blackjax.mcmc.integrators

    def metric(position: jax.Array) -> jax.Array:
        return jnp.diag(1.0 + position**2)

    return {
        "hmc": lambda f: blackjax.hmc(f, 0.1, ones, 8),
        "hmc-dense": lambda f: blackjax.hmc(f, 0.1, jnp.eye(SIZE), 4),
        "hmc-mclachlan": lambda f: blackjax.hmc(f, 0.1, ones, 5, integrator=integrators.mclachlan),
        "hmc-yoshida": lambda f: blackjax.hmc(f, 0.1, ones, 3, integrator=integrators.yoshida),
        "hmc-multinomial": lambda f: blackjax.mhmc(f, 0.1, ones, 6),
        "hmc-dynamic": lambda f: blackjax.dhmc(f, 0.1, ones),
        "nuts": lambda f: blackjax.nuts(f, 0.1, ones, max_num_doublings=6),
        "nuts-dense": lambda f: blackjax.nuts(f, 0.1, jnp.eye(SIZE), max_num_doublings=5),
        "nuts-mclachlan": lambda f: blackjax.nuts(
            f, 0.1, ones, max_num_doublings=5, integrator=integrators.mclachlan
        ),
        "mala": lambda f: blackjax.mala(f, 0.01),
        "barker": lambda f: blackjax.barker(f, 0.05),
        "random-walk": lambda f: blackjax.additive_step_random_walk(
            f, blackjax.mcmc.random_walk.normal(0.1 * flat)
        ),
        "riemannian": lambda f: blackjax.rmhmc(f, 0.05, metric, 4),
        "ghmc": lambda f: blackjax.ghmc(f, 0.1, ones, 0.5, 0.1),
        "orbital": lambda f: blackjax.orbital_hmc(f, 0.1, ones, 6),
        "mclmc": lambda f: blackjax.mclmc(f, 1.0, 0.1),
        "adjusted-mclmc": lambda f: blackjax.adjusted_mclmc(f, 0.1, num_integration_steps=6),
        "adjusted-mclmc-dynamic": lambda f: blackjax.adjusted_mclmc_dynamic(f, 0.1),
        "slice": blackjax.slice_sampling,
        "coordinate-slice": blackjax.coordinate_slice,
        "elliptical-slice": lambda f: blackjax.elliptical_slice(
            f, mean=jnp.zeros(FEATURES), cov=jnp.eye(FEATURES)
        ),
        "marginal-gaussian": lambda f: blackjax.mgrad_gaussian(
            f, covariance=jnp.eye(FEATURES), mean=jnp.zeros(FEATURES), step_size=0.3
        ),
        "gist-step-size": lambda f: blackjax.gist_step_size(f, ones, 0.1, 3),
        "gist-trajectory": lambda f: blackjax.gist_trajectory_length(
            f, ones, 0.1, max_num_steps=32
        ),
    }


SAMPLERS = samplers()

FLAT_ONLY = ("random-walk", "riemannian", "elliptical-slice", "marginal-gaussian")
"""Samplers of a single vector, here of `logistic`; the others sample the tree of `regression`."""

PROGRAMS = {
    "hmc": {
        "hmc": "step chain",
        "hmc-dense": "step chain chains",
        "hmc-mclachlan": "step chains",
        "hmc-yoshida": "step chain",
        "hmc-multinomial": "step chain chains",
        "hmc-dynamic": "step chains",
        "riemannian": "step chain",
        "ghmc": "step chains",
        "orbital": "step chain",
        "gist-step-size": "step chain",
        "gist-trajectory": "step chains",
    },
    "nuts": {
        "nuts": "step chain",
        "nuts-dense": "step chain chains",
        "nuts-mclachlan": "step chain",
    },
    "microcanonical": {
        "mclmc": "step chains",
        "adjusted-mclmc": "step chain",
        "adjusted-mclmc-dynamic": "step chains",
    },
    "slice-sampling": {
        "slice": "step chain",
        "coordinate-slice": "step chains",
        "elliptical-slice": "step chain",
    },
    "metropolis": {
        "mala": "step chains",
        "barker": "step chain",
        "random-walk": "step chains",
        "marginal-gaussian": "step chains",
    },
}
"""Kinds of programs by family and sampler."""


def lower_mcmc(name: str, kind: str) -> jax.stages.Lowered:
    """Lowers a Markov chain Monte Carlo algorithm.

    Args:
        name: A key of `SAMPLERS`.
        kind: `step`, `chain` (start, then 30 steps in a scan) or `chains` (4 of them by `vmap`).
    """
    flat = name in FLAT_ONLY
    position: Any = FLAT if flat else POSITION
    density: Callable[..., jax.Array] = logistic if flat else regression

    def sampler(data: Any) -> Any:
        return SAMPLERS[name](lambda position: density(position, *data))

    def start(position: Any, *data: jax.Array) -> Any:
        return sampler(data).init(position, jax.random.key(0))

    def step(rng: Any, state: Any, *data: jax.Array) -> Any:
        return sampler(data).step(rng, state)

    def chain(rng: Any, position: Any, *data: jax.Array) -> Any:
        algorithm = sampler(data)

        def body(state: Any, rng: Any) -> Any:
            state, info = algorithm.step(rng, state)
            return state, (state, info)

        state = algorithm.init(position, jax.random.key(0))
        return jax.lax.scan(body, state, jax.random.split(rng, 30))[1]

    if kind == "step":
        return jax.jit(step).lower(key(), jax.eval_shape(start, position, *DATA), *DATA)
    if kind == "chain":
        return jax.jit(chain).lower(key(), position, *DATA)
    rngs = jax.eval_shape(lambda rng: jax.random.split(rng, 4), key())
    several = jax.tree.map(lambda leaf: array(4, *leaf.shape), position)
    return jax.jit(jax.vmap(chain, (0, 0, None, None))).lower(rngs, several, *DATA)


def posterior_recipes(programs: Mapping[str, Lowering]) -> Iterator[Recipe]:
    """Yields the recipes of programs on a posterior, given by name."""
    for name, lower in programs.items():
        family, *rest = name.split("/")
        words = f"blackjax {' '.join(rest)}, regression on {POINTS} points"
        yield Recipe(name, family, LIBRARY, words, lower, "algorithm")


def recipes() -> Iterator[Recipe]:
    """Yields every Markov chain."""
    yield from posterior_recipes(
        {
            f"{family}/blackjax-{name}/{kind}": partial(lower_mcmc, name, kind)
            for family, kinds_of in PROGRAMS.items()
            for name, kinds in kinds_of.items()
            for kind in kinds.split()
        }
    )
