"""Sequential Monte Carlo of blackjax: particles that are tempered from prior to posterior."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
from blackjax.smc import resampling
from recipe import Recipe, array, key
from sources.blackjax_samplers import (
    DATA,
    POSITION,
    SIZE,
    likelihood,
    posterior_recipes,
    prior,
)


def tempering(name: str, kernel: str) -> Callable[[jax.Array, jax.Array], Any]:
    """Returns what makes a sampler from inputs and targets; arguments as of `lower_particles`."""
    parameters: dict[str, dict[str, Any]] = {
        "hmc": {
            "step_size": 0.1,
            "inverse_mass_matrix": jnp.ones(SIZE),
            "num_integration_steps": 4,
        },
        "mala": {"step_size": 0.01},
    }
    module = getattr(blackjax, kernel)
    moves = (module.build_kernel(), module.init)
    shared = blackjax.smc.extend_params(parameters[kernel])

    def sampler(inputs: jax.Array, targets: jax.Array) -> Any:
        def conditional(position: Any) -> jax.Array:
            return likelihood(position, inputs, targets)

        common = (prior, conditional, *moves, shared)
        if name == "adaptive":
            return blackjax.adaptive_tempered_smc(
                *common, resampling.systematic, 0.5, num_mcmc_steps=3
            )
        if name == "persistent":
            return blackjax.persistent_sampling_smc(
                prior, conditional, 8, *moves, shared, resampling.systematic, 2
            )
        return blackjax.tempered_smc(*common, resampling.stratified, num_mcmc_steps=3)

    return sampler


def lower_particles(name: str, kernel: str, complete: bool) -> jax.stages.Lowered:
    """Lowers sequential Monte Carlo with 16 particles.

    Args:
        name: `tempered`, `adaptive` or `persistent`.
        kernel: Kernel that moves the particles: `hmc` or `mala`.
        complete: From the prior to the posterior, not one step.
    """
    sampler = tempering(name, kernel)
    adaptive = name == "adaptive"

    def start(particles: Any, *data: jax.Array) -> Any:
        return sampler(*data).init(particles)

    def step(rng: Any, state: Any, *data: jax.Array) -> Any:
        return sampler(*data).step(rng, state, *(() if adaptive else (0.3,)))

    def run(rng: Any, particles: Any, *data: jax.Array) -> Any:
        algorithm = sampler(*data)

        def scanned(state: Any, row: Any) -> Any:
            return algorithm.step(row[0], state, row[1])

        rows = (jax.random.split(rng, 8), jnp.linspace(0.1, 1.0, 8))
        return jax.lax.scan(scanned, algorithm.init(particles), rows)

    def adaptive_run(rng: Any, particles: Any, *data: jax.Array) -> Any:
        algorithm = sampler(*data)

        def body(carry: Any) -> Any:
            state, rng = carry
            rng, own = jax.random.split(rng)
            return algorithm.step(own, state)[0], rng

        carry = (algorithm.init(particles), rng)
        return jax.lax.while_loop(lambda carry: carry[0].tempering_param < 1, body, carry)[0]

    particles = jax.tree.map(lambda leaf: array(16, *leaf.shape), POSITION)
    if complete:
        return jax.jit(adaptive_run if adaptive else run).lower(key(), particles, *DATA)
    return jax.jit(step).lower(key(), jax.eval_shape(start, particles, *DATA), *DATA)


def recipes() -> Iterator[Recipe]:
    """Yields sequential Monte Carlo: single steps and whole runs."""
    algorithms = (
        ("tempered", "hmc"),
        ("adaptive", "mala"),
        ("adaptive", "hmc"),
        ("persistent", "hmc"),
    )
    yield from posterior_recipes(
        {
            f"smc/{name}/{variant}-{kernel}": partial(lower_particles, name, kernel, complete)
            for name, kernel in algorithms
            for variant, complete in (("step", False), ("run", True))
        }
    )
