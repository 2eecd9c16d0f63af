"""Gaussian processes of tinygp with hundreds of points, and a sparse one written out."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.scipy import linalg
from recipe import Recipe, array, key
from sources.tinygp_kernels import KERNELS, PARAMS
from speed.programs import Program, program_recipes
from tinygp import GaussianProcess, noise

LIBRARY = "tinygp"
FAMILY = "gaussian-process"


def process(name: str, params: Any, points: jax.Array) -> GaussianProcess:
    """Returns a Gaussian process with a kernel by name; its parameters are logarithms."""
    kernel = jnp.exp(params["scale"]) * KERNELS[name](params, jnp.exp(params["length"]))
    diagonal = noise.Diagonal(jnp.full(len(points), jnp.exp(params["noise"])))
    mean = params["shape"][2]
    # The check of the order would call back to Python, which a stored module cannot.
    options = {"assume_sorted": True} if name.startswith("qs-") else {}
    return GaussianProcess(kernel, points, noise=diagonal, mean=mean, **options)


def placed(name: str, points: jax.Array) -> jax.Array:
    """Returns points as the kernel takes them: quasiseparable ones want them in order."""
    return jnp.sort(points) if name.startswith("qs-") else points


def likelihood(name: str) -> Callable[..., Any]:
    """Returns the negative log likelihood as a function of parameters, points and values."""

    def loss(params: Any, points: jax.Array, values: jax.Array) -> jax.Array:
        return -process(name, params, placed(name, points)).log_probability(values)

    return loss


def gradient(name: str) -> Callable[..., Any]:
    """Returns the negative log likelihood with its gradient."""
    return jax.value_and_grad(likelihood(name))


def conditioned(name: str) -> Callable[..., Any]:
    """Returns mean and variance at new points."""

    def condition(params: Any, points: jax.Array, values: jax.Array, new: jax.Array) -> Any:
        posterior = process(name, params, placed(name, points))
        value, at_new = posterior.condition(values, placed(name, new))
        return value, at_new.loc, at_new.variance

    return condition


def predicted(name: str) -> Callable[..., Any]:
    """Returns mean and covariance at new points."""

    def predict(params: Any, points: jax.Array, values: jax.Array, new: jax.Array) -> Any:
        return process(name, params, points).predict(values, new, return_cov=True)

    return predict


def sampled(name: str) -> Callable[..., Any]:
    """Returns 16 draws of the process."""

    def sample(params: Any, points: jax.Array, rng: jax.Array) -> jax.Array:
        return process(name, params, points).sample(rng, (16,))

    return sample


def fitted(name: str, steps: int) -> Callable[..., Any]:
    """Returns a fit of the parameters by some steps of Adam in a scan."""
    transform = optax.adam(1e-2)

    def fit(params: Any, points: jax.Array, values: jax.Array) -> Any:
        def body(carry: Any, _: None) -> Any:
            params, state = carry
            value, slope = gradient(name)(params, points, values)
            updates, state = transform.update(slope, state, params)
            return (optax.apply_updates(params, updates), state), value

        return jax.lax.scan(body, (params, transform.init(params)), length=steps)

    return fit


def inducing(params: Any, points: jax.Array, values: jax.Array, centres: jax.Array) -> Any:
    """Returns the bound of a sparse process (Titsias, 2009) and its gradient."""

    def kernel(length: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        apart = jnp.sum(first**2, 1)[:, None] + jnp.sum(second**2, 1) - 2 * first @ second.T
        return jnp.exp(-0.5 * apart / jnp.exp(length))

    def bound(params: Any, centres: jax.Array) -> jax.Array:
        spread = jnp.exp(params["noise"])
        factor = linalg.cholesky(
            kernel(params["length"], centres, centres) + 1e-3 * jnp.eye(len(centres)), lower=True
        )
        across = kernel(params["length"], centres, points)
        white = linalg.solve_triangular(factor, across, lower=True) / jnp.sqrt(spread)
        inner = linalg.cholesky(jnp.eye(len(centres)) + white @ white.T, lower=True)
        seen = linalg.solve_triangular(inner, white @ values, lower=True) / jnp.sqrt(spread)
        fit = 0.5 * (values @ values / spread - seen @ seen)
        size = jnp.sum(jnp.log(jnp.diagonal(inner))) + 0.5 * len(values) * params["noise"]
        return fit + size + 0.5 * (len(values) / spread - jnp.sum(white**2))

    return jax.value_and_grad(bound, (0, 1))(params, centres)


def recipes() -> Iterator[Recipe]:
    """Yields the Gaussian processes."""

    def cloud(count: int, *more: Any) -> tuple[Any, ...]:
        return PARAMS, array(count, 3), array(count), *more

    def series(count: int, *more: Any) -> tuple[Any, ...]:
        return PARAMS, array(count), array(count), *more

    programs = (
        ("exp-squared/grad-n512", "exp-squared", gradient("exp-squared"), cloud(512)),
        ("exp/condition-n512", "exp", conditioned("exp"), cloud(512, array(256, 3))),
        ("rational/fit10-n256", "rational", fitted("rational", 10), cloud(256)),
        (
            "subspace/predict-n384",
            "product of axes",
            predicted("subspace"),
            cloud(384, array(128, 3)),
        ),
        (
            "exp-squared/sample-n512",
            "exp-squared",
            sampled("exp-squared"),
            (PARAMS, array(512, 3), key()),
        ),
        ("custom/grad-n256", "custom", gradient("custom"), cloud(256)),
        ("qs-matern52/grad-n4096", "quasiseparable", gradient("qs-matern52"), series(4096)),
        ("qs-sho/likelihood-n8192", "quasiseparable", likelihood("qs-sho"), series(8192)),
        (
            "qs-matern32/condition-n2048",
            "quasiseparable",
            conditioned("qs-matern32"),
            series(2048, array(512)),
        ),
        ("inducing/grad-n8192-m64", "sparse", inducing, cloud(8192, array(64, 3))),
    )
    for name, kernel, function, arguments in programs:
        words = f"tinygp, {kernel}: {name.rsplit('/', 1)[1]}"
        program = Program(f"{FAMILY}/{name}", words, function, arguments)
        yield from program_recipes("jax" if function is inducing else LIBRARY, [program])
