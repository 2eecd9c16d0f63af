"""Roots, minima, least squares and fixed points found by optimistix."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import optax
import optimistix as optx
from recipe import Recipe, array

LIBRARY = "optimistix"
TOLERANCES = {"rtol": 1e-4, "atol": 1e-4}

# Objectives take unknowns and arguments, as optimistix calls them.


def rosenbrock(unknowns: jax.Array, scale: jax.Array) -> jax.Array:
    """Returns Rosenbrock's function of any dimension."""
    steps = unknowns[1:] - unknowns[:-1] ** 2
    return jnp.sum(scale[0] * steps**2 + (1 - unknowns[:-1]) ** 2)


def rosenbrock_residuals(unknowns: jax.Array, scale: jax.Array) -> Any:
    """Returns the residuals of Rosenbrock's function."""
    return scale[0] * (unknowns[1:] - unknowns[:-1] ** 2), 1 - unknowns[:-1]


def decay_residuals(unknowns: jax.Array, data: jax.Array) -> jax.Array:
    """Returns the misfit of two exponentials."""
    heights, rates = jnp.split(unknowns, 2)
    curve = jnp.sum(heights[:, None] * jnp.exp(-jnp.exp(rates)[:, None] * data[0]), axis=0)
    return curve - data[1]


def network_residuals(unknowns: dict[str, jax.Array], data: jax.Array) -> jax.Array:
    """Returns the misfit of a small network."""
    hidden = jnp.tanh(data[0][:, None] * unknowns["inner"] + unknowns["bias"])
    return hidden @ unknowns["outer"] - data[1]


def network_loss(unknowns: dict[str, jax.Array], data: jax.Array) -> jax.Array:
    """Returns the mean square of the misfit of a small network."""
    return jnp.mean(network_residuals(unknowns, data) ** 2)


def chain(unknowns: jax.Array, scale: jax.Array) -> jax.Array:
    """Returns Broyden's tridiagonal system."""
    padded = jnp.pad(unknowns, 1)
    return (3 - scale[0] * unknowns) * unknowns - padded[:-2] - 2 * padded[2:] + 1


def kepler(unknown: jax.Array, orbit: jax.Array) -> jax.Array:
    """Returns Kepler's equation."""
    return unknown - orbit[0] * jnp.sin(unknown) - orbit[1]


def contraction(unknowns: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns a layer of a deep equilibrium model."""
    return jnp.tanh(0.1 * weights @ unknowns + weights[0])


def implicit_step(unknowns: jax.Array, field: jax.Array) -> jax.Array:
    """Returns the residual of an implicit step of a reaction and diffusion."""
    padded = jnp.pad(unknowns, 1, mode="edge")
    spread = padded[:-2] - 2 * unknowns + padded[2:]
    return unknowns - field[0] - 0.1 * (spread + unknowns - unknowns**3)


NETWORK = {"inner": array(6), "bias": array(6), "outer": array(6)}
PROBLEMS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "rosenbrock": (rosenbrock, array(6), array(1)),
    "rosenbrock-residuals": (rosenbrock_residuals, array(6), array(1)),
    "decay": (decay_residuals, array(4), array(2, 24)),
    "network": (network_residuals, NETWORK, array(2, 24)),
    "network-loss": (network_loss, NETWORK, array(2, 24)),
    "chain": (chain, array(12), array(1)),
    "kepler": (kepler, array(), array(2)),
    "contraction": (contraction, array(12), array(12, 12)),
    "implicit-step": (implicit_step, array(16), array(1, 16)),
}
"""Function, unknowns and arguments by name."""


class BFGSDogleg(optx.AbstractBFGS):
    """BFGS with a dogleg trust region, put together as optimistix' own guide does."""

    rtol: float
    atol: float
    norm: Callable[..., Any] = optx.max_norm
    use_inverse: bool = False
    descent: optx.AbstractDescent = optx.DoglegDescent(linear_solver=lx.LU())
    search: optx.AbstractSearch = optx.ClassicalTrustRegion()
    verbose: Any = lambda **_: None


def solvers() -> dict[str, tuple[Callable[..., Any], Callable[[], Any]]]:
    """Returns solvers by name, each with the function that takes it."""
    root, minimum = optx.root_find, optx.minimise
    squares, fixed = optx.least_squares, optx.fixed_point
    cg = lx.CG(rtol=1e-4, atol=1e-4)
    conjugate = {
        "polak-ribiere": optx.polak_ribiere,
        "fletcher-reeves": optx.fletcher_reeves,
        "hestenes-stiefel": optx.hestenes_stiefel,
        "dai-yuan": optx.dai_yuan,
    }
    named: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
        "newton": (root, partial(optx.Newton, **TOLERANCES)),
        "newton-gmres": (
            root,
            partial(optx.Newton, **TOLERANCES, linear_solver=lx.GMRES(rtol=1e-4, atol=1e-4)),
        ),
        "chord": (root, partial(optx.Chord, **TOLERANCES)),
        "bisection": (root, partial(optx.Bisection, **TOLERANCES, flip="detect")),
        "bfgs": (minimum, partial(optx.BFGS, **TOLERANCES)),
        "bfgs-hessian": (minimum, partial(optx.BFGS, **TOLERANCES, use_inverse=False)),
        "dfp": (minimum, partial(optx.DFP, **TOLERANCES)),
        "lbfgs": (minimum, partial(optx.LBFGS, **TOLERANCES, history_length=4)),
        "bfgs-dogleg": (minimum, partial(BFGSDogleg, **TOLERANCES)),
        "gradient-descent": (
            minimum,
            partial(optx.GradientDescent, learning_rate=1e-2, **TOLERANCES),
        ),
        "nelder-mead": (minimum, partial(optx.NelderMead, **TOLERANCES)),
        "golden": (minimum, partial(optx.GoldenSearch, **TOLERANCES)),
        "optax-adam": (minimum, lambda: optx.OptaxMinimiser(optax.adam(1e-2), **TOLERANCES)),
        "best-lion": (
            minimum,
            lambda: optx.BestSoFarMinimiser(optx.OptaxMinimiser(optax.lion(1e-3), **TOLERANCES)),
        ),
        "gauss-newton": (squares, partial(optx.GaussNewton, **TOLERANCES)),
        "gauss-newton-cg": (
            squares,
            partial(optx.GaussNewton, **TOLERANCES, linear_solver=lx.Normal(cg)),
        ),
        "levenberg": (squares, partial(optx.LevenbergMarquardt, **TOLERANCES)),
        "levenberg-indirect": (
            squares,
            partial(optx.IndirectLevenbergMarquardt, **TOLERANCES),
        ),
        "dogleg": (squares, partial(optx.Dogleg, **TOLERANCES)),
        "dogleg-svd": (squares, partial(optx.Dogleg, **TOLERANCES, linear_solver=lx.SVD())),
        "picard": (fixed, partial(optx.FixedPointIteration, **TOLERANCES)),
        "fixed-newton": (fixed, partial(optx.Newton, **TOLERANCES)),
        "root-levenberg": (root, partial(optx.LevenbergMarquardt, **TOLERANCES)),
        "root-bfgs": (root, partial(optx.BFGS, **TOLERANCES)),
        "squares-bfgs": (squares, partial(optx.BFGS, **TOLERANCES)),
    }
    for name, method in conjugate.items():
        named[f"cg-{name}"] = (minimum, partial(optx.NonlinearCG, **TOLERANCES, method=method))
    return named


def lower_solver(solver: str, problem: str, program: str) -> jax.stages.Lowered:
    """Lowers a solution.

    Args:
        solver: A key of `solvers`.
        problem: A key of `PROBLEMS`.
        program: `solve`; `grad` (of the solution with respect to arguments, implicitly);
            `unrolled-grad` (through the iterations); `batch` (four under `vmap`).
    """
    find, make = solvers()[solver]
    function, unknowns, arguments = PROBLEMS[problem]
    bounded = {"lower": -4.0, "upper": 4.0} if solver in ("bisection", "golden") else {}
    adjoint = optx.ImplicitAdjoint()
    if program == "unrolled-grad":
        adjoint = optx.RecursiveCheckpointAdjoint()

    def solve(unknowns: Any, arguments: Any) -> Any:
        return find(
            function,
            make(),
            unknowns,
            arguments,
            options=bounded,
            max_steps=32,
            adjoint=adjoint,
            throw=False,
        ).value

    def objective(arguments: Any, unknowns: Any) -> jax.Array:
        squares = jax.tree.map(lambda leaf: jnp.sum(leaf**2), solve(unknowns, arguments))
        return jax.tree.reduce(jnp.add, squares)

    if program.endswith("grad"):
        return jax.jit(jax.grad(objective)).lower(arguments, unknowns)
    if program == "batch":
        stacked = jax.tree.map(lambda leaf: array(4, *leaf.shape), (unknowns, arguments))
        return jax.jit(jax.vmap(solve)).lower(*stacked)
    return jax.jit(solve).lower(unknowns, arguments)


def recipes() -> Iterator[Recipe]:
    """Yields every nonlinear solve."""
    programs = [
        ("newton", "chain", "grad"),
        ("newton", "kepler", "batch"),
        ("newton-gmres", "implicit-step", "solve"),
        ("chord", "chain", "solve"),
        ("bisection", "kepler", "batch"),
        ("root-levenberg", "chain", "solve"),
        ("root-bfgs", "chain", "solve"),
        ("bfgs", "rosenbrock", "solve"),
        ("bfgs", "network-loss", "unrolled-grad"),
        ("bfgs-hessian", "rosenbrock", "grad"),
        ("bfgs-dogleg", "rosenbrock", "solve"),
        ("dfp", "rosenbrock", "solve"),
        ("cg-polak-ribiere", "rosenbrock", "solve"),
        ("cg-fletcher-reeves", "network-loss", "batch"),
        ("cg-hestenes-stiefel", "rosenbrock", "grad"),
        ("cg-dai-yuan", "network-loss", "solve"),
        ("gradient-descent", "network-loss", "unrolled-grad"),
        ("nelder-mead", "rosenbrock", "solve"),
        ("golden", "kepler", "solve"),
        ("optax-adam", "network-loss", "solve"),
        ("best-lion", "network-loss", "batch"),
        ("gauss-newton", "decay", "grad"),
        ("gauss-newton", "rosenbrock-residuals", "batch"),
        ("gauss-newton-cg", "network", "solve"),
        ("levenberg", "decay", "solve"),
        ("levenberg", "network", "grad"),
        ("levenberg-indirect", "decay", "solve"),
        ("dogleg", "decay", "solve"),
        ("dogleg-svd", "network", "batch"),
        ("squares-bfgs", "decay", "solve"),
        ("picard", "contraction", "grad"),
        ("picard", "contraction", "unrolled-grad"),
        ("fixed-newton", "contraction", "grad"),
        ("lbfgs", "rosenbrock", "solve"),
        ("lbfgs", "network-loss", "grad"),
    ]
    for solver, problem, program in programs:
        family = "lbfgs" if solver == "lbfgs" else "nonlinear-solve"
        yield Recipe(
            name=f"{family}/optimistix-{solver}-{problem}/{program}",
            family=family,
            library=LIBRARY,
            recipe=f"optimistix, {solver} on {problem}, at most 32 steps; {program}",
            lower=partial(lower_solver, solver, problem, program),
            scope="algorithm",
        )
