"""Algorithms of jax itself: linear algebra, transforms, sorting, minimisation, random numbers."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import sparse
from jax.experimental.ode import odeint
from jax.scipy import linalg, signal, special, stats
from jax.scipy.optimize import minimize
from jax.scipy.sparse.linalg import bicgstab, cg, gmres
from recipe import Recipe, array, key

LIBRARY = "jax"
SQUARE = array(6, 6)
VECTOR = array(6)
STACK = array(3, 6, 6)

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def rosenbrock(x: jax.Array) -> jax.Array:
    """Returns the banana function that minimisers are tried on."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def lotka_volterra(state: jax.Array, _: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the growth of prey and predators."""
    prey, predators = state
    return jnp.array(
        [
            rates[0] * prey - rates[1] * prey * predators,
            rates[2] * prey * predators - rates[3] * predators,
        ]
    )


def integrate(start: jax.Array, times: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns a trajectory of `lotka_volterra`."""
    return odeint(lotka_volterra, start, times, rates)


def symmetric(matrix: jax.Array) -> jax.Array:
    """Returns a positive definite matrix."""
    return matrix @ jnp.swapaxes(matrix, -1, -2) + jnp.eye(matrix.shape[-1])


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the gradient of the sum of a function's results."""

    def total(first: Any, *others: Any) -> jax.Array:
        return sum(jnp.sum(jnp.abs(leaf)) for leaf in jax.tree.leaves(function(first, *others)))

    return jax.grad(total)


LINEAR_ALGEBRA: dict[str, Program] = {
    "cholesky-grad": (summed(lambda a: linalg.cholesky(symmetric(a))), (SQUARE,)),
    "cholesky-batched": (
        lambda a, b: linalg.cho_solve((linalg.cholesky(symmetric(a)), False), b),
        (STACK, STACK),
    ),
    "lu-solve": (lambda a, b: linalg.solve(a, b), (SQUARE, VECTOR)),
    "lu-solve-grad": (summed(linalg.solve), (SQUARE, VECTOR)),
    "qr": (jnp.linalg.qr, (array(8, 5),)),
    "qr-grad": (summed(jnp.linalg.qr), (array(8, 5),)),
    "svd": (partial(jnp.linalg.svd, full_matrices=False), (array(8, 5),)),
    "pinv": (jnp.linalg.pinv, (array(8, 5),)),
    "lstsq": (lambda a, b: jnp.linalg.lstsq(a, b)[0], (array(8, 5), array(8))),
    "eigh-grad": (summed(lambda a: jnp.linalg.eigh(symmetric(a))), (SQUARE,)),
    "expm": (linalg.expm, (SQUARE,)),
    "polar": (lambda a: linalg.polar(a)[0], (SQUARE,)),
    "slogdet": (jnp.linalg.slogdet, (STACK,)),
    "toeplitz-solve": (lambda c, b: linalg.solve(linalg.toeplitz(c), b), (VECTOR, VECTOR)),
    "spectral-norm": (lambda a: jnp.linalg.norm(a, ord=2, axis=(-2, -1)), (STACK,)),
}
TRANSFORMS: dict[str, Program] = {
    "fft-filter": (
        lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(-jnp.arange(17.0)), n=32),
        (array(4, 32),),
    ),
    "fft2-grad": (summed(lambda x: jnp.abs(jnp.fft.fft2(x))), (array(8, 8),)),
    "stft": (lambda x: signal.stft(x, nperseg=16)[2], (array(2, 64),)),
    "welch": (lambda x: signal.welch(x, nperseg=16)[1], (array(2, 64),)),
    "convolve-fft": (lambda x, y: signal.fftconvolve(x, y, mode="same"), (array(32), array(7))),
    "resize-cubic": (lambda x: jax.image.resize(x, (24, 20, 3), "bicubic"), (array(12, 12, 3),)),
    "map-coordinates": (
        lambda x, c: jax.scipy.ndimage.map_coordinates(x, [c[0], c[1]], order=1, mode="wrap"),
        (array(9, 9), array(2, 20)),
    ),
    "dct": (jax.scipy.fft.dct, (array(4, 16),)),
}
SORTING: dict[str, Program] = {
    "lexsort": (lambda a, b: jnp.lexsort((a, b)), (array(40), array(40))),
    "unique": (partial(jnp.unique, size=16, return_counts=True), (array(40, dtype=jnp.int32),)),
    "quantiles": (lambda x: jnp.quantile(x, jnp.array([0.1, 0.5, 0.9]), axis=0), (array(20, 4),)),
    "histogram": (lambda x: jnp.histogram(x, bins=12)[0], (array(50),)),
    "searchsorted": (lambda a, v: jnp.searchsorted(jnp.sort(a), v), (array(32), array(9))),
    "rank-correlation": (
        lambda x: jnp.corrcoef(jnp.argsort(jnp.argsort(x, axis=1), axis=1)),
        (array(4, 20),),
    ),
    "cumulative": (
        lambda x: jax.lax.associative_scan(jnp.maximum, jnp.cumsum(x, axis=0)),
        (array(21, 3),),
    ),
    "set-intersection": (
        lambda a, b: jnp.intersect1d(a, b, size=10, fill_value=-1),
        (array(20, dtype=jnp.int32),) * 2,
    ),
    "mode": (lambda x: stats.mode(x, axis=0), (array(12, 5, dtype=jnp.int32),)),
}
MINIMISATION: dict[str, Program] = {
    "bfgs": (lambda x: minimize(rosenbrock, x, method="BFGS").x, (VECTOR,)),
    "bfgs-hessian": (
        lambda x: jnp.linalg.eigvalsh(
            jax.hessian(rosenbrock)(minimize(rosenbrock, x, method="BFGS").x)
        ),
        (VECTOR,),
    ),
    "newton": (
        lambda x: jax.lax.fori_loop(
            0,
            8,
            lambda _, y: y - linalg.solve(jax.hessian(rosenbrock)(y), jax.grad(rosenbrock)(y)),
            x,
        ),
        (VECTOR,),
    ),
    "cg": (lambda a, b: cg(lambda x: symmetric(a) @ x, b)[0], (SQUARE, VECTOR)),
    "cg-grad": (summed(lambda b, a: cg(lambda x: symmetric(a) @ x, b)[0]), (VECTOR, SQUARE)),
    "bicgstab": (lambda a, b: bicgstab(lambda x: a @ x, b)[0], (SQUARE, VECTOR)),
    "gmres-batched": (
        lambda a, b: gmres(lambda x: a @ x, b, solve_method="batched")[0],
        (SQUARE, VECTOR),
    ),
    "gmres-incremental": (
        lambda a, b: gmres(lambda x: a @ x, b, solve_method="incremental")[0],
        (SQUARE, VECTOR),
    ),
    "odeint": (integrate, (array(2), array(10), array(4))),
    "odeint-grad": (summed(integrate), (array(2), array(10), array(4))),
}
RANDOM: dict[str, Program] = {
    "gamma": (lambda k, a: jax.random.gamma(k, a), (key(), array(8))),
    "gamma-grad": (
        lambda a, k: jax.grad(lambda a: jax.random.gamma(k, a).sum())(a),
        (array(8), key()),
    ),
    "poisson": (lambda k, a: jax.random.poisson(k, a), (key(), array(8))),
    "binomial": (lambda k, n, p: jax.random.binomial(k, n, p), (key(), array(8), array(8))),
    "multivariate-normal": (
        lambda k, m, a: jax.random.multivariate_normal(k, m, symmetric(a)),
        (key(), VECTOR, SQUARE),
    ),
    "permutation-choice": (
        lambda k, x: jax.random.choice(k, x, (5,), replace=False),
        (key(), array(20)),
    ),
    "orthogonal": (lambda k: jax.random.orthogonal(k, 5), (key(),)),
    "rbg-normal": (lambda k: jax.random.normal(k, (4, 8)), (key("rbg"),)),
    "categorical-gumbel": (
        lambda k, x: jax.random.categorical(k, x, axis=-1),
        (key(), array(6, 9)),
    ),
    "truncated-beta": (
        lambda k, a, b: jax.random.truncated_normal(k, -1.0, 1.0, (3,)) * jax.random.beta(k, a, b),
        (key(), array(3), array(3)),
    ),
}
SPECIAL: dict[str, Program] = {
    "betainc-grad": (
        summed(lambda x, a, b: special.betainc(a, b, x)),
        (array(5), array(5), array(5)),
    ),
    "gammainc": (special.gammainc, (array(5), array(5))),
    "bessel": (lambda x: special.i0e(x) + special.i1e(x), (array(7),)),
    "zeta-polygamma": (lambda x: special.zeta(x, 2.0) + special.polygamma(1, x), (array(7),)),
    "legendre": (
        lambda x: special.lpmn_values(3, 3, x, is_normalized=True),
        (array(4),),
    ),
    "log-densities": (lambda x: stats.t.logpdf(x, 3.0) + jnp.log(stats.norm.sf(x)), (array(9),)),
    "kde": (lambda x, y: stats.gaussian_kde(x).evaluate(y), (array(2, 20), array(2, 5))),
}
SPARSE: dict[str, Program] = {
    "bcoo-matvec": (
        lambda d, i, v: sparse.BCOO((d, i), shape=(10, 8)) @ v,
        (array(20), array(20, 2, dtype=jnp.int32), array(8)),
    ),
    "bcoo-grad": (
        summed(lambda d, i, v: sparse.BCOO((d, i), shape=(10, 8)) @ v),
        (array(20), array(20, 2, dtype=jnp.int32), array(8, 3)),
    ),
    "bcoo-sum-duplicates": (
        lambda d, i: sparse.BCOO((d, i), shape=(10, 8)).sum_duplicates(nse=16).todense(),
        (array(20), array(20, 2, dtype=jnp.int32)),
    ),
}
FAMILIES: dict[str, dict[str, Program]] = {
    "dense-linear-algebra": LINEAR_ALGEBRA,
    "signal-transform": TRANSFORMS,
    "sorting": SORTING,
    "minimisation": MINIMISATION,
    "random-variates": RANDOM,
    "special-functions": SPECIAL,
    "sparse-linear-algebra": SPARSE,
}


BATCHED = ("minimisation",)
"""Families whose loops are lowered under `vmap` too, which changes their conditions and bodies."""


def recipes() -> Iterator[Recipe]:
    """Yields every recipe over jax alone."""
    for family, programs in FAMILIES.items():
        for model, (function, arguments) in programs.items():
            variants = {"one": partial(lower, function, arguments)}
            if family in BATCHED:
                variants["vmap"] = partial(lower_batched, function, arguments)
            for variant, lowering in variants.items():
                yield Recipe(
                    name=f"{family}/{model}/{variant}",
                    family=family,
                    library=LIBRARY,
                    recipe=f"{model} of jax on {described(arguments)}; {variant}",
                    lower=lowering,
                    scope="algorithm",
                )


def described(arguments: tuple[Any, ...]) -> str:
    """Returns the shapes of arguments in words."""
    return ", ".join(str(argument.shape) for argument in arguments)


def lower(function: Callable[..., Any], arguments: tuple[Any, ...]) -> jax.stages.Lowered:
    """Lowers a function of arrays."""
    return jax.jit(function).lower(*arguments)


def lower_batched(
    function: Callable[..., Any], arguments: tuple[Any, ...], size: int = 4
) -> jax.stages.Lowered:
    """Lowers a function under `vmap` over all of its arguments."""
    return lower(jax.vmap(function), tuple(array(size, *a.shape, dtype=a.dtype) for a in arguments))
