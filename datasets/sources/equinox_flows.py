"""Flows of equinox's modules: a normalizing flow, a neural ODE and a deep equilibrium."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from recipe import Recipe, array
from sources.equinox_models import LIBRARY, Row, classified, model_recipes, task_of
from tasks import Task, task_recipes


class Coupling(eqx.Module):
    """Normalizing flow of affine couplings (RealNVP); `inverse` goes from noise to data."""

    nets: list[eqx.nn.MLP]
    size: int = eqx.field(static=True)

    def __init__(self, size: int, layers: int, hidden: int, rng: jax.Array) -> None:
        rngs = jax.random.split(rng, layers)
        half = size // 2
        self.nets = [eqx.nn.MLP(half, 2 * half, hidden, 2, key=one) for one in rngs]
        self.size = size

    def __call__(self, values: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = jnp.zeros(())
        for net in self.nets:
            kept, moved = jnp.split(values, 2)
            scale, shift = jnp.split(net(kept), 2)
            scale = jnp.tanh(scale)
            total = total + scale.sum()
            values = jnp.concatenate([moved * jnp.exp(scale) + shift, kept])
        return values, total

    def inverse(self, values: jax.Array) -> jax.Array:
        """Returns the data that the forward pass would send to these values."""
        for net in reversed(self.nets):
            moved, kept = jnp.split(values, 2)
            scale, shift = jnp.split(net(kept), 2)
            values = jnp.concatenate([kept, (moved - shift) * jnp.exp(-jnp.tanh(scale))])
        return values


class Flow(eqx.Module):
    """Neural ODE: a vector field integrated by fixed Runge-Kutta steps."""

    field: eqx.nn.MLP

    def __init__(self, size: int, hidden: int, depth: int, rng: jax.Array) -> None:
        self.field = eqx.nn.MLP(size + 1, size, hidden, depth, jax.nn.softplus, key=rng)

    def slope(self, time: jax.Array, position: jax.Array) -> jax.Array:
        """Returns the vector field at a time and position."""
        return self.field(jnp.append(position, time))

    def step(self, position: jax.Array, time: jax.Array, size: jax.Array) -> jax.Array:
        """Returns the position after one classical Runge-Kutta step."""
        first = self.slope(time, position)
        second = self.slope(time + size / 2, position + size / 2 * first)
        third = self.slope(time + size / 2, position + size / 2 * second)
        fourth = self.slope(time + size, position + size * third)
        return position + size / 6 * (first + 2 * second + 2 * third + fourth)

    def __call__(self, start: jax.Array, times: jax.Array) -> jax.Array:
        def step(position: jax.Array, interval: jax.Array) -> tuple[jax.Array, jax.Array]:
            position = self.step(position, interval[0], interval[1] - interval[0])
            return position, position

        intervals = jnp.stack([times[:-1], times[1:]], axis=-1)
        return jax.lax.scan(step, start, intervals)[1]


class Equilibrium(eqx.Module):
    """Deep equilibrium: a layer's fixed point, differentiated implicitly or through the loop."""

    layer: eqx.nn.Linear
    inject: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear
    implicit: bool = eqx.field(static=True)

    def __init__(self, width: int, implicit: bool, rng: jax.Array) -> None:
        one, two, three = jax.random.split(rng, 3)
        self.layer = eqx.nn.Linear(width, width, key=one)
        self.inject = eqx.nn.Linear(16, width, key=two)
        self.norm = eqx.nn.LayerNorm(width)
        self.head = eqx.nn.Linear(width, 10, key=three)
        self.implicit = implicit

    def __call__(self, inputs: jax.Array) -> jax.Array:
        def step(state: jax.Array) -> jax.Array:
            return self.norm(jnp.tanh(self.layer(state) + self.inject(inputs)))

        start = jnp.zeros(self.layer.out_features)
        if not self.implicit:
            state = jax.lax.scan(lambda state, _: (step(state), None), start, None, 12)[0]
            return self.head(state)

        def solve(function: Any, guess: jax.Array) -> jax.Array:
            def going(carry: Any) -> Any:
                return (jnp.linalg.norm(function(carry[0])) > 1e-3) & (carry[1] < 30)

            def body(carry: Any) -> Any:
                return carry[0] - 0.5 * function(carry[0]), carry[1] + 1

            return jax.lax.while_loop(going, body, (guess, 0))[0]

        def tangent(function: Any, value: jax.Array) -> jax.Array:
            matrix = jax.jacobian(function)(jnp.zeros_like(value))
            return jnp.linalg.solve(matrix, value)

        return self.head(jax.lax.custom_root(lambda s: s - step(s), start, solve, tangent))


def coupling_task(size: int, layers: int, hidden: int) -> Task:
    """Returns density estimation; the forward pass draws samples."""

    def score(model: Any, values: jax.Array) -> jax.Array:
        noise, logs = jax.vmap(model)(values)
        return jnp.mean(0.5 * jnp.sum(noise**2, axis=-1) - logs)

    def forward(model: Any, values: jax.Array) -> jax.Array:
        return jax.vmap(model.inverse)(values)

    batch = (array(8, size),)
    return task_of(lambda rng: Coupling(size, layers, hidden, rng), batch, forward, score)


def ode_task(hidden: int, depth: int, *, batch: int, steps: int) -> Task:
    """Returns fitting of trajectories with a neural ODE.

    Args:
        hidden: Width of the vector field's layers.
        depth: Hidden layers.
        batch: Trajectories in a batch.
        steps: Points of a trajectory after its start.
    """

    def forward(model: Any, paths: jax.Array, times: jax.Array) -> jax.Array:
        return jax.vmap(model, in_axes=(0, None))(paths[:, 0], times)

    def score(model: Any, paths: jax.Array, times: jax.Array) -> jax.Array:
        return jnp.mean((forward(model, paths, times) - paths[:, 1:]) ** 2)

    arrays = (array(batch, steps + 1, 4), array(steps + 1))
    return task_of(lambda rng: Flow(4, hidden, depth, rng), arrays, forward, score)


def equilibrium_task(width: int, implicit: bool) -> Task:
    """Returns classification with a deep equilibrium layer."""
    vectors, labels = array(4, 16), array(4, dtype=jnp.int32)
    return classified(lambda rng: Equilibrium(width, implicit, rng), vectors, labels)


def recipes() -> Iterator[Recipe]:
    """Yields the normalizing flows, deep equilibria and neural ODEs."""
    rows: list[Row] = [
        ("normalizing-flow", "d4-l2", partial(coupling_task, 4, 2, 16), "forward grad"),
        ("normalizing-flow", "d6-l4", partial(coupling_task, 6, 4, 16), "train-adam hvp"),
        ("normalizing-flow", "d8-l8", partial(coupling_task, 8, 8, 24), "forward loop-adam"),
        ("deep-equilibrium", "loop", partial(equilibrium_task, 24, False), "forward train-adam"),
        ("deep-equilibrium", "implicit", partial(equilibrium_task, 24, True), "forward train-adam"),
    ]
    yield from model_recipes(rows)
    words = "Neural ODE in equinox, fourth-order Runge-Kutta under scan"
    yield from task_recipes(
        "neural-ode",
        LIBRARY,
        "h16-d1",
        f"{words}, h16, batch 4, 8 steps",
        partial(ode_task, 16, 1, batch=4, steps=8),
        {"forward-b4-t8": "forward", "grad-b4-t8": "grad"},
    )
    yield from task_recipes(
        "neural-ode",
        LIBRARY,
        "h32-d2",
        f"{words}, h32 d2, batch 8, 12 steps",
        partial(ode_task, 32, 2, batch=8, steps=12),
        {"train-adamw-b8-t12": "train-adamw"},
    )
