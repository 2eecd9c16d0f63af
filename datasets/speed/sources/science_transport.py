"""Optimal transport of ott-jax between hundreds of points, with fixed numbers of iterations."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from ott.geometry import pointcloud
from ott.problems.linear import barycenter_problem
from ott.problems.quadratic import quadratic_problem
from ott.solvers.linear import discrete_barycenter, sinkhorn, sinkhorn_lr
from ott.solvers.quadratic import gromov_wasserstein
from ott.tools import sliced, soft_sort
from recipe import Recipe, array, key
from sources.ott_problems import cloud, cost_of, gradient
from speed.programs import Program, program_recipes

LIBRARY = "ott-jax"
FAMILY = "optimal-transport"


def fixed(count: int, **options: Any) -> sinkhorn.Sinkhorn:
    """Returns Sinkhorn's algorithm with a fixed number of iterations."""
    return sinkhorn.Sinkhorn(min_iterations=count, max_iterations=count, **options)


def gromov(first: jax.Array, second: jax.Array) -> Any:
    """Returns the cost and plan of Gromov and Wasserstein between different spaces."""
    solver = gromov_wasserstein.GromovWasserstein(
        fixed(50), epsilon=0.1, min_iterations=5, max_iterations=5
    )
    geometries = [pointcloud.PointCloud(points) for points in (first, second)]
    output = solver(quadratic_problem.QuadraticProblem(*geometries))
    return output.reg_gw_cost, output.matrix.sum(axis=1)


def barycenter(points: jax.Array, logits: jax.Array) -> jax.Array:
    """Returns the barycenter of histograms on points."""
    problem = barycenter_problem.FixedBarycenterProblem(
        pointcloud.PointCloud(points, epsilon=0.5), jax.nn.softmax(logits, axis=1)
    )
    solver = discrete_barycenter.FixedBarycenter(min_iterations=20, max_iterations=20)
    return solver(problem).histogram


def soft_ranks(values: jax.Array) -> jax.Array:
    """Returns the gradient of the squares of soft ranks of rows."""
    count = {"min_iterations": 40, "max_iterations": 40}
    unrolled = {"implicit_diff": None, "use_danskin": False}

    def total(values: jax.Array) -> jax.Array:
        ranks = soft_sort.ranks(values, axis=-1, num_targets=32, **count, **unrolled)
        return jnp.sum(ranks**2)

    return jax.grad(total)(values)


def sliced_distance(first: jax.Array, second: jax.Array, rng: jax.Array) -> jax.Array:
    """Returns the sliced distance of Wasserstein by 64 projections, which are sorted."""
    return sliced.sliced_wasserstein(first, second, n_proj=64, rng=rng)[0]


def potentials(first: jax.Array, second: jax.Array) -> Any:
    """Runs 100 iterations of Sinkhorn's algorithm in logarithms, as it is often written."""
    costs = jnp.sum((first[:, None] - second[None]) ** 2, axis=-1)
    scale = 0.1

    def step(carry: Any, _: None) -> Any:
        f, g = carry
        f = -scale * logsumexp((g[None] - costs) / scale - jnp.log(len(second)), axis=1)
        g = -scale * logsumexp((f[:, None] - costs) / scale - jnp.log(len(first)), axis=0)
        return (f, g), None

    start = (jnp.zeros(len(first)), jnp.zeros(len(second)))
    (f, g), _ = jax.lax.scan(step, start, length=100)
    return f.mean() + g.mean(), (f, g)


def scalings(first: jax.Array, second: jax.Array) -> Any:
    """Runs 200 iterations of Sinkhorn's algorithm by products with the kernel."""
    lengths = jnp.sum(first**2, axis=1)[:, None] + jnp.sum(second**2, axis=1)
    costs = lengths - 2 * first @ second.T
    kernel = jnp.exp(-costs / costs.mean())

    def step(_: int, carry: Any) -> Any:
        _, v = carry
        u = 1 / len(first) / (kernel @ v)
        return u, 1 / len(second) / (kernel.T @ u)

    u, v = jax.lax.fori_loop(0, 200, step, (jnp.ones(len(first)), jnp.ones(len(second))))
    return jnp.sum(u[:, None] * kernel * costs * v)


def programs() -> Iterator[tuple[str, str, Any, tuple[Any, ...]]]:
    """Yields name, words, function and arguments of the programs of ott-jax."""
    danskin = fixed(50, use_danskin=True)
    unrolled = fixed(30, implicit_diff=None, use_danskin=False)
    low_rank = sinkhorn_lr.LRSinkhorn(rank=8, min_iterations=30, max_iterations=30)
    big, middle = (array(512, 8), array(512, 8)), (array(256, 4), array(256, 4))
    yield "sinkhorn/n512-t50", "Sinkhorn in logarithms", cost_of(fixed(50), cloud), big
    yield (
        "sinkhorn/kernel-n512-t100",
        "Sinkhorn on the kernel",
        cost_of(fixed(100, lse_mode=False), cloud_wide),
        big,
    )
    yield "sinkhorn/danskin-grad-n256-t50", "gradient by Danskin", gradient_of(danskin), middle
    yield "sinkhorn/unrolled-grad-n256-t30", "unrolled gradient", gradient_of(unrolled), middle
    yield (
        "sinkhorn/batch16-n64-t50",
        "Sinkhorn of a batch",
        jax.vmap(cost_of(fixed(50), cloud)),
        (array(16, 64, 3), array(16, 64, 3)),
    )
    yield (
        "sinkhorn/unbalanced-n256-t50",
        "unbalanced Sinkhorn",
        cost_of(fixed(50), cloud, tau_a=0.9, tau_b=0.95),
        middle,
    )
    yield (
        "low-rank/n512-r8-t30",
        "low-rank Sinkhorn",
        cost_of(low_rank, pointcloud.PointCloud),
        (array(512, 8), array(512, 8)),
    )
    yield "gromov/n96-t5", "Gromov-Wasserstein", gromov, (array(96, 2), array(80, 3))
    yield (
        "barycenter/n256-k8-t20",
        "barycenter of histograms",
        barycenter,
        (array(256, 2), array(8, 256)),
    )
    yield "soft-ranks/b16-n256", "gradient of soft ranks", soft_ranks, (array(16, 256),)
    yield (
        "sliced/n4096-p64",
        "sliced distance",
        sliced_distance,
        (array(4096, 8), array(4096, 8), key()),
    )


def cloud_wide(first: jax.Array, second: jax.Array) -> pointcloud.PointCloud:
    """Returns the geometry of two clouds whose kernel does not vanish."""
    return pointcloud.PointCloud(first, second, epsilon=2.0)


def gradient_of(solver: Any) -> Any:
    """Returns the cost between two clouds and its gradient."""
    return gradient(cost_of(solver, cloud))


def recipes() -> Iterator[Recipe]:
    """Yields the problems of optimal transport."""
    for name, words, function, arguments in programs():
        program = Program(f"{FAMILY}/{name}", f"ott, {words}", function, arguments)
        yield from program_recipes(LIBRARY, [program])
    clouds = (array(512, 4), array(384, 4))
    yield from program_recipes(
        "jax",
        [
            Program(
                f"{FAMILY}/potentials/n512-t100",
                "Sinkhorn in logarithms written out",
                potentials,
                clouds,
            ),
            Program(
                f"{FAMILY}/scalings/n512-t200",
                "Sinkhorn's scalings written out",
                scalings,
                clouds,
            ),
        ],
    )
