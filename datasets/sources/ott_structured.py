"""Structured optimal transport by ott-jax: low ranks, Gromov-Wasserstein and barycenters."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
from ott.geometry import grid, pointcloud
from ott.problems.linear import barycenter_problem
from ott.problems.quadratic import gw_barycenter as gw_barycenter_problem
from ott.problems.quadratic import quadratic_problem
from ott.solvers.linear import continuous_barycenter, discrete_barycenter, sinkhorn, sinkhorn_lr
from ott.solvers.quadratic import gromov_wasserstein, gromov_wasserstein_lr, gw_barycenter
from recipe import Recipe, array, key
from sources.ott_problems import (
    CLOUDS,
    FIRST,
    SECOND,
    Program,
    cost_of,
    gradient,
    group_recipes,
)

APART = (array(FIRST, 2), array(SECOND, 3))
"""Clouds in different spaces."""


def low_ranks() -> dict[str, Program]:
    """Returns low-rank Sinkhorn and Gromov-Wasserstein."""
    linear = partial(sinkhorn_lr.LRSinkhorn, rank=3, max_iterations=50)
    clouds = pointcloud.PointCloud

    def quadratic(first: jax.Array, second: jax.Array) -> Any:
        solver = gromov_wasserstein_lr.LRGromovWasserstein(
            rank=3, min_iterations=0, max_iterations=50, inner_iterations=10
        )
        problem = quadratic_problem.QuadraticProblem(clouds(first), clouds(second))
        output = solver(problem)
        return output.reg_gw_cost, output.q, output.r

    return {
        "sinkhorn": (cost_of(linear(), clouds), CLOUDS),
        "sinkhorn-kernel": (cost_of(linear(lse_mode=False, epsilon=0.01), clouds), CLOUDS),
        "sinkhorn-unbalanced": (cost_of(linear(), clouds, tau_a=0.9, tau_b=0.9), CLOUDS),
        "gromov": (quadratic, APART),
    }


def gromovs() -> dict[str, Program]:
    """Returns Gromov-Wasserstein between clouds in different spaces."""

    def solve(first: jax.Array, second: jax.Array, *both: jax.Array, **options: Any) -> Any:
        linear = sinkhorn.Sinkhorn(max_iterations=50)
        warm = options.pop("warm", False)
        solver = gromov_wasserstein.GromovWasserstein(
            linear, epsilon=0.1, max_iterations=8, warm_start=warm
        )
        geometries = [pointcloud.PointCloud(points) for points in (first, second)]
        if both:
            options["geom_xy"] = pointcloud.PointCloud(*both)
        problem = quadratic_problem.QuadraticProblem(*geometries, **options)
        output = solver(problem)
        return output.reg_gw_cost, output.matrix

    return {
        "plain": (solve, APART),
        "grad": (gradient(solve), APART),
        "warm": (partial(solve, warm=True), APART),
        "kl": (partial(solve, loss="kl"), APART),
        "unbalanced": (partial(solve, tau_a=0.9, tau_b=0.9), APART),
        "fused": (partial(solve, fused_penalty=0.5), (*APART, *CLOUDS)),
    }


def barycenters() -> dict[str, Program]:
    """Returns barycenters of measures on a grid, of clouds and of metric spaces."""

    def on_space(space: Any, histograms: jax.Array, **options: Any) -> Any:
        problem = barycenter_problem.FixedBarycenterProblem(space, histograms)
        solver = discrete_barycenter.FixedBarycenter(max_iterations=50, **options)
        return solver(problem).histogram

    def fixed(histograms: jax.Array, points: jax.Array, **options: Any) -> Any:
        return on_space(pointcloud.PointCloud(points, epsilon=0.1), histograms, **options)

    def gridded(histograms: jax.Array) -> Any:
        return on_space(grid.Grid(grid_size=(4, 3), epsilon=0.1), histograms, debiased=True)

    def free(points: jax.Array, weights: jax.Array, start: jax.Array) -> Any:
        problem = barycenter_problem.FreeBarycenterProblem(points, weights, epsilon=0.1)
        linear = sinkhorn.Sinkhorn(max_iterations=50)
        solver = continuous_barycenter.FreeWassersteinBarycenter(linear, max_iterations=8)
        return solver(problem, bar_size=6, x_init=start).x

    def metric(points: jax.Array, weights: jax.Array, rng: jax.Array) -> Any:
        problem = gw_barycenter_problem.GWBarycenterProblem(points, weights)
        linear = sinkhorn.Sinkhorn(max_iterations=50)
        inner = gromov_wasserstein.GromovWasserstein(linear, epsilon=0.1, max_iterations=5)
        solver = gw_barycenter.GromovWassersteinBarycenter(inner, max_iterations=4)
        return solver(problem, bar_size=6, rng=rng).cost

    return {
        "fixed": (fixed, (array(3, 12), array(12, 2))),
        "grid-debiased": (gridded, (array(3, 12),)),
        "fixed-kernel": (partial(fixed, lse_mode=False), (array(3, 12), array(12, 2))),
        "free": (free, (array(3, 8, 2), array(3, 8), array(6, 2))),
        "gromov": (metric, (array(3, 8, 2), array(3, 8), key())),
    }


def recipes() -> Iterator[Recipe]:
    """Yields the structured problems."""
    yield from group_recipes("low-rank", "low-rank solvers", low_ranks())
    yield from group_recipes("gromov", "gromov_wasserstein.GromovWasserstein", gromovs())
    yield from group_recipes("barycenter", "barycenters", barycenters())
