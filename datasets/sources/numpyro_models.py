"""Bayesian mixtures and distributions written in numpyro: densities, derivatives, predictions.

How a model is lowered, and the recipes' form, are here too, for the files with further models.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import Predictive, log_likelihood
from numpyro.infer.util import initialize_model, log_density, potential_energy
from recipe import Recipe, array, key

LIBRARY = "numpyro"
INTEGERS = jnp.int32


class Model(NamedTuple):
    """A model with its abstract data."""

    function: Callable[..., Any]
    data: tuple[Any, ...]


def mixture(points: jax.Array) -> None:
    """Models a mixture of normals with unknown means, scales and weights."""
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(3)))
    with numpyro.plate("components", 3):
        means = numpyro.sample("means", dist.MultivariateNormal(jnp.zeros(2), 5 * jnp.eye(2)))
        scales = numpyro.sample("scales", dist.LogNormal(0.0, 2.0))
    parts = dist.Normal(means, scales[:, None]).to_event(1)
    with numpyro.plate("n", points.shape[0]):
        mixed = dist.MixtureSameFamily(dist.Categorical(probs=weights), parts)
        numpyro.sample("obs", mixed, obs=points)


def stick_breaking(counts: jax.Array) -> None:
    """Models a Dirichlet process mixture of Poissons, truncated at 6 components."""
    with numpyro.plate("sticks", 5):
        beta = numpyro.sample("beta", dist.Beta(1, 1.5))
    with numpyro.plate("components", 6):
        rate = numpyro.sample("rate", dist.Gamma(10.0, 0.5))
    remaining = jnp.cumprod(1 - beta)
    weights = jnp.append(beta, 1.0) * jnp.append(1.0, remaining)
    with numpyro.plate("n", counts.shape[0]):
        chosen = dist.Categorical(probs=weights)
        numpyro.sample("obs", dist.MixtureSameFamily(chosen, dist.Poisson(rate)), obs=counts)


def topics(words: jax.Array) -> None:
    """Models latent Dirichlet allocation with the topic of each word summed out."""
    documents, _ = words.shape
    with numpyro.plate("topics", 4):
        vocabulary = numpyro.sample("vocabulary", dist.Dirichlet(jnp.full(16, 0.2)))
    with numpyro.plate("documents", documents, dim=-2):
        shares = numpyro.sample("shares", dist.Dirichlet(jnp.full(4, 0.5)))
        with numpyro.plate("words", words.shape[1], dim=-1):
            numpyro.sample("word", dist.Categorical(probs=shares @ vocabulary), obs=words)


def funnel() -> None:
    """Models Neal's funnel in ten dimensions."""
    scale = numpyro.sample("y", dist.Normal(0, 3))
    numpyro.sample("x", dist.Normal(jnp.zeros(9), jnp.exp(scale / 2)).to_event(1))


def covariance(points: jax.Array) -> None:
    """Models the covariance of data with a Wishart prior and Student-t tails."""
    size = points.shape[1]
    precision = numpyro.sample("precision", dist.Wishart(size + 2.0, jnp.eye(size)))
    degrees = numpyro.sample("df", dist.Gamma(2.0, 0.1))
    factor = jnp.linalg.cholesky(jnp.linalg.inv(precision))
    with numpyro.plate("n", points.shape[0]):
        prior = dist.MultivariateStudentT(degrees, jnp.zeros(size), factor)
        numpyro.sample("obs", prior, obs=points)


def copula(points: jax.Array) -> None:
    """Models a Gaussian copula with beta margins."""
    shape = numpyro.sample("shape", dist.HalfNormal(jnp.full((2, 2), 2.0)).to_event(2))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, concentration=1.0))
    margins = dist.Beta(shape[0] + 0.5, shape[1] + 0.5)
    with numpyro.plate("n", points.shape[0]):
        joint = dist.GaussianCopula(margins, correlation_cholesky=factor)
        numpyro.sample("obs", joint, obs=points)


MIXTURES: dict[str, Model] = {
    "mixture": Model(mixture, (array(32, 2),)),
    "stick-breaking": Model(stick_breaking, (array(32, dtype=INTEGERS),)),
    "topics": Model(topics, (array(6, 20, dtype=INTEGERS),)),
    "funnel": Model(funnel, ()),
    "covariance": Model(covariance, (array(16, 3),)),
    "copula": Model(copula, (array(24, 2),)),
}
"""The models by the name that they have in a benchmark."""


def unconstrained(model: Model) -> Any:
    """Returns the abstract unconstrained parameters of a model."""

    def start(rng: jax.Array, *data: Any) -> Any:
        # The values do not matter, so no search for a finite density.
        info = initialize_model(rng, model.function, model_args=data, validate_grad=False)
        return info.param_info.z

    return jax.eval_shape(start, key(), *model.data)


def lower_density(model: Model, kind: str) -> jax.stages.Lowered:
    """Lowers the potential energy of a model in unconstrained space.

    Args:
        model: The model.
        kind: `grad` (value and gradient), `hessian`, `hvp` (Hessian-vector product) or
            `chains-grad` (the gradient for 4 chains under `vmap`).
    """
    params = unconstrained(model)

    def energy(params: Any, *data: Any) -> jax.Array:
        return potential_energy(model.function, data, {}, params)

    if kind == "hvp":

        def product(params: Any, direction: Any, *data: Any) -> Any:
            def gradient(params: Any) -> Any:
                return jax.grad(energy)(params, *data)

            return jax.jvp(gradient, (params,), (direction,))[1]

        return jax.jit(product).lower(params, params, *model.data)
    if kind == "chains-grad":
        axes = (0, *(None for _ in model.data))
        params = jax.tree.map(lambda leaf: array(4, *leaf.shape), params)
        return jax.jit(jax.vmap(jax.value_and_grad(energy), axes)).lower(params, *model.data)
    transform = {"grad": jax.value_and_grad, "hessian": jax.hessian}[kind]
    return jax.jit(transform(energy)).lower(params, *model.data)


def lower_samples(model: Model, kind: str) -> jax.stages.Lowered:
    """Lowers what is done with posterior samples, or draws from the prior.

    Args:
        model: The model, whose last argument is what it observes.
        kind: `prior` (8 draws from the prior), `predictive` (predictions for 8 posterior samples)
            or `likelihood` (the log density of a sample and pointwise likelihoods of 8).
    """

    def draw(rng: jax.Array, *data: Any) -> Any:
        return Predictive(model.function, num_samples=8)(rng, *data[:-1])

    if kind == "prior":
        return jax.jit(draw).lower(key(), *model.data)
    samples = jax.eval_shape(draw, key(), *model.data)
    samples = {name: leaf for name, leaf in samples.items() if name != "obs"}

    def predict(rng: jax.Array, samples: Any, *data: Any) -> Any:
        return Predictive(model.function, samples)(rng, *data[:-1])

    def likelihood(rng: jax.Array, samples: Any, *data: Any) -> Any:
        first = jax.tree.map(lambda leaf: leaf[0], samples)
        density = log_density(model.function, data, {}, first)[0]
        return density, log_likelihood(model.function, samples, *data)

    program = predict if kind == "predictive" else likelihood
    return jax.jit(program).lower(key(), samples, *model.data)


SAMPLE_KINDS = ("prior", "predictive", "likelihood")
"""The kinds of `lower_samples`; the others are those of `lower_density`."""


def model_recipes(
    models: Mapping[str, Model], further: Mapping[str, tuple[str, ...]]
) -> Iterator[Recipe]:
    """Yields the recipes of models.

    Args:
        models: The models by name; each has its gradient lowered.
        further: Further kinds of programs, with the names of the models that have them.
    """
    for kind, names in {"grad": tuple(models), **further}.items():
        lower = lower_samples if kind in SAMPLE_KINDS else lower_density
        for name in names:
            yield Recipe(
                name=f"bayes-model/{name}/{kind}",
                family="bayes-model",
                library=LIBRARY,
                recipe=f"numpyro model {name}; {kind}",
                lower=partial(lower, models[name], kind),
                scope="model",
            )


def recipes() -> Iterator[Recipe]:
    """Yields the mixtures and distributions."""
    yield from model_recipes(MIXTURES, {"hvp": ("mixture",)})
