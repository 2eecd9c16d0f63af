"""Linear systems and least squares solved by lineax."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
from recipe import Recipe, array

LIBRARY = "lineax"


def matrix(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns a dense operator."""
    return lx.MatrixLinearOperator(values)


def definite(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns a dense positive definite operator."""
    return lx.MatrixLinearOperator(
        values @ values.T + jnp.eye(len(values)), lx.positive_semidefinite_tag
    )


def triangular(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns a dense lower triangular operator."""
    return lx.MatrixLinearOperator(values, lx.lower_triangular_tag)


def band(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns a tridiagonal operator."""
    return lx.TridiagonalLinearOperator(values[0], values[1, 1:], values[2, 1:])


def jacobian(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns the Jacobian of a dense layer, never written out."""
    return lx.JacobianLinearOperator(
        lambda point, _: point + 0.1 * jnp.tanh(values @ point), values[0]
    )


def laplacian(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns the shifted Laplacian of a line as a function."""
    coefficient = values[0]

    def apply(field: jax.Array) -> jax.Array:
        padded = jnp.pad(coefficient * field, 1)
        return 2.1 * coefficient * field - padded[:-2] - padded[2:] + field

    structure = jax.ShapeDtypeStruct(coefficient.shape, coefficient.dtype)
    return lx.FunctionLinearOperator(apply, structure, lx.positive_semidefinite_tag)


def composed(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns a sum of a product and a diagonal."""
    outer, inner = lx.MatrixLinearOperator(values.T), lx.MatrixLinearOperator(values)
    diagonal = lx.DiagonalLinearOperator(1.0 + values[0] ** 2)
    return lx.TaggedLinearOperator(outer @ inner + diagonal, lx.positive_semidefinite_tag)


def tree(values: jax.Array) -> lx.AbstractLinearOperator:
    """Returns an operator on a dictionary, given in blocks."""
    half = len(values) // 2
    blocks = {
        "a": {"a": values[:half, :half], "b": values[:half, half:]},
        "b": {"a": values[half:, :half], "b": values[half:, half:]},
    }
    part = jax.ShapeDtypeStruct((half,), values.dtype)
    return lx.PyTreeLinearOperator(blocks, {"a": part, "b": part})


OPERATORS: dict[str, Callable[[jax.Array], lx.AbstractLinearOperator]] = {
    "matrix": matrix,
    "definite": definite,
    "triangular": triangular,
    "band": band,
    "jacobian": jacobian,
    "laplacian": laplacian,
    "composed": composed,
    "tree": tree,
}

SOLVERS: dict[str, Callable[[], lx.AbstractLinearSolver]] = {
    "lu": lx.LU,
    "qr": lx.QR,
    "svd": lx.SVD,
    "cholesky": lx.Cholesky,
    "triangular": lx.Triangular,
    "tridiagonal": lx.Tridiagonal,
    "auto": partial(lx.AutoLinearSolver, well_posed=None),
    "cg": partial(lx.CG, rtol=1e-5, atol=1e-5, max_steps=50),
    "cg-stabilised": partial(lx.CG, rtol=1e-5, atol=1e-5, stabilise_every=4),
    "gmres": partial(lx.GMRES, rtol=1e-5, atol=1e-5, restart=8, max_steps=50),
    "gmres-short": partial(lx.GMRES, rtol=1e-5, atol=1e-5, restart=3, stagnation_iters=5),
    "bicgstab": partial(lx.BiCGStab, rtol=1e-5, atol=1e-5, max_steps=50),
    "lsmr": partial(lx.LSMR, rtol=1e-5, atol=1e-5, max_steps=50),
    "normal-cg": partial(lx.Normal, lx.CG(rtol=1e-5, atol=1e-5)),
    "normal-cholesky": partial(lx.Normal, lx.Cholesky()),
}


def lower_solve(
    solver: str, operator: str, rows: int, columns: int, program: str
) -> jax.stages.Lowered:
    """Lowers a solution.

    Args:
        solver: A key of `SOLVERS`.
        operator: A key of `OPERATORS`.
        rows: Rows of the array that the operator is made of.
        columns: Its columns.
        program: `solve`; `grad` (of the solution's square with respect to operator and vector);
            `jvp`; `batch` (eight under `vmap`); `shared` (one matrix, eight vectors);
            `precondition` (by the diagonal, from a first guess).
    """

    def solve(values: jax.Array, vector: Any) -> Any:
        made = OPERATORS[operator](values)
        right = {"a": vector[::2], "b": vector[1::2]} if operator == "tree" else vector
        options = {}
        if program == "precondition":
            inverse = 1.0 / lx.diagonal(made)
            scaling = lx.DiagonalLinearOperator(inverse)
            tagged = lx.TaggedLinearOperator(scaling, lx.positive_semidefinite_tag)
            options = {"preconditioner": tagged, "y0": inverse * vector}
        solution = lx.linear_solve(made, right, SOLVERS[solver](), options=options, throw=False)
        return solution.value

    def objective(values: jax.Array, vector: jax.Array) -> jax.Array:
        squares = jax.tree.map(lambda leaf: jnp.sum(leaf**2), solve(values, vector))
        return jax.tree.reduce(jnp.add, squares)

    size = columns if operator in ("band", "laplacian", "jacobian") else rows
    values, vector = array(rows, columns), array(size)
    if program == "grad":
        return jax.jit(jax.grad(objective, argnums=(0, 1))).lower(values, vector)
    if program == "jvp":
        push = lambda *given: jax.jvp(solve, given[:2], given[2:])  # noqa: E731
        return jax.jit(push).lower(values, vector, values, vector)
    if program in ("batch", "shared"):
        shared = program == "shared"
        mapped = jax.vmap(solve, (None if shared else 0, 0))
        return jax.jit(mapped).lower(values if shared else array(8, rows, columns), array(8, size))
    return jax.jit(solve).lower(values, vector)


def recipes() -> Iterator[Recipe]:
    """Yields every linear solve."""
    programs = [
        ("lu", "matrix", 16, 16, "grad"),
        ("lu", "tree", 16, 16, "batch"),
        ("qr", "matrix", 24, 8, "solve"),
        ("qr", "matrix", 24, 8, "grad"),
        ("qr", "matrix", 8, 24, "solve"),
        ("svd", "matrix", 24, 8, "grad"),
        ("svd", "matrix", 16, 16, "shared"),
        ("cholesky", "definite", 16, 16, "grad"),
        ("cholesky", "composed", 16, 16, "batch"),
        ("triangular", "triangular", 16, 16, "grad"),
        ("tridiagonal", "band", 3, 32, "solve"),
        ("tridiagonal", "band", 3, 32, "grad"),
        ("auto", "matrix", 24, 8, "jvp"),
        ("cg", "definite", 16, 16, "solve"),
        ("cg", "laplacian", 2, 32, "grad"),
        ("cg", "definite", 16, 16, "precondition"),
        ("cg-stabilised", "composed", 16, 16, "jvp"),
        ("gmres", "matrix", 16, 16, "solve"),
        ("gmres", "jacobian", 16, 16, "grad"),
        ("gmres-short", "matrix", 16, 16, "precondition"),
        ("bicgstab", "matrix", 16, 16, "solve"),
        ("bicgstab", "jacobian", 16, 16, "grad"),
        ("bicgstab", "matrix", 16, 16, "shared"),
        ("lsmr", "matrix", 24, 8, "solve"),
        ("lsmr", "matrix", 24, 8, "grad"),
        ("normal-cg", "matrix", 24, 8, "solve"),
        ("normal-cg", "matrix", 24, 8, "grad"),
        ("normal-cholesky", "matrix", 24, 8, "batch"),
    ]
    for solver, operator, rows, columns, program in programs:
        yield Recipe(
            name=f"linear-solve/{solver}-{operator}-{rows}x{columns}/{program}",
            family="linear-solve",
            library=LIBRARY,
            recipe=f"lineax.linear_solve, {solver}, {operator} from {rows} by {columns}; {program}",
            lower=partial(lower_solve, solver, operator, rows, columns, program),
            scope="algorithm",
        )
