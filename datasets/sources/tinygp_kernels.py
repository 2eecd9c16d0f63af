"""Gaussian processes of tinygp: likelihoods, predictions and fits, dense and quasiseparable."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, Scope, array, key
from tinygp import GaussianProcess, kernels, noise, transforms

LIBRARY = "tinygp"
POINTS, NEW = 24, 6
PARAMS = {"scale": array(), "length": array(), "noise": array(), "shape": array(3)}


def dense_kernels() -> dict[str, Callable[[Any, jax.Array], Any]]:
    """Returns kernels of points with three coordinates, made of parameters and a length."""
    return {
        "exp": lambda p, s: kernels.Exp(s),
        "exp-squared": lambda p, s: kernels.ExpSquared(s, distance=kernels.L2Distance()),
        "matern32-l1": lambda p, s: kernels.Matern32(s, distance=kernels.L1Distance()),
        "matern52": lambda p, s: kernels.Matern52(s),
        "rational": lambda p, s: kernels.RationalQuadratic(s, alpha=jnp.exp(p["shape"][0])),
        "periodic": lambda p, s: kernels.ExpSineSquared(s, gamma=jnp.exp(p["shape"][0])),
        "polynomial": lambda p, s: kernels.Polynomial(order=3.0, scale=s, sigma=p["shape"][0]),
        "sum": lambda p, s: kernels.ExpSquared(s) + p["shape"][0] ** 2 * kernels.Cosine(s),
        "product": lambda p, s: kernels.Matern32(s) * kernels.DotProduct() + kernels.Constant(s),
        "linear": lambda p, s: transforms.Linear(jnp.exp(p["shape"]), kernels.Matern52(s)),
        "cholesky": lambda p, s: transforms.Cholesky(
            jnp.diag(jnp.exp(p["shape"])) + 0.1 * jnp.tri(3), kernels.ExpSquared(s)
        ),
        "subspace": lambda p, s: (
            transforms.Subspace(0, kernels.Matern32(s))
            * transforms.Subspace(1, kernels.ExpSineSquared(s, gamma=p["shape"][1] ** 2))
        ),
        "custom": lambda p, s: kernels.Custom(
            lambda x, y: jnp.exp(-jnp.abs(x - y).sum() / s) * jnp.dot(x, y)
        ),
    }


def series_kernels() -> dict[str, Callable[[Any, jax.Array], Any]]:
    """Returns quasiseparable kernels of one coordinate, in sorted order."""
    quasisep = kernels.quasisep

    def celerite(params: Any, length: jax.Array) -> Any:
        shape = jnp.exp(params["shape"])
        return quasisep.Celerite(a=shape[0] + 1.0, b=0.1 * shape[1], c=length, d=0.1 * shape[2])

    return {
        "qs-exp": lambda p, s: quasisep.Exp(s),
        "qs-matern32": lambda p, s: quasisep.Matern32(s),
        "qs-matern52": lambda p, s: quasisep.Matern52(s),
        "qs-cosine": lambda p, s: quasisep.Cosine(s) * quasisep.Exp(jnp.exp(p["shape"][0])),
        "qs-sho": lambda p, s: quasisep.SHO(omega=s, quality=jnp.exp(p["shape"][0])),
        "qs-celerite": celerite,
    }


KERNELS = dense_kernels() | series_kernels()


def lower_process(name: str, kind: str) -> jax.stages.Lowered:
    """Lowers a computation with a Gaussian process.

    Args:
        name: A key of `KERNELS`.
        kind: `likelihood`, `grad`, `condition` (mean and variance at new points), `predict` (mean
            and covariance), `sample`, `train` (a step of Adam), `fit` (30 of them in a scan).
    """
    series = name.startswith("qs-")
    points = array(POINTS) if series else array(POINTS, 3)
    new = array(NEW) if series else array(NEW, 3)
    transform = optax.adam(1e-2)

    def process(params: Any, points: jax.Array) -> GaussianProcess:
        kernel = jnp.exp(params["scale"]) * KERNELS[name](params, jnp.exp(params["length"]))
        diagonal = noise.Diagonal(jnp.full(POINTS, jnp.exp(params["noise"])))
        return GaussianProcess(kernel, points, noise=diagonal, mean=params["shape"][2])

    def loss(params: Any, points: jax.Array, values: jax.Array) -> jax.Array:
        return -process(params, points).log_probability(values)

    def condition(params: Any, points: jax.Array, values: jax.Array, new: jax.Array) -> Any:
        value, conditioned = process(params, points).condition(values, new)
        return value, conditioned.loc, conditioned.variance

    def predict(params: Any, points: jax.Array, values: jax.Array, new: jax.Array) -> Any:
        return process(params, points).predict(values, new, return_cov=True)

    def sample(params: Any, points: jax.Array, values: jax.Array, rng: Any) -> Any:
        return process(params, points).sample(rng, (4,))

    def train(params: Any, points: jax.Array, values: jax.Array, state: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, points, values)
        updates, state = transform.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    def fit(params: Any, points: jax.Array, values: jax.Array, state: Any) -> Any:
        def body(carry: Any, _: None) -> Any:
            *carry, value = train(carry[0], points, values, carry[1])
            return tuple(carry), value

        return jax.lax.scan(body, (params, state), length=30)

    state = jax.eval_shape(transform.init, PARAMS)
    programs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "likelihood": (loss, ()),
        "grad": (jax.value_and_grad(loss), ()),
        "condition": (condition, (new,)),
        "predict": (predict, (new,)),
        "sample": (sample, (key(),)),
        "train": (train, (state,)),
        "fit": (fit, (state,)),
    }
    program, rest = programs[kind]
    return jax.jit(program).lower(PARAMS, points, array(POINTS), *rest)


def recipes() -> Iterator[Recipe]:
    """Yields every tinygp recipe."""
    dense = ("train", "condition", "fit", "grad", "predict", "sample")
    series = ("train", "condition", "grad", "sample", "fit", "likelihood")
    for index, name in enumerate(KERNELS):
        separable = name.startswith("qs-")
        family, kinds = ("gp-quasiseparable", series) if separable else ("gp-tinygp", dense)
        chosen = kinds[:4] if separable else (kinds[index % 6], kinds[(index + 1) % 6])
        for kind in chosen:
            scope: Scope = "training-step" if kind in ("train", "fit") else "model"
            yield Recipe(
                name=f"{family}/{name}/{kind}",
                family=family,
                library=LIBRARY,
                recipe=f"tinygp kernel {name}, {POINTS} points; {kind}",
                lower=partial(lower_process, name, kind),
                scope=scope,
            )
