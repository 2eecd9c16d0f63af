"""Random simulation of jax: prices, physics, particles, walks, and random variates."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from recipe import Recipe, array, key
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def asian_option(rng: jax.Array, rate: jax.Array, volatility: jax.Array) -> Any:
    """Returns price and sensitivities of an option on a mean price, 8192 paths of 64 days."""

    def price(rate: jax.Array, volatility: jax.Array) -> jax.Array:
        days, step = 64, 1 / 64
        normal = jax.random.normal(rng, (8192, days))
        moves = (rate - 0.5 * volatility**2) * step + volatility * jnp.sqrt(step) * normal
        paths = 100 * jnp.exp(jnp.cumsum(moves, axis=1))
        return jnp.exp(-rate) * jnp.maximum(paths.mean(axis=1) - 100, 0.0).mean()

    return jax.value_and_grad(price, (0, 1))(rate, volatility)


def heston(rng: jax.Array, rate: jax.Array, volatility: jax.Array) -> Any:
    """Returns prices of a barrier option where volatility varies, by a scan of 128 steps."""
    step = 1 / 128

    def move(carry: Any, rng: jax.Array) -> Any:
        price, variance, alive = carry
        first, second = jax.random.normal(rng, (2, 16384))
        second = -0.7 * first + 0.714 * second
        size = jnp.sqrt(jnp.maximum(variance, 0.0) * step)
        price = price * jnp.exp((rate - 0.5 * variance) * step + size * first)
        variance = variance + 2.0 * (volatility**2 - variance) * step + 0.3 * size * second
        return (price, jnp.maximum(variance, 0.0), alive & (price > 80.0)), None

    start = (jnp.full(16384, 100.0), jnp.full(16384, volatility**2), jnp.ones(16384, bool))
    price, _, alive = jax.lax.scan(move, start, jax.random.split(rng, 128))[0]
    strikes = jnp.linspace(80.0, 120.0, 16)
    gains = jnp.where(alive, jnp.maximum(price - strikes[:, None], 0.0), 0.0)
    return jnp.exp(-rate) * gains.mean(axis=1)


def american_option(rng: jax.Array, rate: jax.Array, volatility: jax.Array) -> jax.Array:
    """Returns the price of an American option by regressions (Longstaff and Schwartz)."""
    days, step = 32, 1 / 32
    normal = jax.random.normal(rng, (days, 8192))
    moves = (rate - 0.5 * volatility**2) * step + volatility * jnp.sqrt(step) * normal
    paths = jnp.exp(jnp.cumsum(moves, axis=0))

    def back(value: jax.Array, price: jax.Array) -> Any:
        value = value * jnp.exp(-rate * step)
        gain = jnp.maximum(1.0 - price, 0.0)
        inside = (gain > 0).astype(price.dtype)
        basis = jnp.stack([jnp.ones_like(price), price, price**2, price**3], axis=1)
        weighted = basis * inside[:, None]
        normal = weighted.T @ basis + 1e-2 * jnp.eye(4)
        held = basis @ jnp.linalg.solve(normal, weighted.T @ value)
        return jnp.where((gain > held) & (gain > 0), gain, value), None

    return jax.lax.scan(back, jnp.maximum(1.0 - paths[-1], 0.0), paths[:-1], reverse=True)[0].mean()


def ising(spins: jax.Array, rng: jax.Array, heat: jax.Array) -> Any:
    """Runs 40 sweeps of Metropolis' algorithm on a magnet, in the colours of a chessboard."""
    row, column = jnp.indices(spins.shape)
    white = (row + column) % 2 == 0

    def half(spins: jax.Array, rng: jax.Array, chosen: jax.Array) -> jax.Array:
        around = sum(jnp.roll(spins, by, axis) for axis in (0, 1) for by in (-1, 1))
        chance = jnp.exp(-2 * spins * around / (1.0 + 2.0 * heat))
        flips = chosen & (jax.random.uniform(rng, spins.shape) < chance)
        return jnp.where(flips, -spins, spins)

    def sweep(spins: jax.Array, rng: jax.Array) -> Any:
        first, second = jax.random.split(rng)
        spins = half(half(spins, first, white), second, ~white)
        return spins, spins.mean()

    return jax.lax.scan(sweep, jnp.where(spins > 0, 1.0, -1.0), jax.random.split(rng, 40))


def particle_filter(observations: jax.Array, rng: jax.Array) -> Any:
    """Runs a bootstrap particle filter with 4096 particles, resampled at every step."""
    count = 4096

    def step(carry: Any, row: Any) -> Any:
        particles, evidence = carry
        observation, rng = row
        first, second = jax.random.split(rng)
        noise = jax.random.normal(first, (count,))
        particles = 0.5 * particles + 8 * jnp.sin(particles) + noise
        logs = -0.5 * (observation - particles / 4) ** 2
        total = logsumexp(logs)
        heights = jnp.cumsum(jnp.exp(logs - total))
        ladder = (jnp.arange(count) + jax.random.uniform(second)) / count
        chosen = jnp.searchsorted(heights, ladder)
        particles = particles[jnp.minimum(chosen, count - 1)]
        return (particles, evidence + total - jnp.log(count)), particles.mean()

    rngs = jax.random.split(rng, len(observations))
    start = (jnp.zeros(count), jnp.zeros(()))
    return jax.lax.scan(step, start, (observations, rngs))


def gibbs(counts: jax.Array, rng: jax.Array) -> Any:
    """Draws from a model of counts with gamma rates by 50 rounds of Gibbs' sampler."""
    counts = jnp.abs(counts)

    def step(scale: jax.Array, rng: jax.Array) -> Any:
        first, second = jax.random.split(rng)
        rates = jax.random.gamma(first, 1.0 + counts) / (1.0 + scale)
        scale = jax.random.gamma(second, 2.0 + counts.size) / (1.0 + rates.sum())
        return scale, rates.mean()

    return jax.lax.scan(step, jnp.ones(()), jax.random.split(rng, 50))[1]


def epidemic(rng: jax.Array, rates: jax.Array) -> jax.Array:
    """Runs epidemics in 256 towns for 50 days with binomial draws."""

    def day(carry: Any, rng: jax.Array) -> Any:
        healthy, ill = carry
        first, second = jax.random.split(rng)
        caught = jax.random.binomial(
            first, healthy, 1 - jnp.exp(-jax.nn.softplus(rates) * ill / 1e3)
        )
        cured = jax.random.binomial(second, ill, 0.1)
        return (healthy - caught, ill + caught - cured), ill

    start = (jnp.full(rates.shape, 990.0), jnp.full(rates.shape, 10.0))
    return jax.lax.scan(day, start, jax.random.split(rng, 50))[1]


def bootstrap(values: jax.Array, rng: jax.Array) -> jax.Array:
    """Returns quantiles of 512 means of values that are drawn with replacement."""

    def mean(rng: jax.Array) -> jax.Array:
        return values[jax.random.randint(rng, (len(values),), 0, len(values))].mean(axis=0)

    means = jax.vmap(mean)(jax.random.split(rng, 512))
    return jnp.quantile(means, jnp.array([0.025, 0.5, 0.975]), axis=0)


def variates(rng: jax.Array, shape: jax.Array, logits: jax.Array) -> Any:
    """Draws gamma, beta, Poisson and Gumbel-max variates."""
    first, second, third, fourth = jax.random.split(rng, 4)
    shape = 0.1 + jax.nn.softplus(shape)
    return (
        jax.random.gamma(first, shape),
        jax.random.beta(second, shape, 2.0),
        jax.random.poisson(third, 4.0 * shape),
        jax.random.categorical(fourth, logits, axis=-1),
    )


def recipes() -> Iterator[Recipe]:
    """Yields the simulations."""
    market = (key(), array(), array())
    programs = (
        ("sampling/asian-option/p8192-t64", asian_option, market),
        ("sampling/heston/p16384-t128", heston, market),
        ("sampling/american-option/p8192-t32", american_option, market),
        ("lattice/ising/n256-t40", ising, (array(256, 256), key(), array())),
        ("sampling/particle-filter/p4096-t64", particle_filter, (array(64), key())),
        ("sampling/gibbs/n2048-t50", gibbs, (array(2048), key())),
        ("sampling/epidemic/n256-t50", epidemic, (key(), array(256))),
        ("sampling/bootstrap/n4096-b512", bootstrap, (array(4096, 2), key())),
        ("sampling/variates/n16384", variates, (key(), array(16384), array(4096, 64))),
    )
    for name, function, arguments in programs:
        words = f"simulation of {name.split('/')[1]}"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
