"""Quadratic programs and projections of jaxopt, and their derivatives."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jaxopt
from jaxopt import projection
from recipe import Recipe, array
from sources.jaxopt_solvers import LIBRARY

FAMILY = "convex-optimization"


def lower_quadratic(name: str, gradient: bool) -> jax.stages.Lowered:
    """Lowers a quadratic program.

    Args:
        name: `osqp`, `box-osqp`, `box-cd`, `equality` or `equality-refined`.
        gradient: Gradient of the solution's square with respect to the linear term.
    """
    size, bounds = 8, 4

    def solve(linear: jax.Array, root: jax.Array, rows: jax.Array, limit: jax.Array) -> jax.Array:
        quadratic = root @ root.T + jnp.eye(size)
        if name == "osqp":
            solver: Any = jaxopt.OSQP(maxiter=40, check_primal_dual_infeasability=False)
            return solver.run(
                None, (quadratic, linear), (rows[:2], limit[:2]), (rows[2:], limit[2:])
            ).params.primal
        if name == "box-osqp":
            solver = jaxopt.BoxOSQP(maxiter=40, check_primal_dual_infeasability=False)
            return solver.run(
                None, (quadratic, linear), rows, (-jnp.abs(limit), jnp.abs(limit))
            ).params.primal[0]
        if name == "box-cd":
            solver = jaxopt.BoxCDQP(maxiter=40)
            start = jnp.zeros(size)
            return solver.run(start, (quadratic, linear), (-jnp.ones(size), jnp.ones(size))).params
        refine = 5 if name == "equality-refined" else 0
        solver = jaxopt.EqualityConstrainedQP(refine_maxiter=refine, maxiter=40)
        return solver.run(None, (quadratic, linear), (rows, limit)).params.primal

    arguments = (array(size), array(size, size), array(bounds, size), array(bounds))
    function = jax.grad(lambda *given: jnp.sum(solve(*given) ** 2)) if gradient else solve
    return jax.jit(function).lower(*arguments)


PROJECTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "simplex": (projection.projection_simplex, (array(16),)),
    "transport": (projection.projection_transport, (array(6, 5), (array(6), array(5)))),
    "birkhoff": (projection.projection_birkhoff, (array(6, 6),)),
    "isotonic": (jaxopt.isotonic.isotonic_l2_pav, (array(12),)),
    "polyhedron": (
        partial(projection.projection_polyhedron, check_feasible=False),
        (array(6), (array(2, 6), array(2), array(3, 6), array(3))),
    ),
    "box-section": (
        projection.projection_box_section,
        (array(8), (array(8), array(8), array(8), array())),
    ),
}
"""Projections by name, each with abstract arguments."""


def lower_projection(name: str) -> jax.stages.Lowered:
    """Lowers a projection, and its derivative pulled back along a direction."""
    project, arguments = PROJECTIONS[name]

    def push(direction: jax.Array, point: jax.Array, *rest: Any) -> Any:
        value, pull = jax.vjp(lambda point: project(point, *rest), point)
        return value, pull(direction.reshape(value.shape))

    return jax.jit(push).lower(arguments[0], *arguments)


def recipes() -> Iterator[Recipe]:
    """Yields the quadratic programs and the projections."""
    quadratics = {
        "osqp": ("run", "grad"),
        "box-osqp": ("run",),
        "box-cd": ("grad",),
        "equality": ("grad",),
        "equality-refined": ("run",),
    }
    for name, kinds in quadratics.items():
        for kind in kinds:
            yield Recipe(
                name=f"{FAMILY}/jaxopt-qp-{name}/{kind}",
                family=FAMILY,
                library=LIBRARY,
                recipe=f"jaxopt, quadratic program of 8 unknowns, {name}; {kind}",
                lower=partial(lower_quadratic, name, kind == "grad"),
                scope="algorithm",
            )
    for name in PROJECTIONS:
        yield Recipe(
            name=f"{FAMILY}/jaxopt-projection-{name}/vjp",
            family=FAMILY,
            library=LIBRARY,
            recipe=f"jaxopt, projection {name}; value and pullback",
            lower=partial(lower_projection, name),
            scope="algorithm",
        )
