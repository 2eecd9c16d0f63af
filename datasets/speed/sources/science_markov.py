"""Hidden Markov models: likelihoods, decoding and training, sequential and parallel in time."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "hidden-markov"


def emitted(emission: jax.Array, symbols: jax.Array) -> jax.Array:
    """Returns log probabilities of symbols, times by states."""
    return jax.nn.log_softmax(emission, axis=1).T[symbols]


def forward(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> Any:
    """Runs the forward algorithm in logarithms; returns messages and the log likelihood."""
    moves = jax.nn.log_softmax(transition, axis=1)
    rows = emitted(emission, symbols)

    def step(message: jax.Array, row: jax.Array) -> Any:
        message = logsumexp(message[:, None] + moves, axis=0) + row
        return message, message

    start = rows[0] - jnp.log(len(moves))
    last, messages = jax.lax.scan(step, start, rows[1:])
    return messages, logsumexp(last)


def scaled_forward(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> Any:
    """Runs the forward algorithm in probabilities that are scaled at each step."""
    moves = jax.nn.softmax(transition, axis=1)
    rows = jnp.exp(emitted(emission, symbols))

    def step(message: jax.Array, row: jax.Array) -> Any:
        message = (message @ moves) * row
        total = message.sum()
        return message / total, jnp.log(total)

    return jax.lax.scan(step, jnp.full(len(moves), 1 / len(moves)), rows)


def gradient(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> Any:
    """Returns the log likelihood of a batch of sequences and its gradient."""

    def loss(transition: jax.Array, emission: jax.Array) -> jax.Array:
        run = jax.vmap(lambda one: forward(transition, emission, one)[1])
        return -run(symbols).mean()

    return jax.value_and_grad(loss, (0, 1))(transition, emission)


def parallel(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> jax.Array:
    """Returns all forward messages by an associative scan over log matrices."""
    moves = jax.nn.log_softmax(transition, axis=1)
    steps = moves + emitted(emission, symbols)[:, None, :]

    def combine(first: jax.Array, second: jax.Array) -> jax.Array:
        return logsumexp(first[..., :, :, None] + second[..., None, :, :], axis=-2)

    return logsumexp(jax.lax.associative_scan(combine, steps), axis=1)


def parallel_scaled(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> Any:
    """Returns all forward messages by an associative scan over matrices that are scaled."""
    moves = jax.nn.softmax(transition, axis=1)
    steps = moves * jnp.exp(emitted(emission, symbols))[:, None, :]

    def combine(first: Any, second: Any) -> Any:
        product = first[0] @ second[0]
        size = product.max(axis=(-1, -2), keepdims=True)
        return product / size, first[1] + second[1] + jnp.log(size)

    start = jnp.zeros((len(steps), 1, 1))
    products, logs = jax.lax.associative_scan(combine, (steps, start))
    return products.sum(axis=1), logs[:, 0, 0]


def viterbi(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> Any:
    """Returns the most likely states by Viterbi's algorithm, and their log probability."""
    moves = jax.nn.log_softmax(transition, axis=1)
    rows = emitted(emission, symbols)

    def step(score: jax.Array, row: jax.Array) -> Any:
        options = score[:, None] + moves
        return options.max(axis=0) + row, options.argmax(axis=0)

    score, choices = jax.lax.scan(step, rows[0], rows[1:])
    last = score.argmax()

    def back(state: jax.Array, choice: jax.Array) -> Any:
        return choice[state], choice[state]

    return jax.lax.scan(back, last, choices, reverse=True)[1], score.max()


def baum_welch(transition: jax.Array, emission: jax.Array, symbols: jax.Array) -> Any:
    """Trains by four rounds of Baum and Welch's algorithm on a batch of sequences."""
    count = emission.shape[1]

    def expected(moves: jax.Array, rows: jax.Array) -> Any:
        def ahead(message: jax.Array, row: jax.Array) -> Any:
            message = (message @ moves) * row
            message = message / message.sum()
            return message, message

        def behind(message: jax.Array, row: jax.Array) -> Any:
            earlier = moves @ (row * message)
            return earlier / earlier.sum(), message

        size = len(moves)
        _, alphas = jax.lax.scan(ahead, jnp.full(size, 1 / size), rows)
        _, betas = jax.lax.scan(behind, jnp.full(size, 1 / size), rows, reverse=True)
        states = alphas * betas
        pairs = alphas[:-1, :, None] * moves * (rows * betas)[1:, None, :]
        states = states / states.sum(axis=1, keepdims=True)
        return states, (pairs / pairs.sum(axis=(1, 2), keepdims=True)).sum(axis=0)

    def round_of(carry: Any, _: None) -> Any:
        moves, symbol = carry
        states, pairs = jax.vmap(lambda one: expected(moves, symbol.T[one]))(symbols)
        moves = pairs.sum(axis=0) + 1e-3
        seen = jnp.einsum("bts,btk->sk", states, jax.nn.one_hot(symbols, count)) + 1e-3
        moves, seen = moves / moves.sum(1, keepdims=True), seen / seen.sum(1, keepdims=True)
        return (moves, seen), None

    start = (jax.nn.softmax(transition, axis=1), jax.nn.softmax(emission, axis=1))
    return jax.lax.scan(round_of, start, length=4)[0]


def sampled(transition: jax.Array, messages: jax.Array, uniform: jax.Array) -> jax.Array:
    """Draws states backwards from forward messages by inverting cumulative sums."""
    moves = jax.nn.softmax(transition, axis=1)

    def back(state: jax.Array, row: Any) -> Any:
        message, drawn = row
        heights = jnp.cumsum(jnp.exp(message) * moves[:, state])
        state = jnp.searchsorted(heights, jax.nn.sigmoid(drawn) * heights[-1])
        return state, state

    start = jnp.zeros((), jnp.int32)
    return jax.lax.scan(back, start, (messages, uniform), reverse=True)[1]


def recipes() -> Iterator[Recipe]:
    """Yields the algorithms of hidden Markov models."""

    def model(states: int, symbols: int, *shape: int) -> tuple[Any, ...]:
        return array(states, states), array(states, symbols), array(*shape, dtype=jnp.int32)

    programs = (
        ("forward/s64-t512", "forward algorithm in logarithms", forward, model(64, 32, 512)),
        (
            "forward-scaled/s128-t1024",
            "forward algorithm in scaled probabilities",
            scaled_forward,
            model(128, 64, 1024),
        ),
        (
            "likelihood/grad-b16-s32-t128",
            "mean log likelihood in logarithms and gradient",
            gradient,
            model(32, 16, 16, 128),
        ),
        (
            "associative/s16-t512",
            "forward messages by an associative scan in logarithms",
            parallel,
            model(16, 32, 512),
        ),
        (
            "associative-scaled/s32-t1024",
            "forward messages by an associative scan of scaled matrices",
            parallel_scaled,
            model(32, 32, 1024),
        ),
        ("viterbi/s128-t512", "Viterbi decoding", viterbi, model(128, 32, 512)),
        (
            "viterbi/b32-s16-t256",
            "Viterbi decoding of a batch",
            jax.vmap(viterbi, (None, None, 0)),
            model(16, 32, 32, 256),
        ),
        (
            "baum-welch/b8-s32-t128",
            "four rounds of Baum and Welch's algorithm",
            baum_welch,
            model(32, 32, 8, 128),
        ),
        (
            "sampling/s64-t2048",
            "states drawn backwards",
            sampled,
            (array(64, 64), array(2048, 64), array(2048)),
        ),
    )
    yield from program_recipes(
        LIBRARY, [Program(f"{FAMILY}/{name}", *others) for name, *others in programs]
    )
