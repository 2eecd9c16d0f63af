"""Tools of ott-jax: Sinkhorn divergences, soft sorting, slices, assignment and clusters."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from ott.problems.linear import linear_problem
from ott.solvers.linear import univariate
from ott.tools import k_means, sinkhorn_divergence, sliced, soft_sort, unreg
from recipe import Recipe, array, key
from sources.ott_problems import (
    CLOUDS,
    FIRST,
    SECOND,
    WIDTH,
    Program,
    cloud,
    gradient,
    group_recipes,
)


def tools() -> dict[str, Program]:
    """Returns Sinkhorn divergences, sorting and other tools."""

    def divergence(first: jax.Array, second: jax.Array, **options: Any) -> Any:
        return sinkhorn_divergence.sinkdiv(first, second, epsilon=0.1, **options)

    def clusters(points: jax.Array, rng: jax.Array) -> Any:
        output = k_means.k_means(points, k=3, rng=rng, n_init=2, max_iterations=20)
        return output.centroids, output.assignment

    vector, pair = (array(FIRST),), (array(FIRST, WIDTH), array(FIRST, WIDTH))
    return {
        "divergence": (lambda *clouds: divergence(*clouds)[0], CLOUDS),
        "divergence-grad": (gradient(divergence), CLOUDS),
        "soft-sort": (lambda values: soft_sort.sort(values, axis=0), vector),
        "soft-ranks-grad": (
            jax.grad(lambda values: jnp.sum(soft_sort.ranks(values, axis=0) ** 2)),
            vector,
        ),
        "soft-quantile": (lambda values: soft_sort.quantile(values, q=0.3), vector),
        "soft-topk": (lambda values: soft_sort.topk_mask(values, k=4), vector),
        "sliced": (
            lambda first, second, rng: sliced.sliced_wasserstein(first, second, rng=rng)[0],
            (*CLOUDS, key()),
        ),
        "univariate": (
            lambda *clouds: (
                univariate.quantile_solver(linear_problem.LinearProblem(cloud(*clouds))).ot_costs
            ),
            (array(FIRST, 1), array(SECOND, 1)),
        ),
        "hungarian": (lambda *clouds: unreg.hungarian(cloud(*clouds))[0], pair),
        "unregularized": (partial(unreg.wassdis_p, p=2.0), pair),
        "k-means": (clusters, (array(24, 2), key())),
    }


def recipes() -> Iterator[Recipe]:
    """Yields the tools."""
    yield from group_recipes("tools", "tools", tools())
