"""Linear systems solved by iterations: jax's, lineax's and written out."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
from jax.scipy.sparse.linalg import bicgstab, cg, gmres
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "linear-solve"


def definite(rows: jax.Array) -> jax.Array:
    """Returns a positive definite matrix."""
    return rows @ rows.T + jnp.eye(len(rows))


def conjugate(rows: jax.Array, values: jax.Array) -> jax.Array:
    """Solves a dense system by 100 steps of jax's conjugate gradients."""
    matrix = definite(rows)
    return cg(lambda x: matrix @ x, values, tol=0.0, maxiter=100)[0]


def implicit_heat(field: jax.Array, rate: jax.Array) -> jax.Array:
    """Takes four implicit steps of heat by 30 steps of conjugate gradients each."""

    def operator(field: jax.Array) -> jax.Array:
        wide = jnp.pad(field, 1)
        sides = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
        return field + rate * (4 * field - sides)

    def step(_: int, field: jax.Array) -> jax.Array:
        return cg(operator, field, x0=field, tol=0.0, maxiter=30)[0]

    return jax.lax.fori_loop(0, 4, step, field)


def minimal_residuals(matrix: jax.Array, values: jax.Array) -> Any:
    """Solves a dense system by restarted GMRES, and by BiCGSTAB."""
    shifted = matrix + 2 * jnp.eye(len(matrix))

    def apply(x: jax.Array) -> jax.Array:
        return shifted @ x

    first = gmres(apply, values, tol=0.0, restart=20, maxiter=2, solve_method="batched")[0]
    return first, bicgstab(apply, values, tol=1e-6, maxiter=50)[0]


def written_out(rows: jax.Array, values: jax.Array) -> Any:
    """Solves batches of systems by 64 steps of preconditioned conjugate gradients."""
    matrices = rows @ jnp.swapaxes(rows, -1, -2) + jnp.eye(rows.shape[-1])
    diagonal = jnp.diagonal(matrices, axis1=-2, axis2=-1)

    def step(carry: Any, _: None) -> Any:
        x, residual, direction, old = carry
        image = jnp.einsum("bij,bj->bi", matrices, direction)
        rate = old / jnp.maximum(jnp.sum(direction * image, -1, keepdims=True), 1e-20)
        x, residual = x + rate * direction, residual - rate * image
        scaled = residual / diagonal
        new = jnp.sum(residual * scaled, -1, keepdims=True)
        direction = scaled + new / jnp.maximum(old, 1e-20) * direction
        return (x, residual, direction, new), jnp.sum(residual**2, -1)

    first = values / diagonal
    start = (jnp.zeros_like(values), values, first, jnp.sum(values * first, -1, keepdims=True))
    (x, *_), errors = jax.lax.scan(step, start, length=64)
    return x, errors


def tridiagonal(bands: jax.Array, values: jax.Array) -> jax.Array:
    """Solves tridiagonal systems of a batch by lineax."""

    def one(bands: jax.Array, values: jax.Array) -> jax.Array:
        lower, upper = 0.4 * jnp.tanh(bands[0, 1:]), 0.4 * jnp.tanh(bands[1, 1:])
        operator = lx.TridiagonalLinearOperator(jnp.full(len(values), 2.0), lower, upper)
        return lx.linear_solve(operator, values, lx.Tridiagonal(), throw=False).value

    return jax.vmap(one)(bands, values)


def least_squares(matrix: jax.Array, values: jax.Array) -> jax.Array:
    """Solves least squares by lineax's normal equations and conjugate gradients."""
    solver = lx.Normal(lx.CG(rtol=1e-6, atol=1e-6, max_steps=50))
    operator = lx.MatrixLinearOperator(matrix)
    return lx.linear_solve(operator, values, solver, throw=False).value


def recipes() -> Iterator[Recipe]:
    """Yields the solvers, by library."""
    square, vector = array(512, 512), array(512)
    by_library: dict[str, tuple[tuple[str, Any, tuple[Any, ...]], ...]] = {
        "jax": (
            ("conjugate/n512-t100", conjugate, (square, vector)),
            ("implicit-heat/n256-t4", implicit_heat, (array(256, 256), array())),
            ("minimal-residuals/n512", minimal_residuals, (square, vector)),
            ("written-out/b64-n64-t64", written_out, (array(64, 64, 64), array(64, 64))),
        ),
        "lineax": (
            ("lineax-tridiagonal/b256-n256", tridiagonal, (array(256, 2, 256), array(256, 256))),
            ("lineax-normal/n1024-d128", least_squares, (array(1024, 128), array(1024))),
        ),
    }
    for library, programs in by_library.items():
        for name, function, arguments in programs:
            words = f"{library}, {name.split('/')[0]}"
            program = Program(f"{FAMILY}/{name}", words, function, arguments)
            yield from program_recipes(library, [program])
