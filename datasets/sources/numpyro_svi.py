"""Stochastic variational inference by numpyro: steps, loops and draws, by guide and loss."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
from jax.example_libraries import stax
from numpyro.infer import (
    SVI,
    RenyiELBO,
    Trace_ELBO,
    TraceGraph_ELBO,
    TraceMeanField_ELBO,
    autoguide,
)
from recipe import Recipe, array, key
from sources.numpyro_mcmc import MODELS
from sources.numpyro_models import LIBRARY, Model

LATENT = 4


def decoder() -> Any:
    """Returns the decoder of the variational autoencoder."""
    return stax.serial(stax.Dense(16), stax.Softplus, stax.Dense(36), stax.Sigmoid)


def encoder() -> Any:
    """Returns the encoder of the variational autoencoder: a mean and a scale."""
    ends = stax.parallel(stax.Dense(LATENT), stax.serial(stax.Dense(LATENT), stax.Exp))
    return stax.serial(stax.Dense(16), stax.Softplus, stax.FanOut(2), ends)


def vae_model(images: jax.Array) -> None:
    """Models pixels given codes, of a variational autoencoder."""
    decode: Any = numpyro.module("decoder", decoder(), (images.shape[0], LATENT))
    with numpyro.plate("batch", images.shape[0]):
        codes = numpyro.sample("z", dist.Normal(jnp.zeros(LATENT), 1.0).to_event(1))
        numpyro.sample("obs", dist.Bernoulli(decode(codes)).to_event(1), obs=images)


def vae_guide(images: jax.Array) -> None:
    """Models codes given pixels, of a variational autoencoder."""
    encode: Any = numpyro.module("encoder", encoder(), images.shape)
    mean, scale = encode(images)
    with numpyro.plate("batch", images.shape[0]):
        numpyro.sample("z", dist.Normal(mean, scale).to_event(1))


def logistic_guide(inputs: jax.Array, labels: jax.Array) -> None:
    """Guides by hand, with learned mean and factor of the covariance."""
    size = inputs.shape[1]
    mean = numpyro.param("mean", jnp.zeros(size))
    lower = dist.constraints.lower_cholesky
    factor = numpyro.param("factor", jnp.eye(size), constraint=lower)
    numpyro.sample("w", dist.MultivariateNormal(mean, scale_tril=factor))


VAE = Model(vae_model, (array(8, 36),))

GUIDES: dict[str, Callable[[Any], Any]] = {
    "normal": autoguide.AutoNormal,
    "delta": autoguide.AutoDelta,
    "diagonal": autoguide.AutoDiagonalNormal,
    "multivariate": autoguide.AutoMultivariateNormal,
    "low-rank": partial(autoguide.AutoLowRankMultivariateNormal, rank=2),
    "laplace": autoguide.AutoLaplaceApproximation,
    "iaf": partial(autoguide.AutoIAFNormal, num_flows=2, hidden_dims=[12, 12]),
    "bnaf": partial(autoguide.AutoBNAFNormal, num_flows=1, hidden_factors=[2, 2]),
    "dais": partial(autoguide.AutoDAIS, K=3),
    "batched": partial(autoguide.AutoBatchedMultivariateNormal, batch_ndim=0),
    "hand": lambda _: logistic_guide,
    "vae": lambda _: vae_guide,
}
"""Functions that make a guide from a model's function."""

OPTIMIZERS: dict[str, Any] = {
    "adam": numpyro.optim.Adam(1e-3),
    "clipped": numpyro.optim.ClippedAdam(1e-3),
    "adamw-clip": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)),
    "momentum": numpyro.optim.Momentum(1e-3, 0.9),
    "rmsprop": numpyro.optim.RMSPropMomentum(1e-3),
    "adagrad": numpyro.optim.Adagrad(1e-2),
    "minimize": numpyro.optim.Minimize(),
}
"""Optimizers; `minimize` is BFGS until it converges."""

LOSSES: dict[str, Any] = {
    "elbo": Trace_ELBO(),
    "elbo4": Trace_ELBO(num_particles=4),
    "elbo-loop": Trace_ELBO(num_particles=4, vectorize_particles=False),
    "meanfield": TraceMeanField_ELBO(),
    "graph": TraceGraph_ELBO(),
    "renyi": RenyiELBO(alpha=0.5, num_particles=4),
}
"""Losses: bounds of the evidence, with one particle or four."""


def lower_svi(model: Model, guide: str, optimizer: str, loss: str, kind: str) -> jax.stages.Lowered:
    """Lowers steps of stochastic variational inference.

    Args:
        model: Model and data.
        guide: A key of `GUIDES`.
        optimizer: A key of `OPTIMIZERS`.
        loss: A key of `LOSSES`.
        kind: `step`, `stable` (an update that leaves non-finite losses out), `loop` (20 steps in
            a scan) or `evaluate` (the loss alone).
    """
    fitted = GUIDES[guide](model.function)
    svi = SVI(model.function, fitted, OPTIMIZERS[optimizer], LOSSES[loss])
    state = jax.eval_shape(svi.init, key(), *model.data)

    def step(state: Any, *data: Any) -> Any:
        return svi.update(state, *data)

    def stable(state: Any, *data: Any) -> Any:
        return svi.stable_update(state, *data)

    def loop(state: Any, *data: Any) -> Any:
        return jax.lax.scan(lambda state, _: svi.update(state, *data), state, length=20)

    def evaluate(state: Any, *data: Any) -> Any:
        return svi.evaluate(state, *data), svi.get_params(state)

    programs = {"step": step, "stable": stable, "loop": loop, "evaluate": evaluate}
    return jax.jit(programs[kind]).lower(state, *model.data)


def lower_guide_samples(model: Model, guide: str) -> jax.stages.Lowered:
    """Lowers 16 posterior samples from an automatic guide, a key of `GUIDES`."""
    fitted = GUIDES[guide](model.function)
    svi = SVI(model.function, fitted, OPTIMIZERS["adam"], LOSSES["elbo"])
    params = jax.eval_shape(lambda *data: svi.get_params(svi.init(*data)), key(), *model.data)

    def draw(rng: jax.Array, params: Any) -> Any:
        return fitted.sample_posterior(rng, params, sample_shape=(16,))

    return jax.jit(draw).lower(key(), params)


def programs() -> list[tuple[str, str, str, str, str]]:
    """Returns model, guide, optimizer, loss and kind."""
    return [
        ("eight-schools-noncentred", "normal", "adam", "elbo", "step"),
        ("eight-schools", "iaf", "adam", "elbo", "step"),
        ("eight-schools", "bnaf", "adam", "elbo", "step"),
        ("logistic", "multivariate", "adam", "elbo4", "step"),
        ("logistic", "dais", "adam", "elbo", "step"),
        ("logistic", "laplace", "momentum", "elbo", "step"),
        ("logistic-subsampled", "hand", "adam", "meanfield", "step"),
        ("logistic-subsampled", "low-rank", "adagrad", "elbo", "loop"),
        ("hierarchical-lkj", "normal", "clipped", "graph", "step"),
        ("hierarchical-lkj", "batched", "adam", "elbo", "step"),
        ("horseshoe", "low-rank", "adamw-clip", "renyi", "step"),
        ("horseshoe", "diagonal", "rmsprop", "elbo-loop", "step"),
        ("bayesian-network", "normal", "adam", "meanfield", "loop"),
        ("bayesian-network-l4", "diagonal", "adamw-clip", "elbo4", "step"),
        ("regression-gp", "delta", "minimize", "elbo", "step"),
        ("stochastic-volatility", "normal", "adam", "elbo", "stable"),
        ("hmm", "normal", "clipped", "elbo", "loop"),
        ("hmm", "delta", "adamw-clip", "elbo", "step"),
        ("state-space", "multivariate", "adam", "elbo", "step"),
        ("autoregression", "diagonal", "clipped", "elbo", "step"),
        ("mixture", "delta", "adam", "elbo", "loop"),
        ("mixture", "normal", "adamw-clip", "renyi", "evaluate"),
        ("stick-breaking", "diagonal", "adam", "graph", "step"),
        ("topics", "normal", "adamw-clip", "elbo", "step"),
        ("topics", "delta", "adam", "elbo", "stable"),
        ("ordinal-reparam", "multivariate", "momentum", "renyi", "step"),
        ("zero-inflated", "bnaf", "clipped", "elbo", "step"),
        ("batting", "normal", "adam", "graph", "loop"),
        ("predator-prey", "diagonal", "adam", "elbo", "step"),
        ("covariance", "dais", "adamw-clip", "elbo", "step"),
        ("item-response", "normal", "adam", "meanfield", "step"),
        ("item-response", "low-rank", "rmsprop", "elbo-loop", "loop"),
        ("vae", "vae", "adam", "elbo", "step"),
        ("vae", "vae", "adamw-clip", "meanfield", "loop"),
        ("vae", "vae", "clipped", "renyi", "step"),
        ("vae", "vae", "momentum", "elbo", "evaluate"),
    ]


def recipes() -> Iterator[Recipe]:
    """Yields variational inference."""
    models = {**MODELS, "vae": VAE}
    for model, guide, optimizer, loss, kind in programs():
        words = f"guide {guide}, optimizer {optimizer}, loss {loss}, {kind}"
        yield Recipe(
            name=f"svi/{model}/{kind}-{guide}-{optimizer}-{loss}",
            family="svi",
            library=LIBRARY,
            recipe=f"numpyro SVI of {model}: {words}",
            lower=partial(lower_svi, models[model], guide, optimizer, loss, kind),
            scope="algorithm" if kind == "evaluate" else "training-step",
        )
    for model, guide in (("eight-schools", "iaf"), ("hierarchical-lkj", "laplace")):
        yield Recipe(
            name=f"svi/{model}/sample-{guide}",
            family="svi",
            library=LIBRARY,
            recipe=f"16 draws from guide {guide}, {model}",
            lower=partial(lower_guide_samples, models[model], guide),
            scope="algorithm",
        )
