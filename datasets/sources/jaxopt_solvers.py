"""Iterative solvers of jaxopt: smooth and constrained minimisation, least squares, fixed points."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxopt
import optax
from jaxopt import objective, projection, prox
from recipe import Recipe, array

LIBRARY = "jaxopt"
FEATURES, CLASSES, ROWS = 8, 3, 24


def data() -> tuple[Any, Any]:
    """Returns abstract inputs and integer labels."""
    return array(ROWS, FEATURES), array(ROWS, dtype=jnp.int32)


def ridge(weights: jax.Array, penalty: Any, data: Any) -> jax.Array:
    """Returns multiclass logistic regression with a quadratic penalty."""
    return objective.l2_multiclass_logreg(weights, penalty, data)


def network(weights: dict[str, jax.Array], penalty: Any, data: Any) -> jax.Array:
    """Returns the loss of a small network."""
    hidden = jnp.tanh(data[0] @ weights["inner"])
    losses = optax.softmax_cross_entropy_with_integer_labels(hidden @ weights["outer"], data[1])
    return losses.mean() + penalty * jnp.sum(weights["inner"] ** 2)


def residuals(weights: jax.Array, data: Any) -> jax.Array:
    """Returns the misfit of two exponentials and an offset."""
    first = weights[0] * jnp.exp(-weights[1] * data[0])
    curve = first + weights[2] * jnp.exp(-weights[3] * data[0])
    return curve + weights[4] - data[1]


def rosenbrock(weights: jax.Array, scale: Any) -> jax.Array:
    """Returns Rosenbrock's function."""
    return jnp.sum(scale * (weights[1:] - weights[:-1] ** 2) ** 2 + (1 - weights[:-1]) ** 2)


def contraction(point: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns a layer of a deep equilibrium model."""
    return jnp.tanh(0.1 * weights @ point + weights[0])


def cubic(point: jax.Array, shift: jax.Array) -> jax.Array:
    """Returns a function with a single root."""
    return point**3 + point - shift


MATRIX, SCALAR = array(FEATURES, CLASSES), array()
NETWORK = {"inner": array(FEATURES, 8), "outer": array(8, CLASSES)}
LOGISTIC = (MATRIX, (SCALAR, data()))
NEURAL = (NETWORK, (SCALAR, data()))
VALLEY = (array(6), (SCALAR,))
CURVE = (array(5), ((array(ROWS), array(ROWS)),))
FIXED = (array(12), (array(12, 12),))
LASSO = (array(FEATURES), (SCALAR, (array(ROWS, FEATURES), array(ROWS))))
ELASTIC = (LASSO[0], ((SCALAR, SCALAR), LASSO[1][1]))


class Solver(NamedTuple):
    """A solver, and what is lowered of it.

    Attributes:
        make: Makes the solver.
        problem: Abstract unknowns, and the abstract arguments of the objective.
        programs: As `lower_solver` takes them, with blanks between.
    """

    make: Callable[[], Any]
    problem: tuple[Any, tuple[Any, ...]]
    programs: str


def solvers() -> dict[str, Solver]:
    """Returns solvers by name."""
    line = {"max_stepsize": 1.0, "maxls": 8}
    short = {"maxiter": 40, "tol": 1e-3}
    least = objective.least_squares
    lasso = partial(jaxopt.ProximalGradient, least, prox.prox_lasso, **short)
    steps = partial(jaxopt.ProjectedGradient, least, **short)
    elastic = prox.prox_elastic_net
    return {
        "gradient": Solver(partial(jaxopt.GradientDescent, ridge, **short), LOGISTIC, "run grad"),
        "gradient-fixed-step": Solver(
            partial(jaxopt.GradientDescent, network, stepsize=1e-2, acceleration=False, **short),
            NEURAL,
            "update",
        ),
        "nonlinear-cg": Solver(partial(jaxopt.NonlinearCG, ridge, **short), LOGISTIC, "run"),
        "nonlinear-cg-hager": Solver(
            partial(
                jaxopt.NonlinearCG,
                rosenbrock,
                method="fletcher-reeves",
                linesearch="hager-zhang",
                **short,
            ),
            VALLEY,
            "update run",
        ),
        "bfgs": Solver(partial(jaxopt.BFGS, rosenbrock, **short), VALLEY, "run batch"),
        "bfgs-backtracking": Solver(
            partial(jaxopt.BFGS, ridge, linesearch="backtracking", **short), LOGISTIC, "update"
        ),
        "lbfgs": Solver(
            partial(jaxopt.LBFGS, ridge, history_size=4, **short), LOGISTIC, "run grad"
        ),
        "lbfgs-backtracking": Solver(
            partial(jaxopt.LBFGS, network, history_size=4, linesearch="backtracking", **short),
            NEURAL,
            "update",
        ),
        "lbfgs-hager": Solver(
            partial(jaxopt.LBFGS, rosenbrock, linesearch="hager-zhang", **short), VALLEY, "run"
        ),
        "armijo-sgd": Solver(
            partial(jaxopt.ArmijoSGD, network, **line, maxiter=40), NEURAL, "update"
        ),
        "polyak-sgd": Solver(partial(jaxopt.PolyakSGD, network, maxiter=40), NEURAL, "run"),
        "optax-adam": Solver(
            partial(jaxopt.OptaxSolver, network, optax.adam(1e-3), maxiter=40), NEURAL, "run"
        ),
        "proximal-lasso": Solver(lasso, LASSO, "run grad"),
        "proximal-elastic": Solver(
            partial(jaxopt.ProximalGradient, least, elastic, acceleration=False, **short),
            ELASTIC,
            "update",
        ),
        "block-coordinate": Solver(
            partial(jaxopt.BlockCoordinateDescent, least, prox.prox_lasso, **short),
            LASSO,
            "run batch",
        ),
        "projected-simplex": Solver(
            partial(steps, projection.projection_simplex), LASSO, "run grad"
        ),
        "projected-ball": Solver(partial(steps, projection.projection_l2_ball), LASSO, "run"),
        "projected-l1": Solver(partial(steps, projection.projection_l1_ball), LASSO, "batch"),
        "gauss-newton": Solver(partial(jaxopt.GaussNewton, residuals, **short), CURVE, "run grad"),
        "levenberg": Solver(
            partial(jaxopt.LevenbergMarquardt, residuals, **short), CURVE, "run batch"
        ),
        "levenberg-inverse": Solver(
            partial(jaxopt.LevenbergMarquardt, residuals, solver="inv", geodesic=True, **short),
            CURVE,
            "run",
        ),
        "picard": Solver(partial(jaxopt.FixedPointIteration, contraction, **short), FIXED, "grad"),
        "anderson": Solver(
            partial(jaxopt.AndersonAcceleration, contraction, history_size=4, **short),
            FIXED,
            "run grad",
        ),
        "anderson-gradient": Solver(
            lambda: jaxopt.AndersonWrapper(
                jaxopt.GradientDescent(ridge, stepsize=1e-2, **short), history_size=3
            ),
            LOGISTIC,
            "run",
        ),
        "broyden": Solver(
            partial(jaxopt.Broyden, cubic, history_size=4, **short),
            (array(8), (array(8),)),
            "run grad",
        ),
        "bisection": Solver(
            partial(jaxopt.Bisection, cubic, -4.0, 4.0, check_bracket=False, **short),
            (SCALAR, (SCALAR,)),
            "batch",
        ),
    }


def lower_solver(solver: Solver, program: str) -> jax.stages.Lowered:
    """Lowers a solution.

    Args:
        solver: What is lowered.
        program: `run`; `update` (one iteration from a given state); `grad` (of the solution with
            respect to the first argument, by implicit differentiation); `batch` (four under
            `vmap`).
    """
    made, (unknowns, arguments) = solver.make(), solver.problem
    run = lambda unknowns, *arguments: made.run(unknowns, *arguments).params  # noqa: E731
    if program == "update":
        state = jax.eval_shape(made.init_state, unknowns, *arguments)
        return jax.jit(made.update).lower(unknowns, state, *arguments)
    if program == "grad":

        def square(argument: Any, unknowns: Any, *rest: Any) -> jax.Array:
            squares = jax.tree.map(lambda leaf: jnp.sum(leaf**2), run(unknowns, argument, *rest))
            return jax.tree.reduce(jnp.add, squares)

        return jax.jit(jax.grad(square)).lower(arguments[0], unknowns, *arguments[1:])
    if program == "batch":
        stacked = jax.tree.map(
            lambda leaf: array(4, *leaf.shape, dtype=leaf.dtype), (unknowns, arguments)
        )
        return jax.jit(jax.vmap(run)).lower(stacked[0], *stacked[1])
    return jax.jit(run).lower(unknowns, *arguments)


def recipes() -> Iterator[Recipe]:
    """Yields the iterative solvers."""
    for name, solver in solvers().items():
        family = "lbfgs" if name.startswith("lbfgs") else "convex-optimization"
        for program in solver.programs.split():
            yield Recipe(
                name=f"{family}/jaxopt-{name}/{program}",
                family=family,
                library=LIBRARY,
                recipe=f"jaxopt, {name}, at most 40 steps; {program}",
                lower=partial(lower_solver, solver, program),
                scope="algorithm",
            )
