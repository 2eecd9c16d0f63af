"""Dense linear algebra: decompositions and iterations on matrices of 32 to 512 rows."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import linalg
from recipe import Recipe, array
from sources.jax_numerics import summed, symmetric
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def gram(rows: jax.Array) -> jax.Array:
    """Returns a positive definite matrix, the mean of outer products."""
    return rows.T @ rows / len(rows) + 0.1 * jnp.eye(rows.shape[1])


def whitened(rows: jax.Array) -> jax.Array:
    """Returns rows whitened by a Cholesky factor of their covariance."""
    centred = rows - rows.mean(axis=0)
    factor = jnp.linalg.cholesky(gram(centred))
    return linalg.solve_triangular(factor, centred.T, lower=True).T


def density_gradient(rows: jax.Array, matrices: jax.Array) -> jax.Array:
    """Returns the gradient of log densities of batches of normal distributions."""

    def total(matrices: jax.Array) -> jax.Array:
        factors = jnp.linalg.cholesky(symmetric(matrices))
        white = linalg.solve_triangular(factors, rows[..., None], lower=True)
        sizes = jnp.log(jnp.diagonal(factors, axis1=-2, axis2=-1)).sum()
        return 0.5 * jnp.sum(white**2) + sizes

    return jax.grad(total)(matrices)


def solved(matrix: jax.Array, values: jax.Array) -> Any:
    """Returns the solution of a linear system by LU, and the determinant's logarithm."""
    shifted = matrix + jnp.eye(len(matrix))
    return jnp.linalg.solve(shifted, values), jnp.linalg.slogdet(shifted)


def principal(rows: jax.Array) -> Any:
    """Returns rows along their 16 main directions, by the eigenvectors of the covariance."""
    centred = rows - rows.mean(axis=0)
    values, vectors = jnp.linalg.eigh(gram(centred))
    return centred @ vectors[:, -16:], values


def low_rank(matrix: jax.Array, probe: jax.Array) -> Any:
    """Returns a decomposition of low rank by random projections and two power iterations."""
    space = jnp.linalg.qr(matrix @ probe)[0]
    for _ in range(2):
        space = jnp.linalg.qr(matrix @ jnp.linalg.qr(matrix.T @ space)[0])[0]
    left, sizes, right = jnp.linalg.svd(space.T @ matrix, full_matrices=False)
    return space @ left, sizes, right


def orthogonal(gradients: jax.Array) -> jax.Array:
    """Returns matrices made orthogonal by five rounds of Newton and Schulz, as Muon does."""
    x = gradients / (jnp.linalg.norm(gradients, axis=(-2, -1), keepdims=True) + 1e-7)
    for _ in range(5):
        square = x @ jnp.swapaxes(x, -1, -2)
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x


def roots(matrices: jax.Array) -> jax.Array:
    """Returns inverse fourth roots of matrices by eigenvectors, as Shampoo does."""
    values, vectors = jnp.linalg.eigh(symmetric(matrices))
    scaled = vectors * values[..., None, :] ** -0.25
    return scaled @ jnp.swapaxes(vectors, -1, -2)


def lanczos(matrix: jax.Array, start: jax.Array) -> jax.Array:
    """Returns extreme eigenvalues by 32 steps of Lanczos' method, made orthogonal again."""
    steps = 32
    matrix = 0.5 * (matrix + matrix.T)

    def step(index: int, carry: Any) -> Any:
        basis, alphas, betas, vector = carry
        basis = basis.at[index].set(vector)
        image = matrix @ vector
        alpha = vector @ image
        image = image - basis.T @ (basis @ image)
        image = image - basis.T @ (basis @ image)
        beta = jnp.linalg.norm(image)
        return basis, alphas.at[index].set(alpha), betas.at[index].set(beta), image / beta

    vector = start / jnp.linalg.norm(start)
    basis, zeros = jnp.zeros((steps, len(start))), jnp.zeros(steps)
    _, alphas, betas, _ = jax.lax.fori_loop(0, steps, step, (basis, zeros, zeros, vector))
    between = betas[:-1]
    return jnp.linalg.eigvalsh(jnp.diag(alphas) + jnp.diag(between, 1) + jnp.diag(between, -1))


def power_iteration(matrix: jax.Array, start: jax.Array) -> Any:
    """Returns the main direction of a matrix by 200 power iterations."""

    def step(vector: jax.Array, _: None) -> Any:
        image = matrix @ (matrix.T @ vector)
        return image / jnp.linalg.norm(image), jnp.linalg.norm(image)

    return jax.lax.scan(step, start / jnp.linalg.norm(start), length=200)


def tridiagonal(bands: jax.Array, values: jax.Array) -> jax.Array:
    """Solves tridiagonal systems of a batch by Thomas' algorithm, two scans."""
    lower, upper = 0.5 * jnp.tanh(bands[0]), 0.5 * jnp.tanh(bands[1])

    def down(carry: Any, row: Any) -> Any:
        above, before = carry
        low, up, value = row
        pivot = 2.0 - low * above
        new = (up / pivot, (value - low * before) / pivot)
        return new, new

    start = (jnp.zeros(values.shape[1]), jnp.zeros(values.shape[1]))
    _, rows = jax.lax.scan(down, start, (lower, upper, values))

    def back(after: jax.Array, row: Any) -> Any:
        result = row[1] - row[0] * after
        return result, result

    return jax.lax.scan(back, start[0], rows, reverse=True)[1]


def hand_cholesky(matrices: jax.Array) -> jax.Array:
    """Returns Cholesky factors of many small matrices by a loop over columns."""
    definite = symmetric(matrices)
    size = definite.shape[-1]

    def column(index: int, factor: jax.Array) -> jax.Array:
        row = factor[:, index]
        rest = definite[:, :, index] - jnp.einsum("bij,bj->bi", factor, row)
        scaled = rest / jnp.sqrt(rest[:, index])[:, None]
        return factor.at[:, :, index].set(jnp.where(jnp.arange(size) >= index, scaled, 0.0))

    return jax.lax.fori_loop(0, size, column, jnp.zeros_like(definite))


def recipes() -> Iterator[Recipe]:
    """Yields the programs of dense linear algebra."""
    dense, factors = "dense-linear-algebra", "decomposition"
    programs = (
        (f"{dense}/whitened/n2048-d256", whitened, (array(2048, 256),)),
        (f"{dense}/density/grad-b128-n32", density_gradient, (array(128, 32), array(128, 32, 32))),
        (f"{dense}/solved/n384", solved, (array(384, 384), array(384, 8))),
        (f"{dense}/expm/n256", linalg.expm, (array(256, 256),)),
        (f"{dense}/orthogonal/b4-n256", orthogonal, (array(4, 256, 256),)),
        (f"{dense}/lanczos/n512-k32", lanczos, (array(512, 512), array(512))),
        (f"{dense}/power-iteration/n512-t200", power_iteration, (array(512, 512), array(512))),
        (f"{dense}/tridiagonal/b512-n1024", tridiagonal, (array(2, 1024, 512), array(1024, 512))),
        (f"{factors}/principal/n2048-d128", principal, (array(2048, 128),)),
        (f"{factors}/qr/b16-n256-d64", jnp.linalg.qr, (array(16, 256, 64),)),
        (
            f"{factors}/qr/grad-b16-n128-d32",
            jax.vmap(summed(jnp.linalg.qr)),
            (array(16, 128, 32),),
        ),
        (
            f"{factors}/svd/n96-d64",
            lambda a: jnp.linalg.svd(a, full_matrices=False),
            (array(96, 64),),
        ),
        (f"{factors}/low-rank/n512-k16", low_rank, (array(512, 256), array(256, 16))),
        (f"{factors}/roots/b16-n64", roots, (array(16, 64, 64),)),
        (f"{factors}/hand-cholesky/b256-n32", hand_cholesky, (array(256, 32, 32),)),
        (f"{factors}/lu/n256", lambda a: linalg.lu(a + jnp.eye(256)), (array(256, 256),)),
        (
            f"{factors}/least-squares/b16-n128-d32",
            jax.vmap(lambda a, b: jnp.linalg.lstsq(a, b)[0]),
            (array(16, 128, 32), array(16, 128, 4)),
        ),
    )
    for name, function, arguments in programs:
        words = " ".join(name.split("/")[:2])
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
