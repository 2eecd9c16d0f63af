"""Bayesian regressions and hierarchies written in numpyro."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.handlers import reparam
from numpyro.infer.reparam import LocScaleReparam, TransformReparam
from recipe import Recipe, array
from sources.numpyro_models import INTEGERS, Model, model_recipes


def eight_schools(deviation: jax.Array, effect: jax.Array | None = None) -> None:
    """Models partial pooling of treatment effects (Rubin, 1981), centred."""
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", deviation.shape[0]):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("obs", dist.Normal(theta, deviation), obs=effect)


def logistic(inputs: jax.Array, labels: jax.Array | None = None) -> None:
    """Models a logistic regression with normal priors."""
    weights = numpyro.sample("w", dist.Normal(jnp.zeros(inputs.shape[1]), 1.0).to_event(1))
    intercept = numpyro.sample("b", dist.Normal(0, 10))
    with numpyro.plate("n", inputs.shape[0]):
        numpyro.sample("obs", dist.Bernoulli(logits=inputs @ weights + intercept), obs=labels)


def logistic_subsampled(inputs: jax.Array, labels: jax.Array) -> None:
    """Models a logistic regression on random subsets, for HMCECS and stochastic SVI."""
    weights = numpyro.sample("w", dist.Normal(jnp.zeros(inputs.shape[1]), 1.0).to_event(1))
    with numpyro.plate("n", inputs.shape[0], subsample_size=8):
        batch = numpyro.subsample(inputs, event_dim=1)
        observed = numpyro.subsample(labels, event_dim=0)
        numpyro.sample("obs", dist.Bernoulli(logits=batch @ weights), obs=observed)


def hierarchical(group: jax.Array, inputs: jax.Array, targets: jax.Array | None = None) -> None:
    """Models a regression whose slopes and intercepts vary by group and correlate (LKJ prior)."""
    scale = numpyro.sample("scale", dist.HalfNormal(jnp.ones(2)).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, concentration=2.0))
    mean = numpyro.sample("mean", dist.Normal(jnp.zeros(2), 5.0).to_event(1))
    with numpyro.plate("groups", 6):
        prior = dist.MultivariateNormal(mean, scale_tril=scale[:, None] * factor)
        coefficients = numpyro.sample("coefficients", prior)
    sigma = numpyro.sample("sigma", dist.Exponential(1.0))
    with numpyro.plate("n", inputs.shape[0]):
        line = coefficients[group, 0] + coefficients[group, 1] * inputs
        numpyro.sample("obs", dist.StudentT(4.0, line, sigma), obs=targets)


def horseshoe(inputs: jax.Array, targets: jax.Array | None = None) -> None:
    """Models a sparse regression with a regularised horseshoe prior."""
    features = inputs.shape[1]
    lambdas = numpyro.sample("lambdas", dist.HalfCauchy(jnp.ones(features)).to_event(1))
    tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
    slab = numpyro.sample("slab", dist.InverseGamma(2.0, 2.0))
    shrunk = jnp.sqrt(slab) * lambdas / jnp.sqrt(slab + tau**2 * lambdas**2)
    raw = numpyro.sample("raw", dist.Normal(jnp.zeros(features), 1.0).to_event(1))
    beta = numpyro.deterministic("beta", tau * shrunk * raw)
    precision = numpyro.sample("precision", dist.Gamma(3.0, 1.0))
    with numpyro.plate("n", inputs.shape[0]):
        noise = 1.0 / jnp.sqrt(precision)
        numpyro.sample("obs", dist.Normal(inputs @ beta, noise), obs=targets)


def bayesian_network(
    inputs: jax.Array, targets: jax.Array | None = None, widths: tuple[int, ...] = (8, 8)
) -> None:
    """Models a Bayesian neural network with tanh layers."""
    hidden = inputs
    for index, width in enumerate(widths):
        prior = dist.Normal(jnp.zeros((hidden.shape[-1], width)), 1.0).to_event(2)
        hidden = jnp.tanh(hidden @ numpyro.sample(f"w{index}", prior))
    last = numpyro.sample("last", dist.Normal(jnp.zeros((hidden.shape[-1], 1)), 1.0).to_event(2))
    precision = numpyro.sample("precision", dist.Gamma(3.0, 1.0))
    with numpyro.plate("n", inputs.shape[0]):
        noise = dist.Normal(hidden @ last, 1.0 / jnp.sqrt(precision)).to_event(1)
        numpyro.sample("obs", noise, obs=targets)


def gaussian_process(inputs: jax.Array, targets: jax.Array | None = None) -> None:
    """Models a Gaussian process regression, squared exponential kernel."""
    variance = numpyro.sample("variance", dist.LogNormal(0.0, 10.0))
    noise = numpyro.sample("noise", dist.LogNormal(0.0, 10.0))
    length = numpyro.sample("length", dist.LogNormal(0.0, 10.0))
    distance = ((inputs[:, None] - inputs) / length) ** 2
    kernel = variance * jnp.exp(-0.5 * distance) + (noise + 1e-6) * jnp.eye(inputs.shape[0])
    zeros = jnp.zeros(inputs.shape[0])
    numpyro.sample("obs", dist.MultivariateNormal(zeros, covariance_matrix=kernel), obs=targets)


def ordinal(inputs: jax.Array, grades: jax.Array | None = None) -> None:
    """Models an ordinal regression with ordered cut points."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    ordered = dist.transforms.OrderedTransform()
    base = dist.Normal(jnp.arange(4.0) - 2.0, 1.0).to_event(1)
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(base, ordered))
    with numpyro.plate("n", inputs.shape[0]):
        numpyro.sample("obs", dist.OrderedLogistic(slope * inputs, cuts), obs=grades)


def zero_inflated(inputs: jax.Array, counts: jax.Array | None = None) -> None:
    """Models a zero-inflated negative binomial regression."""
    weights = numpyro.sample("w", dist.Laplace(jnp.zeros((2, inputs.shape[1])), 1.0).to_event(2))
    concentration = numpyro.sample("concentration", dist.Gamma(2.0, 0.5))
    gate, rate = jax.nn.sigmoid(inputs @ weights[0]), jnp.exp(inputs @ weights[1])
    with numpyro.plate("n", inputs.shape[0]):
        base = dist.NegativeBinomial2(rate, concentration)
        numpyro.sample("obs", dist.ZeroInflatedDistribution(base, gate=gate), obs=counts)


def batting(at_bats: jax.Array, hits: jax.Array | None = None) -> None:
    """Models batting averages by a beta-binomial with partial pooling."""
    mean = numpyro.sample("m", dist.Uniform(0, 1))
    kappa = numpyro.sample("kappa", dist.Pareto(1.0, 1.5))
    with numpyro.plate("players", at_bats.shape[0]):
        chance = numpyro.sample("phi", dist.Beta(mean * kappa, (1 - mean) * kappa))
        numpyro.sample("obs", dist.Binomial(at_bats, probs=chance), obs=hits)


def item_response(student: jax.Array, item: jax.Array, right: jax.Array | None = None) -> None:
    """Models item response theory with two parameters and crossed random effects."""
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("students", 8):
        ability = numpyro.sample("ability", dist.Normal(0, spread))
    with numpyro.plate("items", 5):
        difficulty = numpyro.sample("difficulty", dist.Normal(0, 1))
        sharpness = numpyro.sample("sharpness", dist.LogNormal(0, 0.5))
    with numpyro.plate("n", student.shape[0]):
        logits = sharpness[item] * (ability[student] - difficulty[item])
        numpyro.sample("obs", dist.Bernoulli(logits=logits), obs=right)


NONCENTRED = {"theta": LocScaleReparam(0)}
REGRESSIONS: dict[str, Model] = {
    "eight-schools": Model(eight_schools, (array(8), array(8))),
    "eight-schools-noncentred": Model(reparam(eight_schools, NONCENTRED), (array(8), array(8))),
    "logistic": Model(logistic, (array(32, 5), array(32, dtype=INTEGERS))),
    "hierarchical-lkj": Model(hierarchical, (array(32, dtype=INTEGERS), array(32), array(32))),
    "horseshoe": Model(horseshoe, (array(24, 12), array(24))),
    "bayesian-network": Model(bayesian_network, (array(16, 3), array(16, 1))),
    "bayesian-network-l4": Model(
        partial(bayesian_network, widths=(8, 8, 8, 8)), (array(16, 3), array(16, 1))
    ),
    "regression-gp": Model(gaussian_process, (array(16), array(16))),
    "ordinal": Model(ordinal, (array(24), array(24, dtype=INTEGERS))),
    "ordinal-reparam": Model(
        reparam(ordinal, {"cuts": TransformReparam()}), (array(24), array(24, dtype=INTEGERS))
    ),
    "zero-inflated": Model(zero_inflated, (array(24, 3), array(24, dtype=INTEGERS))),
    "batting": Model(batting, (array(18, dtype=INTEGERS), array(18, dtype=INTEGERS))),
    "item-response": Model(item_response, (array(40, dtype=INTEGERS),) * 3),
}
"""The models by the name that they have in a benchmark."""

SUBSAMPLED = Model(logistic_subsampled, (array(32, 5), array(32)))
"""For inference alone: its density is random."""


def recipes() -> Iterator[Recipe]:
    """Yields the regressions and hierarchies."""
    further = {
        "hvp": ("logistic", "bayesian-network", "regression-gp"),
        "hessian": ("eight-schools", "ordinal", "hierarchical-lkj"),
        "chains-grad": ("horseshoe",),
        "prior": ("eight-schools", "hierarchical-lkj", "zero-inflated", "batting", "regression-gp"),
        "predictive": ("logistic", "bayesian-network", "horseshoe", "item-response", "ordinal"),
        "likelihood": ("hierarchical-lkj", "zero-inflated", "item-response", "regression-gp"),
    }
    yield from model_recipes(REGRESSIONS, further)
