"""Recurrent networks, whose loops are calls of a native kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program
from benchmarks.speed_rules.topics import loops

Cell = Callable[[Any, Any, jax.Array, jax.Array], Any]
"""The next state, by the state, a row of the input, and matrices of the input and the state."""


def plain(state: Any, row: Any, inner: jax.Array, outer: jax.Array) -> Any:
    """Returns the next state of a network without gates."""
    return jnp.tanh(row @ inner + state @ outer)


def rectified(state: Any, row: Any, inner: jax.Array, outer: jax.Array) -> Any:
    """Returns the next state of a network of linear units that are cut at zero."""
    given = row @ inner + state @ outer
    return jnp.where(given > 0, given, 0.1 * given)


def long_short_term(state: Any, row: Any, inner: jax.Array, outer: jax.Array) -> Any:
    """Returns the next state of a long short-term memory: what is shown, and what is kept."""
    hidden, memory = state
    gates = jnp.split(row @ inner + hidden @ outer + 0.1, 4, axis=-1)
    enter, forget, leave = map(jax.nn.sigmoid, (gates[0], gates[1], gates[3]))
    memory = forget * memory + enter * jnp.tanh(gates[2])
    return leave * jnp.tanh(memory), memory


def gated_unit(state: Any, row: Any, inner: jax.Array, outer: jax.Array) -> Any:
    """Returns the next state of a gated recurrent unit, by two products of the state."""
    width = state.shape[-1]
    given = row @ inner
    gates = jax.nn.sigmoid(given[..., : 2 * width] + state @ outer[:, : 2 * width])
    reset, update = jnp.split(gates, 2, axis=-1)
    new = jnp.tanh(given[..., 2 * width :] + (reset * state) @ outer[:, 2 * width :])
    return update * state + (1 - update) * new


def joined(state: Any, row: Any, inner: jax.Array, outer: jax.Array) -> Any:
    """Returns the next state by a product of both halves of the state in turn."""
    halves = jnp.split(state, 2, axis=-1)
    turned = jnp.concatenate([halves[1], halves[0]], axis=-1)
    return lax.rsqrt(1 + (row @ inner + turned @ outer) ** 2)


CELLS: dict[Cell, int] = {plain: 1, rectified: 1, long_short_term: 4, gated_unit: 3, joined: 1}
"""Cells, and how many times the state's columns their matrices have."""


def run(
    cell: Cell,
    inner: jax.Array,
    outer: jax.Array,
    series: jax.Array,
    start: jax.Array,
    *,
    reverse: bool = False,
) -> Any:
    """Runs a network on a series; returns its last state, and what it shows in each iteration."""

    def step(state: Any, row: jax.Array) -> Any:
        state = cell(state, row, inner, outer)
        return state, state[0] if isinstance(state, tuple) else state

    return lax.scan(
        step, (start, start) if cell is long_short_term else start, series, reverse=reverse
    )


def memory(*arguments: jax.Array) -> Any:
    """Runs a long short-term memory."""
    return run(long_short_term, *arguments)


def units(*arguments: jax.Array) -> Any:
    """Runs a network of gated recurrent units."""
    return run(gated_unit, *arguments)


def memory_loss(*arguments: jax.Array) -> Any:
    """Returns gradients of the matrices of a long short-term memory."""
    return jax.grad(lambda *given: (memory(*given)[1] ** 2).mean(), (0, 1))(*arguments)


def networks(rng: Random) -> str:
    """Draws a network of cells of any kind, on a batch of series or on one."""
    steps, batch, inputs, half = (rng.randint(2, 7) for _ in range(4))
    cell, width = rng.choice([*CELLS]), 2 * half + 6
    columns = CELLS[cell] * width
    batches = rng.choice([(batch,), (2, batch), ()])
    return lowered(
        partial(run, cell, reverse=rng.random() < 0.5),
        array(inputs, columns),
        array(width, columns),
        array(steps, *batches, inputs),
        array(*batches, width),
    )


def _stepping(step: Callable[[jax.Array, jax.Array, Any], jax.Array]) -> Callable[..., Any]:
    """Returns a loop over the rows of an array, whose state is a function of it and a matrix."""
    return lambda matrix, state, rows: lax.scan(
        lambda state, row: (step(state, matrix, row), state.sum()), state, rows
    )[0]


def _until(matrix: jax.Array, state: jax.Array) -> jax.Array:
    return lax.while_loop(lambda s: s.sum() < 9, lambda s: jnp.abs(s @ matrix) + 1, state)


def _changing(matrix: jax.Array, state: jax.Array) -> Any:
    return lax.fori_loop(
        0, 5, lambda i, two: (two[0] * 0.9, jnp.tanh(two[1] @ two[0])), (matrix, state)
    )


_ARGUMENTS = "8x8 4x8 5x4x8"

PROGRAMS: Programs = {}
REFUSED: Refused = {
    "kernel-recurrence": {
        "states of double precision": program(loops.small_system, "f64:8x8 f64:8"),
        "states of half precision": program(loops.small_system, "bf16:8x8 bf16:8"),
        "no product": program(_stepping(lambda s, m, x: jnp.tanh(s + x)), _ARGUMENTS),
        "rows that meet": program(
            _stepping(lambda s, m, x: s @ m + x.mean() * s.mean(0)), _ARGUMENTS
        ),
        "columns that meet": program(
            _stepping(lambda s, m, x: s @ m - s.mean(-1, keepdims=True)), _ARGUMENTS
        ),
        "products of rows": program(_stepping(lambda s, m, x: (s @ m) @ (s.T @ x)), _ARGUMENTS),
        "another matrix in each iteration": program(
            _stepping(lambda s, m, x: jnp.tanh(s @ x)), "8x8 4x8 5x8x8"
        ),
        "rows as columns": program(
            _stepping(lambda s, m, x: jnp.tanh(m @ s + x.T)), "8x8 8x4 5x4x8"
        ),
        "rows in another order": program(
            _stepping(lambda s, m, x: jnp.tanh(s[::-1] @ m)), _ARGUMENTS
        ),
        "places of elements": program(
            _stepping(lambda s, m, x: m[jnp.argmax(s @ m, -1)]), _ARGUMENTS
        ),
        "a function that the kernel does not have": program(
            _stepping(lambda s, m, x: jnp.arctan2(s @ m, x)), _ARGUMENTS
        ),
        "a matrix that iterations change": program(_changing, "8x8 4x8"),
        "iterations until something holds": program(_until, "8x8 4x8"),
    },
}
