"""Bayesian models of time series written in numpyro: under scans, and by differential equations."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.experimental.ode import odeint
from numpyro.contrib.control_flow import scan
from recipe import Recipe, array
from sources.numpyro_models import INTEGERS, Model, model_recipes


def volatility(returns: jax.Array) -> None:
    """Models stochastic volatility: a random walk drives the scale of Student-t returns."""
    step = numpyro.sample("sigma", dist.Exponential(50.0))
    walk = numpyro.sample("s", dist.GaussianRandomWalk(scale=step, num_steps=returns.shape[0]))
    degrees = numpyro.sample("nu", dist.Exponential(0.1))
    numpyro.sample("r", dist.StudentT(df=degrees, loc=0.0, scale=jnp.exp(walk)), obs=returns)


def hidden_markov(words: jax.Array) -> None:
    """Models hidden Markov states, summed out by the forward algorithm under scan."""
    with numpyro.plate("states", 4):
        transition = numpyro.sample("transition", dist.Dirichlet(jnp.ones(4)))
        emission = numpyro.sample("emission", dist.Dirichlet(jnp.full(12, 0.1)))

    def forward(log_prob: jax.Array, word: jax.Array) -> Any:
        scores = log_prob[:, None] + jnp.log(transition) + jnp.log(emission)[:, word]
        return jax.nn.logsumexp(scores, axis=0), None

    log_prob, _ = jax.lax.scan(forward, jnp.log(emission)[:, words[0]], words[1:])
    numpyro.factor("likelihood", jax.nn.logsumexp(log_prob))


def state_space(series: jax.Array, future: int = 0) -> None:
    """Models level, trend and season (exponential smoothing) by numpyro's own scan."""
    noise = numpyro.sample("sigma", dist.HalfNormal(1.0))
    smoothing = numpyro.sample("smoothing", dist.Beta(jnp.ones(3), jnp.ones(3)).to_event(1))
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    trend = numpyro.sample("trend", dist.Normal(0.0, 1.0))
    season = numpyro.sample("season", dist.Normal(jnp.zeros(4), 1.0).to_event(1))
    steps = series.shape[0]

    def transition(carry: Any, time: jax.Array) -> Any:
        level, trend, season = carry
        mean = level + trend + season[0]
        value = numpyro.sample("y", dist.Normal(mean, noise))
        updated = smoothing[0] * (value - season[0]) + (1 - smoothing[0]) * (level + trend)
        trend = smoothing[1] * (updated - level) + (1 - smoothing[1]) * trend
        recurring = smoothing[2] * (value - updated) + (1 - smoothing[2]) * season[0]
        return (updated, trend, jnp.append(season[1:], recurring)), mean

    with numpyro.handlers.condition(data={"y": series}):
        scan(transition, (level, trend, season), jnp.arange(steps + future))


def autoregression(series: jax.Array) -> None:
    """Models a second-order autoregression by numpyro's own scan."""
    alpha = numpyro.sample("alpha", dist.Normal(jnp.zeros(2), 1.0).to_event(1))
    constant = numpyro.sample("const", dist.Normal(0.0, 1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))

    def transition(carry: Any, _: Any) -> Any:
        before, last = carry
        mean = constant + alpha[0] * last + alpha[1] * before
        value = numpyro.sample("obs", dist.Normal(mean, sigma))
        return (last, value), mean

    with numpyro.handlers.condition(data={"obs": series[2:]}):
        scan(transition, (series[0], series[1]), jnp.arange(series.shape[0] - 2))


def predator_prey(populations: jax.Array) -> None:
    """Models Lotka-Volterra equations of unknown rates, by an adaptive Runge-Kutta."""
    start = numpyro.sample("z0", dist.LogNormal(jnp.log(10.0), 1.0).expand([2]).to_event(1))
    low = jnp.zeros(4)
    prior = dist.TruncatedNormal(jnp.array([1.0, 0.05, 1.0, 0.05]), 0.5, low=low).to_event(1)
    rates = numpyro.sample("theta", prior)

    def derivative(state: jax.Array, _: jax.Array, rates: jax.Array) -> jax.Array:
        prey, predator = state[0], state[1]
        grown = (rates[0] - rates[1] * predator) * prey
        return jnp.stack([grown, (-rates[2] + rates[3] * prey) * predator])

    times = jnp.arange(float(populations.shape[0]))
    states = odeint(derivative, start, times, rates, rtol=1e-6, atol=1e-5, mxstep=100)
    sigma = numpyro.sample("sigma", dist.LogNormal(-1, 1).expand([2]).to_event(1))
    numpyro.sample("y", dist.LogNormal(jnp.log(states), sigma).to_event(2), obs=populations)


SERIES: dict[str, Model] = {
    "stochastic-volatility": Model(volatility, (array(40),)),
    "hmm": Model(hidden_markov, (array(24, dtype=INTEGERS),)),
    "state-space": Model(state_space, (array(24),)),
    "autoregression": Model(autoregression, (array(24),)),
    "predator-prey": Model(predator_prey, (array(12, 2),)),
}
"""The models by the name that they have in a benchmark."""


def recipes() -> Iterator[Recipe]:
    """Yields the models of time series."""
    further = {
        "hvp": ("hmm",),
        "chains-grad": ("state-space", "stochastic-volatility", "predator-prey"),
    }
    yield from model_recipes(SERIES, further)
