"""Linear optimal transport by ott-jax: Sinkhorn's algorithm, its options, costs and geometries.

The other files of ott-jax take their sizes and recipes from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
from ott.geometry import costs, geodesic, geometry, graph, grid, low_rank, pointcloud
from ott.initializers.linear import initializers
from ott.problems.linear import linear_problem
from ott.solvers.linear import acceleration, implicit_differentiation, sinkhorn
from recipe import Recipe, array

FAMILY, LIBRARY = "optimal-transport", "ott-jax"
FIRST, SECOND, WIDTH = 16, 12, 3
CLOUDS = (array(FIRST, WIDTH), array(SECOND, WIDTH))

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def cost_of(solver: Any, make: Callable[..., Any], **problem: Any) -> Callable[..., Any]:
    """Returns the regularized cost and the potentials or factors of a linear problem."""

    def solve(*arguments: Any) -> Any:
        output = solver(linear_problem.LinearProblem(make(*arguments), **problem))
        return output.reg_ot_cost, output.matrix.sum(axis=1)

    return solve


def histogram_cost(solver: Any, make: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the cost of moving one histogram to another; `make` takes what comes before them."""

    def solve(*arguments: Any) -> Any:
        *given, first, second = arguments
        return solver(linear_problem.LinearProblem(make(*given), first, second)).reg_ot_cost

    return solve


def cloud(first: jax.Array, second: jax.Array, **options: Any) -> pointcloud.PointCloud:
    """Returns the geometry of two clouds of points."""
    return pointcloud.PointCloud(first, second, epsilon=0.1, **options)


def gradient(solve: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the cost and its gradient with respect to both clouds."""
    return jax.value_and_grad(lambda *arguments: solve(*arguments)[0], argnums=(0, 1))


def sinkhorns() -> dict[str, Program]:
    """Returns Sinkhorn's algorithm with its options, and its gradients."""
    plain = partial(sinkhorn.Sinkhorn, max_iterations=100)
    unrolled = plain(implicit_diff=None, use_danskin=False)
    implicit = plain(implicit_diff=implicit_differentiation.ImplicitDiff(), use_danskin=False)
    kernel = plain(lse_mode=False)
    network = (array(12, 12), array(12), array(12))
    memory = acceleration.AndersonAcceleration(memory=3, refresh_every=1)
    return {
        "plain": (cost_of(plain(), cloud), CLOUDS),
        "danskin-grad": (gradient(cost_of(plain(use_danskin=True), cloud)), CLOUDS),
        "implicit-grad": (gradient(cost_of(implicit, cloud)), CLOUDS),
        "unrolled-grad": (gradient(cost_of(unrolled, cloud)), CLOUDS),
        "kernel": (cost_of(kernel, cloud), CLOUDS),
        "momentum": (cost_of(plain(momentum=acceleration.Momentum(value=1.5)), cloud), CLOUDS),
        "adaptive-momentum": (
            cost_of(plain(momentum=acceleration.Momentum(start=20, error_threshold=0.1)), cloud),
            CLOUDS,
        ),
        "anderson": (cost_of(plain(anderson=memory), cloud), CLOUDS),
        "recentered": (cost_of(plain(recenter_potentials=True), cloud), CLOUDS),
        "parallel": (cost_of(plain(parallel_dual_updates=True), cloud), CLOUDS),
        "unbalanced": (cost_of(plain(), cloud, tau_a=0.9, tau_b=0.95), CLOUDS),
        "unbalanced-grad": (gradient(cost_of(implicit, cloud, tau_a=0.9, tau_b=0.9)), CLOUDS),
        "gaussian-start": (
            cost_of(plain(initializer=initializers.GaussianInitializer()), cloud),
            CLOUDS,
        ),
        "sorting-start": (
            cost_of(plain(initializer=initializers.SortingInitializer()), cloud),
            (array(FIRST, 1), array(FIRST, 1)),
        ),
        "matrix": (
            cost_of(plain(), lambda matrix: geometry.Geometry(matrix, epsilon=0.1)),
            (array(FIRST, SECOND),),
        ),
        "batch": (jax.vmap(cost_of(plain(), cloud)), (array(4, 8, 2), array(4, 6, 2))),
        "low-rank-cost": (
            cost_of(plain(), partial(low_rank.LRCGeometry, epsilon=0.1)),
            (array(FIRST, 4), array(SECOND, 4)),
        ),
        "grid": (
            histogram_cost(plain(), lambda: grid.Grid(grid_size=(4, 5), epsilon=0.1)),
            (array(20), array(20)),
        ),
        "graph": (histogram_cost(kernel, partial(graph.Graph.from_graph, t=1e-2)), network),
        "geodesic": (
            histogram_cost(kernel, partial(geodesic.Geodesic.from_graph, t=1e-2, order=10)),
            network,
        ),
    }


def ground_costs() -> dict[str, Program]:
    """Returns Sinkhorn's algorithm with other costs of the ground."""
    solver = sinkhorn.Sinkhorn(max_iterations=100)
    gaussians = (array(6, 6), array(5, 6))
    return {
        name: (cost_of(solver, partial(cloud, cost_fn=cost)), arguments)
        for name, cost, arguments in (
            ("cosine", costs.Cosine(), CLOUDS),
            ("p-norm", costs.PNormP(1.5), CLOUDS),
            ("bures", costs.Bures(dimension=2), gaussians),
            ("dtw", costs.SoftDTW(gamma=0.1), (array(6, 8), array(5, 8))),
        )
    }


def group_recipes(group: str, words: str, programs: dict[str, Program]) -> Iterator[Recipe]:
    """Yields one recipe for each program of a group.

    Args:
        group: Second part of the benchmarks' names.
        words: What the programs have in common.
        programs: Functions and their abstract arguments by the third part of the name.
    """
    for name, (function, arguments) in programs.items():
        yield Recipe(
            name=f"{FAMILY}/{group}/{name}",
            family=FAMILY,
            library=LIBRARY,
            recipe=f"ott, {words}, clouds of {FIRST} and {SECOND} points; {name}",
            lower=partial(jax.jit(function).lower, *arguments),
            scope="algorithm",
        )


def recipes() -> Iterator[Recipe]:
    """Yields the linear problems."""
    yield from group_recipes("sinkhorn", "sinkhorn.Sinkhorn", sinkhorns())
    yield from group_recipes("cost", "sinkhorn.Sinkhorn with another cost", ground_costs())
