"""Chains of blackjax on batches of data, and the warm-up of chains.

Stochastic-gradient samplers; adaptation of step size, trajectory length and mass matrix.
"""

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
    POINTS,
    POSITION,
    Lowering,
    likelihood,
    posterior_recipes,
    prior,
    regression,
)

BATCH = 6


def lower_stochastic(name: str, steps: int) -> jax.stages.Lowered:
    """Lowers a stochastic-gradient sampler: `steps` of it in a scan, each on a batch of its own."""

    def estimator(position: Any, batch: Any) -> jax.Array:
        return prior(position) + POINTS / BATCH * likelihood(position, *batch)

    gradient = jax.grad(estimator)
    algorithm = {
        "sgld": lambda: blackjax.sgld(gradient),
        "sghmc": lambda: blackjax.sghmc(gradient, 5),
        "sgnht": lambda: blackjax.sgnht(gradient),
        "csgld": lambda: blackjax.csgld(estimator, gradient, num_partitions=32),
    }[name]()
    # SGNHT draws momenta at its start; CSGLD has a second step size, for the energy's histogram.
    drawn = (jax.random.key(1),) if name == "sgnht" else ()
    sizes = (1e-3, 1e-3) if name == "csgld" else (1e-3,)

    def chain(rng: Any, state: Any, batches: Any) -> Any:
        def body(state: Any, row: Any) -> Any:
            rng, batch = row
            state = algorithm.step(rng, state, batch, *sizes)
            return state, state

        return jax.lax.scan(body, state, (jax.random.split(rng, steps), batches))[1]

    batches = (array(steps, BATCH, FEATURES), array(steps, BATCH))
    state = jax.eval_shape(lambda position: algorithm.init(position, *drawn), POSITION)
    return jax.jit(chain).lower(key(), state, batches)


def lower_adaptation(name: str) -> jax.stages.Lowered:
    """Lowers the adaptation of step size and mass matrix over 60 steps."""

    def adapt(rng: Any, position: Any, *data: jax.Array) -> Any:
        def density(position: Any) -> jax.Array:
            return regression(position, *data)

        if name in ("window-nuts", "window-hmc", "window-nuts-dense"):
            options = {"num_integration_steps": 5} if name == "window-hmc" else {}
            options |= {"max_num_doublings": 5} if "nuts" in name else {}
            algorithm = blackjax.hmc if name == "window-hmc" else blackjax.nuts
            warmup = blackjax.window_adaptation(
                algorithm, density, is_mass_matrix_diagonal=not name.endswith("dense"), **options
            )
            return warmup.run(rng, position, 60)
        if name == "chees":
            warmup = blackjax.chees_adaptation(density, 4, max_leapfrog_steps=16)
            (state, parameters), _ = warmup.run(rng, position, 0.1, optax.adam(0.02), 60)
            # Functions among the parameters can leave no program.
            numbers = {name: leaf for name, leaf in parameters.items() if not callable(leaf)}
            return state, numbers
        return blackjax.meads_adaptation(density, 8).run(rng, position, 60)

    count = {"chees": 4, "meads": 8}.get(name, 0)
    position = jax.tree.map(lambda leaf: array(count, *leaf.shape), POSITION) if count else POSITION
    return jax.jit(adapt).lower(key(), position, *DATA)


def recipes() -> Iterator[Recipe]:
    """Yields the chains on batches and the warm-ups."""
    programs: dict[str, Lowering] = {}
    for name in ("sgld", "sghmc", "sgnht", "csgld"):
        programs[f"sgmcmc/{name}/loop20"] = partial(lower_stochastic, name, 20)
    for name in ("window-nuts", "window-nuts-dense", "window-hmc", "chees", "meads"):
        programs[f"mcmc-adaptation/{name}/warmup60"] = partial(lower_adaptation, name)
    yield from posterior_recipes(programs)
