"""Minimisation: regressions, curves, bundles, fixed points, projections, linear programs."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import jaxopt
import optax
import optimistix as optx
from jaxopt import objective, projection, prox
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "optimizer"


def lasso(iterations: int) -> Callable[..., Any]:
    """Returns a sparse regression by jaxopt's accelerated proximal gradients."""
    solver = jaxopt.ProximalGradient(
        objective.least_squares, prox.prox_lasso, stepsize=0.2, maxiter=iterations, tol=0.0
    )

    def fit(matrix: jax.Array, values: jax.Array, penalty: jax.Array) -> jax.Array:
        start = jnp.zeros(matrix.shape[1])
        return solver.run(start, 1e-3 * penalty, (matrix, values)).params

    return fit


def quasi_newton(inputs: jax.Array, noise: jax.Array) -> Any:
    """Fits a logistic regression of ten classes by 30 steps of optax's L-BFGS."""
    labels = jnp.argmax(noise, axis=1)
    transform = optax.lbfgs(memory_size=10)

    def loss(weights: jax.Array) -> jax.Array:
        losses = optax.softmax_cross_entropy_with_integer_labels(inputs @ weights, labels)
        return losses.mean() + 1e-3 * jnp.sum(weights**2)

    def step(carry: Any, _: None) -> Any:
        weights, state = carry
        value, slope = optax.value_and_grad_from_state(loss)(weights, state=state)
        updates, state = transform.update(
            slope, state, weights, value=value, grad=slope, value_fn=loss
        )
        return (optax.apply_updates(weights, updates), state), value

    weights = jnp.zeros((inputs.shape[1], noise.shape[1]))
    return jax.lax.scan(step, (weights, transform.init(weights)), length=30)[1]


def curves(starts: jax.Array, data: jax.Array) -> jax.Array:
    """Fits two exponentials to many curves by optimistix's Levenberg-Marquardt method."""
    times = jnp.linspace(0.0, 2.0, data.shape[1])

    def residuals(unknowns: jax.Array, values: jax.Array) -> jax.Array:
        heights, rates = jnp.split(unknowns, 2)
        return jnp.exp(-jnp.exp(0.3 * rates) * times[:, None]) @ heights - values

    def fit(start: jax.Array, values: jax.Array) -> jax.Array:
        solver = optx.LevenbergMarquardt(rtol=1e-4, atol=1e-4)
        return optx.least_squares(
            residuals, solver, start, args=values, max_steps=16, throw=False
        ).value

    return jax.vmap(fit)(starts, data)


def bundle(cameras: jax.Array, points: jax.Array, seen: jax.Array) -> Any:
    """Adjusts cameras and points by five steps of Gauss and Newton with dense Jacobians."""

    def residuals(unknowns: jax.Array) -> jax.Array:
        first, second = unknowns[: cameras.size], unknowns[cameras.size :]
        views, places = first.reshape(cameras.shape), second.reshape(points.shape)
        apart = places[None] - views[:, None]
        image = apart[..., :2] / (2.0 + jnp.tanh(apart[..., 2:]))
        return (image - seen).reshape(-1)

    def step(unknowns: jax.Array, _: None) -> Any:
        slope, error = jax.jacfwd(residuals)(unknowns), residuals(unknowns)
        normal = slope.T @ slope + 0.1 * jnp.eye(len(unknowns))
        return unknowns - jnp.linalg.solve(normal, slope.T @ error), jnp.sum(error**2)

    start = jnp.concatenate([cameras.reshape(-1), points.reshape(-1)])
    return jax.lax.scan(step, start, length=5)


def equilibrium(state: jax.Array, weights: jax.Array, inputs: jax.Array) -> Any:
    """Finds a layer's fixed point by 30 rounds of Anderson's acceleration, five states deep."""
    depth = 5

    def layer(state: jax.Array) -> jax.Array:
        return jnp.tanh(0.5 * state @ weights + inputs)

    def step(carry: Any, index: jax.Array) -> Any:
        states, images = carry
        rest = images - states
        gram = jnp.einsum("kbd,lbd->bkl", rest, rest) + 1e-3 * jnp.eye(depth)
        shares = jnp.linalg.solve(gram, jnp.ones((state.shape[0], depth, 1)))[..., 0]
        shares = shares / shares.sum(axis=1, keepdims=True)
        new = jnp.einsum("bk,kbd->bd", shares, images)
        place = index % depth
        states = states.at[place].set(new)
        images = images.at[place].set(layer(new))
        return (states, images), jnp.sum((images[place] - new) ** 2)

    states = [state]
    for _ in range(depth - 1):
        states.append(layer(states[-1]))
    stacked = jnp.stack(states)
    return jax.lax.scan(step, (stacked, jax.vmap(layer)(stacked)), jnp.arange(30))


def simplex_descent(matrix: jax.Array, values: jax.Array) -> jax.Array:
    """Fits mixtures on the simplex by 50 steps of gradients and jaxopt's projection."""
    steps = 1.0 / jnp.sum(matrix**2)

    def step(_: int, weights: jax.Array) -> jax.Array:
        slope = (weights @ matrix - values) @ matrix.T
        return jax.vmap(projection.projection_simplex)(weights - steps * slope)

    start = jnp.full((len(values), len(matrix)), 1 / len(matrix))
    return jax.lax.fori_loop(0, 50, step, start)


def alternating(matrix: jax.Array, values: jax.Array, penalty: jax.Array) -> jax.Array:
    """Fits sparse regressions by 100 rounds of alternating directions, one Cholesky factor."""
    normal = matrix.T @ matrix + jnp.eye(matrix.shape[1])
    factor = jax.scipy.linalg.cho_factor(normal)
    image = matrix.T @ values

    def step(carry: Any, _: None) -> Any:
        z, u = carry
        x = jax.scipy.linalg.cho_solve(factor, image + z - u)
        moved = x + u
        z = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - 1e-2 * penalty, 0.0)
        return (z, u + x - z), None

    zeros = jnp.zeros(image.shape)
    return jax.lax.scan(step, (zeros, zeros), length=100)[0][0]


def interior(costs: jax.Array, matrix: jax.Array, slack: jax.Array) -> jax.Array:
    """Solves linear programs of a batch by 200 steps of primal and dual gradients (PDHG)."""
    limit = jnp.abs(slack) + 1.0
    rate = 0.9 / jnp.linalg.norm(matrix, axis=(-2, -1), keepdims=True)[..., 0]

    def step(_: int, carry: Any) -> Any:
        x, y = carry
        slope = costs + jnp.einsum("bij,bi->bj", matrix, y)
        new = jnp.clip(x - rate * slope, 0.0, 10.0)
        image = jnp.einsum("bij,bj->bi", matrix, 2 * new - x)
        return new, jnp.maximum(y + rate * (image - limit), 0.0)

    start = (jnp.zeros_like(costs), jnp.zeros_like(slack))
    return jax.lax.fori_loop(0, 200, step, start)[0]


def recipes() -> Iterator[Recipe]:
    """Yields the fits, by library."""
    rows, values, scalar = array(1024, 256), array(1024), array()
    by_library: dict[str, tuple[tuple[str, Any, tuple[Any, ...]], ...]] = {
        "jax": (
            ("bundle/c8-p32", bundle, (array(8, 3), array(32, 3), array(8, 32, 2))),
            (
                "equilibrium/b64-d128-t30",
                equilibrium,
                (array(64, 128), array(128, 128), array(64, 128)),
            ),
            ("alternating/n1024-d256", alternating, (rows, array(1024, 8), scalar)),
            (
                "interior/b16-n64-m48",
                interior,
                (array(16, 64), array(16, 48, 64), array(16, 48)),
            ),
        ),
        "jaxopt": (
            ("lasso/n1024-d256-t100", lasso(100), (rows, values, scalar)),
            ("simplex/b64-k64-d128", simplex_descent, (array(64, 128), array(64, 128))),
        ),
        "optax": (("lbfgs/n4096-d64", quasi_newton, (array(4096, 64), array(4096, 10))),),
        "optimistix": (("curves/b128-n64", curves, (array(128, 4), array(128, 64))),),
    }
    for library, programs in by_library.items():
        for name, function, arguments in programs:
            words = f"{library}, {name.split('/')[0]}"
            program = Program(f"{FAMILY}/{name}", words, function, arguments)
            yield from program_recipes(library, [program])
