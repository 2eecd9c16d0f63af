"""Markov chains and particles of blackjax and numpyro on regressions with thousands of rows."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpyro
import optax
from blackjax.smc import resampling
from numpyro import distributions as dist
from numpyro.infer import HMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from recipe import Recipe, array, key
from speed.programs import Program, program_recipes

LIBRARY = "blackjax"
Density = Callable[[jax.Array], jax.Array]


def logistic(weights: jax.Array, inputs: jax.Array, noise: jax.Array) -> jax.Array:
    """Returns the log posterior of a logistic regression; labels are where noise is positive."""
    labels = (noise > 0).astype(inputs.dtype)
    losses = optax.sigmoid_binary_cross_entropy(inputs @ weights, labels)
    return -losses.sum() + jax.scipy.stats.norm.logpdf(weights).sum()


def robust(weights: jax.Array, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Returns the log posterior of a linear regression with Student-t noise."""
    errors = jax.scipy.stats.t.logpdf(targets, 4.0, inputs @ weights, 1.0)
    return errors.sum() + jax.scipy.stats.norm.logpdf(weights).sum()


def chain(make: Callable[[Density], Any], density: Callable[..., Any], steps: int) -> Any:
    """Returns a chain of some steps, given by what makes the sampler from a log density."""

    def run(rng: jax.Array, position: jax.Array, *data: jax.Array) -> Any:
        algorithm = make(lambda weights: density(weights, *data))

        def body(state: Any, rng: jax.Array) -> Any:
            state, info = algorithm.step(rng, state)
            return state, (state.position, getattr(info, "acceptance_rate", 0.0))

        state = algorithm.init(0.1 * position, rng)
        return jax.lax.scan(body, state, jax.random.split(rng, steps))[1]

    return run


def chains(make: Callable[[Density], Any], density: Callable[..., Any], steps: int) -> Any:
    """Returns chains side by side, one for each row of the positions."""
    run = chain(make, density, steps)

    def several(rng: jax.Array, positions: jax.Array, *data: jax.Array) -> Any:
        rngs = jax.random.split(rng, len(positions))
        return jax.vmap(run, (0, 0, *(None for _ in data)))(rngs, positions, *data)

    return several


def tempered(rng: jax.Array, particles: jax.Array, *data: jax.Array) -> Any:
    """Runs tempered sequential Monte Carlo in eight steps with moves by HMC."""
    parameters = {
        "step_size": 0.02,
        "inverse_mass_matrix": jnp.ones(particles.shape[1]),
        "num_integration_steps": 5,
    }
    algorithm = blackjax.tempered_smc(
        lambda weights: jax.scipy.stats.norm.logpdf(weights).sum(),
        lambda weights: robust(weights, *data),
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        blackjax.smc.extend_params(parameters),
        resampling.systematic,
        num_mcmc_steps=2,
    )

    def step(state: Any, row: Any) -> Any:
        state, info = algorithm.step(row[0], state, row[1])
        return state, info.log_likelihood_increment

    rows = (jax.random.split(rng, 8), jnp.linspace(0.1, 1.0, 8))
    return jax.lax.scan(step, algorithm.init(particles), rows)


def pathfinder(rng: jax.Array, position: jax.Array, *data: jax.Array) -> Any:
    """Approximates a posterior by Pathfinder, which follows L-BFGS."""
    state, _ = blackjax.vi.pathfinder.approximate(
        rng, lambda weights: logistic(weights, *data), position, num_samples=32, maxiter=20
    )
    return state.position, state.elbo


def mean_field(rng: jax.Array, position: jax.Array, *data: jax.Array) -> Any:
    """Fits a mean-field normal distribution by 50 steps of Adam."""
    algorithm = blackjax.meanfield_vi(
        lambda weights: robust(weights, *data), optax.adam(1e-2), num_samples=16
    )

    def step(state: Any, rng: jax.Array) -> Any:
        state, info = algorithm.step(rng, state)
        return state, info.elbo

    start = algorithm.init(position)
    return jax.lax.scan(step, start, jax.random.split(rng, 50))[1]


def hierarchical(inputs: jax.Array, groups: jax.Array, noise: jax.Array) -> None:
    """Models a logistic regression whose offsets vary between eight groups."""
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([inputs.shape[1]]).to_event())
    with numpyro.plate("groups", 8):
        offset = numpyro.sample("offset", dist.Normal(0.0, scale))
    labels = (noise > 0).astype(jnp.int32)
    logits = inputs @ weights + offset[groups]
    numpyro.sample("label", dist.Bernoulli(logits=logits), obs=labels)


def numpyro_chain(kernel: Any, steps: int) -> Callable[..., Any]:
    """Returns a chain of numpyro without adaptation."""

    def run(rng: jax.Array, *data: jax.Array) -> Any:
        state = kernel.init(rng, 0, None, model_args=data, model_kwargs={})

        def step(state: Any, _: None) -> Any:
            state = kernel.sample(state, data, {})
            return state, state.z

        return jax.lax.scan(step, state, length=steps)[1]

    return run


def variational(rng: jax.Array, *data: jax.Array) -> Any:
    """Fits numpyro's normal guide by 50 steps of Adam."""
    svi = SVI(hierarchical, AutoNormal(hierarchical), optax.adam(1e-2), Trace_ELBO(4))
    state = svi.init(rng, *data)
    return jax.lax.scan(lambda state, _: svi.update(state, *data), state, length=50)[1]


def blackjax_programs() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yields name, function and arguments of the programs of blackjax."""
    ones, walk = jnp.ones(16), blackjax.mcmc.random_walk.normal(0.05 * jnp.ones(16))
    data = (array(2048, 16), array(2048))
    one, many = (key(), array(16), *data), (key(), array(32, 16), *data)
    yield "mcmc/hmc/n2048-t50", chain(lambda f: blackjax.hmc(f, 0.02, ones, 10), logistic, 50), one
    yield (
        "mcmc/nuts/n1024-t20",
        chain(lambda f: blackjax.nuts(f, 0.03, ones, max_num_doublings=4), logistic, 20),
        (key(), array(16), array(1024, 16), array(1024)),
    )
    yield (
        "mcmc/hmc-chains/c32-n2048-t10",
        chains(lambda f: blackjax.hmc(f, 0.02, ones, 8), robust, 10),
        many,
    )
    yield "mcmc/mala/c32-n2048-t20", chains(lambda f: blackjax.mala(f, 1e-3), logistic, 20), many
    yield (
        "mcmc/random-walk/n2048-t500",
        chain(lambda f: blackjax.additive_step_random_walk(f, walk), robust, 500),
        one,
    )
    yield "mcmc/barker/n2048-t200", chain(lambda f: blackjax.barker(f, 0.02), robust, 200), one
    yield "mcmc/mclmc/n2048-t200", chain(lambda f: blackjax.mclmc(f, 0.5, 0.05), logistic, 200), one
    yield (
        "mcmc/elliptical-slice/n1024-t50",
        chain(
            lambda f: blackjax.elliptical_slice(f, mean=jnp.zeros(16), cov=jnp.eye(16)), robust, 50
        ),
        (key(), array(16), array(1024, 16), array(1024)),
    )
    yield "mcmc/tempered/p128-n512", tempered, (key(), array(128, 16), array(512, 16), array(512))
    yield (
        "variational-inference/pathfinder/n4096",
        pathfinder,
        (
            key(),
            array(16),
            array(4096, 16),
            array(4096),
        ),
    )
    yield (
        "variational-inference/mean-field/n4096-t50",
        mean_field,
        (
            key(),
            array(16),
            array(4096, 16),
            array(4096),
        ),
    )


def recipes() -> Iterator[Recipe]:
    """Yields the chains."""
    for name, function, arguments in blackjax_programs():
        words = f"blackjax {name.split('/')[1]}, {name.split('/')[2]}"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
    data = (key(), array(2048, 16), array(2048, dtype=jnp.int32), array(2048))
    fixed = HMC(hierarchical, step_size=0.01, num_steps=8, adapt_step_size=False)
    nuts = NUTS(hierarchical, step_size=0.02, adapt_step_size=False, max_tree_depth=4)
    for name, function in (
        ("mcmc/numpyro-hmc/n2048-t20", numpyro_chain(fixed, 20)),
        ("mcmc/numpyro-nuts/n2048-t10", numpyro_chain(nuts, 10)),
        ("variational-inference/numpyro-normal/n2048-t50", variational),
    ):
        words = f"numpyro {name.split('/')[1]}, hierarchical logistic regression"
        yield from program_recipes("numpyro", [Program(name, words, function, data)])
