"""Kalman filters and smoothers: sequential, parallel in time, extended, unscented, by ensemble."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import linalg
from recipe import Recipe, array, key
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "kalman"


def tracking(step: jax.Array, axes: int) -> tuple[jax.Array, jax.Array]:
    """Returns transition and observation of points that move evenly along some axes."""
    motion = jnp.array([[1.0, 0.0], [0.0, 1.0]]).at[0, 1].set(step)
    place = jnp.array([[1.0, 0.0]])
    return jnp.kron(jnp.eye(axes), motion), jnp.kron(jnp.eye(axes), place)


def noises(state: int, seen: int, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the covariances of motion and observation from the logarithms of their sizes."""
    return 0.1 * jnp.exp(noise[0]) * jnp.eye(state), jnp.exp(noise[1]) * jnp.eye(seen)


def filtered(observations: jax.Array, step: jax.Array, noise: jax.Array) -> Any:
    """Runs the Kalman filter; returns means, covariances and the log likelihood."""
    seen = observations.shape[1]
    transition, observe = tracking(step, seen)
    moved, measured = noises(2 * seen, seen, noise)

    def update(carry: Any, observation: jax.Array) -> Any:
        mean, covariance, total = carry
        mean, covariance = transition @ mean, transition @ covariance @ transition.T + moved
        spread = observe @ covariance @ observe.T + measured
        factor = linalg.cho_factor(spread, lower=True)
        gain = linalg.cho_solve(factor, observe @ covariance).T
        error = observation - observe @ mean
        total -= 0.5 * error @ linalg.cho_solve(factor, error)
        total -= jnp.sum(jnp.log(jnp.diagonal(factor[0])))
        mean, covariance = mean + gain @ error, covariance - gain @ observe @ covariance
        return (mean, covariance, total), (mean, covariance)

    start = (jnp.zeros(2 * seen), jnp.eye(2 * seen), 0.0)
    (_, _, total), (means, covariances) = jax.lax.scan(update, start, observations)
    return means, covariances, total


def likelihood_gradient(observations: jax.Array, step: jax.Array, noise: jax.Array) -> Any:
    """Returns the log likelihood of a Kalman filter and its gradient for step and noise."""
    return jax.value_and_grad(lambda *rest: filtered(observations, *rest)[2], (0, 1))(step, noise)


def smoothed(observations: jax.Array, step: jax.Array, noise: jax.Array) -> Any:
    """Runs the Kalman filter, and the smoother of Rauch, Tung and Striebel backwards."""
    means, covariances, _ = filtered(observations, step, noise)
    size = means.shape[1]
    transition, _ = tracking(step, size // 2)
    moved, _ = noises(size, size // 2, noise)

    def back(carry: Any, row: Any) -> Any:
        mean, covariance = row
        predicted = transition @ covariance @ transition.T + moved
        gain = linalg.solve(predicted, transition @ covariance, assume_a="pos").T
        mean = mean + gain @ (carry[0] - transition @ mean)
        covariance = covariance + gain @ (carry[1] - predicted) @ gain.T
        return (mean, covariance), (mean, covariance)

    last = (means[-1], covariances[-1])
    return jax.lax.scan(back, last, (means[:-1], covariances[:-1]), reverse=True)[1]


def parallel_filter(observations: jax.Array, step: jax.Array, noise: jax.Array) -> Any:
    """Runs the Kalman filter by an associative scan (Särkkä and García-Fernández, 2021)."""
    seen = observations.shape[1]
    size = 2 * seen
    transition, observe = tracking(step, seen)
    moved, measured = noises(size, seen, noise)
    inverse = jnp.linalg.inv(observe @ moved @ observe.T + measured)
    gain = moved @ observe.T @ inverse

    def element(observation: jax.Array) -> Any:
        keep = jnp.eye(size) - gain @ observe
        back = transition.T @ observe.T @ inverse
        return (
            keep @ transition,
            gain @ observation,
            keep @ moved,
            back @ observation,
            back @ observe @ transition,
        )

    def combine(first: Any, second: Any) -> Any:
        a, b, c, eta, j = first
        a2, b2, c2, eta2, j2 = second
        mixed = jnp.linalg.solve(jnp.eye(size) + j2 @ c, jnp.eye(size))
        left = a2 @ jnp.linalg.inv(jnp.eye(size) + c @ j2)
        turned = jnp.swapaxes(a, -1, -2) @ mixed
        along = jnp.matvec
        return (
            left @ a,
            along(left, b + along(c, eta2)) + b2,
            left @ c @ jnp.swapaxes(a2, -1, -2) + c2,
            along(turned, eta2 - along(j2, b)) + eta,
            turned @ j2 @ a + j,
        )

    _, means, covariances, _, _ = jax.lax.associative_scan(combine, jax.vmap(element)(observations))
    return means, covariances


def extended(observations: jax.Array, step: jax.Array, noise: jax.Array) -> Any:
    """Runs an extended Kalman filter of a pendulum, linearised by forward differentiation."""

    def motion(state: jax.Array) -> jax.Array:
        angle, speed = state[::2], state[1::2]
        speed = speed - 0.1 * step * jnp.sin(angle)
        return jnp.stack([angle + 0.1 * step * speed, speed], axis=1).reshape(-1)

    def look(state: jax.Array) -> jax.Array:
        return jnp.sin(state[::2])

    moved, measured = noises(2 * observations.shape[1], observations.shape[1], noise)

    def update(carry: Any, observation: jax.Array) -> Any:
        mean, covariance = carry
        along = jax.jacfwd(motion)(mean)
        mean, covariance = motion(mean), along @ covariance @ along.T + moved
        across = jax.jacfwd(look)(mean)
        spread = across @ covariance @ across.T + measured
        gain = jnp.linalg.solve(spread, across @ covariance).T
        mean = mean + gain @ (observation - look(mean))
        return (mean, covariance - gain @ spread @ gain.T), mean

    size = 2 * observations.shape[1]
    return jax.lax.scan(update, (jnp.zeros(size), jnp.eye(size)), observations)


def unscented(observations: jax.Array, step: jax.Array, noise: jax.Array) -> Any:
    """Runs an unscented Kalman filter of three chaotic coordinates (Lorenz's equations)."""

    def motion(state: jax.Array) -> jax.Array:
        x, y, z = state
        change = jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
        return jnp.clip(state + 0.01 * step * change, -50.0, 50.0)

    moved, measured = noises(3, 3, noise)

    def spread_points(mean: jax.Array, covariance: jax.Array) -> jax.Array:
        root = jnp.linalg.cholesky(3.0 * covariance + 1e-4 * jnp.eye(3))
        return jnp.concatenate([mean[None], mean + root.T, mean - root.T])

    weights = jnp.full(7, 1 / 7)

    def update(carry: Any, observation: jax.Array) -> Any:
        points = jax.vmap(motion)(spread_points(*carry))
        mean = weights @ points
        apart = points - mean
        covariance = jnp.einsum("k,ki,kj->ij", weights, apart, apart) + moved
        gain = jnp.linalg.solve(covariance + measured, covariance).T
        mean = mean + gain @ (observation - mean)
        covariance = covariance - gain @ covariance
        return (mean, 0.5 * (covariance + covariance.T)), mean

    return jax.lax.scan(update, (jnp.zeros(3), jnp.eye(3)), observations)


def ensemble(members: jax.Array, observations: jax.Array, rng: jax.Array) -> Any:
    """Runs an ensemble Kalman filter of Lorenz's equations of 1996 on a ring."""

    def flow(state: jax.Array) -> jax.Array:
        ahead, behind, farther = (jnp.roll(state, by, axis=1) for by in (-1, 1, 2))
        return (ahead - farther) * behind - state + 8.0

    def update(members: jax.Array, row: Any) -> Any:
        observation, rng = row
        half = members + 0.005 * flow(members)
        members = members + 0.01 * flow(half)
        mean = members.mean(axis=0)
        apart = members - mean
        seen = apart[:, ::2]
        spread = seen.T @ seen / (len(members) - 1) + jnp.eye(seen.shape[1])
        gain = jnp.linalg.solve(spread, seen.T @ apart / (len(members) - 1)).T
        noise = jax.random.normal(rng, seen.shape)
        return members + (observation + noise - members[:, ::2]) @ gain.T, mean

    rngs = jax.random.split(rng, len(observations))
    return jax.lax.scan(update, members, (observations, rngs))


def recipes() -> Iterator[Recipe]:
    """Yields the filters and smoothers."""
    rest = (array(), array(2))
    programs = (
        ("scan/t512-d8", "Kalman filter by a scan", filtered, (array(512, 4), *rest)),
        (
            "scan/b64-t128-d4",
            "Kalman filters by a scan under vmap",
            jax.vmap(filtered, (0, None, None)),
            (array(64, 128, 2), *rest),
        ),
        (
            "likelihood/grad-t256-d8",
            "log likelihood of a Kalman filter and gradient",
            likelihood_gradient,
            (array(256, 4), *rest),
        ),
        ("smoother/t512-d8", "Kalman filter and smoother", smoothed, (array(512, 4), *rest)),
        (
            "associative/t512-d4",
            "Kalman filter by an associative scan",
            parallel_filter,
            (array(512, 2), *rest),
        ),
        ("extended/t1024-d8", "extended Kalman filter", extended, (array(1024, 4), *rest)),
        ("unscented/t512-d3", "unscented Kalman filter", unscented, (array(512, 3), *rest)),
        (
            "ensemble/m64-t50-d40",
            "ensemble Kalman filter",
            ensemble,
            (array(64, 40), array(50, 20), key()),
        ),
    )
    yield from program_recipes(
        LIBRARY, [Program(f"{FAMILY}/{name}", *others) for name, *others in programs]
    )
