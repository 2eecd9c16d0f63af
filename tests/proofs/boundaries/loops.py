"""Loops and functions on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import array, lowered
from tests.proofs.boundaries.boundary import Boundary, MakeProgram, either, of


def _power(exponent: float) -> Callable[[], str]:
    return of(lambda x: (x * x + 0.1) ** exponent, "16x16")


def _loop(steps: int, limit: Any = None) -> str:
    def run(state: Any, count: Any) -> Any:
        most = steps if limit is None else count
        return lax.fori_loop(0, most, lambda i, state: state * 0.5 + i, state)

    return lowered(run, array(3), array(dtype="int32"))


def _mixed(mix: Callable[[Any], Any]) -> Callable[[], str]:
    def run(columns: Any, state: Any) -> Any:
        return lax.scan(lambda s, x: (mix(s) + x, s), state, columns.T)[1].T

    return of(run, "65536x8 65536")


def _columns(count: int, limit: Any = None) -> str:
    """Returns a loop over the columns of an array; its state has 32 bytes for each row."""

    def run(columns: Any, most: Any) -> Any:
        def step(i: Any, kept: Any) -> Any:
            return kept.at[i].set(0.9 * kept[i - 1] + kept[i])

        return lax.fori_loop(1, 8 if limit is None else most, step, columns.T).T

    return lowered(run, array(count, 8), array(dtype="int32"))


def _updates(step: Callable[..., Any]) -> Callable[[], str]:
    """Returns a loop that updates a row."""
    return of(lambda x, i: lax.fori_loop(0, 4, lambda k, x: step(x, i, k), x), "6 s32:")


def _unrolled(least: int) -> MakeProgram:
    return lambda n: _loop(least, None if n else "given")


def _range_sums(step: Callable[..., Any]) -> Callable[[], str]:
    """Returns a loop of sums of what lies between two bounds."""

    def run(numbers: Any, bounds: Any, x: Any) -> Any:
        def body(i: Any, sums: Any) -> Any:
            mask = (numbers >= bounds[i]) & (numbers < bounds[i + 1])
            return sums.at[i].set(jnp.where(mask, step(i, x), 0).sum())

        return lax.fori_loop(0, 4, body, jnp.zeros(4))

    return of(run, "64 5 64")


def _scan(length: int, exception: int = 0, dtype: str = "float32") -> str:
    """Returns sums up to each number; so many at once are combined in another way."""

    def combine(first: Any, second: Any) -> Any:
        return first - second if len(first) == exception else first + second

    return lowered(lambda x: lax.associative_scan(combine, x), array(length, dtype=dtype))


LOOPS = (
    Boundary(
        "range-sums-by-segment",
        "what is summed does not depend on the iteration",
        either(_range_sums(lambda i, x: x), _range_sums(lambda i, x: x * i)),
    ),
    Boundary("unroll-loop:4", "at least 8 iterations", _loop),
    Boundary("unroll-loop:8", "at least 16 iterations", _loop),
    Boundary("unroll-loop:whole", "at most 16 iterations", _loop),
    *(
        Boundary(
            f"unroll-loop:{kind}",
            "the loop counts from a constant to a constant by a constant",
            _unrolled(16),
        )
        for kind in ("4", "8", "whole")
    ),
    Boundary(
        "loop-in-blocks",
        "no operation of an iteration mixes the indices of the dimension",
        either(_mixed(lambda s: 0.9 * s), _mixed(lambda s: jnp.roll(s, 1))),
    ),
    Boundary(
        "loop-in-blocks",
        "the loop counts from a constant to a constant by a constant",
        lambda n: _columns(65536, None if n else "given"),
    ),
    Boundary(
        "loop-in-blocks",
        "at least 1,048,577 bytes",
        lambda n: _columns(-(-n // 32)),
        step=32,
    ),
    Boundary("associative-scan-as-loop", "at least 8 elements", _scan),
    Boundary(
        "associative-scan-as-loop",
        "no floats of half precision",
        lambda n: _scan(14, dtype="float32" if n else "bfloat16"),
    ),
    Boundary(
        "associative-scan-as-loop",
        "all levels combine elements alike",
        lambda n: _scan(14, exception=0 if n else 3),
    ),
    Boundary(
        "associative-scan-as-loop",
        "each index alone",
        either(
            lambda: _scan(14), of(lambda x: lax.associative_scan(lambda a, b: a + b[::-1], x), "14")
        ),
    ),
    Boundary(
        "associative-scan-as-loop",
        "nothing else reads what is inside of the tree",
        either(
            lambda: _scan(14),
            of(jax.grad(lambda x: lax.associative_scan(jnp.multiply, x).sum()), "14"),
        ),
    ),
    Boundary(
        "carried-element",
        "all iterations update one element at the same place",
        either(
            _updates(lambda x, i, k: x.at[i].add(k)), _updates(lambda x, i, k: x.at[i + k].add(k))
        ),
    ),
    Boundary(
        "carried-element",
        "read single elements",
        either(
            _updates(lambda x, i, k: x.at[i].add(x[k])),
            _updates(lambda x, i, k: x.at[i].add(x.sum() * k)),
        ),
    ),
    Boundary(
        "carried-element",
        "the condition of the loop does not read the array",
        either(
            of(lambda x, i: lax.fori_loop(0, i, lambda _, x: x.at[i].add(1), x), "6 s32:"),
            of(
                lambda x, i: lax.while_loop(lambda x: x[i] < 4, lambda x: x.at[i].add(1), x),
                "6 s32:",
            ),
        ),
    ),
    Boundary(
        "hoist-rearrangement",
        "no iteration changes what is rearranged",
        either(
            of(lambda s, w: lax.fori_loop(0, 5, lambda _, s: s @ w.T, s), "32x32 32x32"),
            of(lambda s, w: lax.fori_loop(0, 5, lambda _, s: s.T @ w, s), "32x32 32x32"),
        ),
    ),
)

FUNCTIONS = (
    Boundary("power-as-roots", "a constant multiple of 1/4", either(_power(2.25), _power(2.125))),
    Boundary("power-as-roots", "of at most 8", lambda n: _power(n + 0.25 * (n > 8) - (n > 8))()),
    *(
        Boundary(
            "power-as-roots", "none of -1, 0, 1, 2 and 3", either(_power(2.5), _power(exponent))
        )
        for exponent in (-1.0, 1.0, 2.0, 3.0)
    ),
    Boundary(
        "sine-of-sum",
        "both terms are broadcasts of fewer elements",
        either(
            of(lambda x, y: jnp.sin(x[:, None] + y), "16 16"),
            of(lambda x, y: jnp.sin(x + y), "16x16 16"),
        ),
    ),
)


def _iterated(function: Callable[..., Any], more: str = "") -> Callable[[], str]:
    """Returns a loop of five iterations over rows, each of which is multiplied with more."""

    def run(rows: Any, state: Any, *rest: Any) -> Any:
        return lax.scan(lambda s, row: function(s, row, *rest), state, rows)

    return of(run, f"5x2x3 2x3 {more}")


def _summed(read: bool) -> Callable[[], str]:
    """Returns a loop that adds up products, and perhaps reads the sum in each iteration."""

    def run(rows: Any, state: Any, start: Any) -> Any:
        def step(pair: Any, x: Any) -> Any:
            state, total = pair
            return (jnp.tanh(state + x), total + x.T @ state), total.sum() if read else None

        return lax.scan(step, (state, start), rows)

    return of(run, "5x2x3 2x3 3x3")


ITERATIONS = (
    Boundary(
        "hoist-projection",
        "an operand of the product is the same in all iterations",
        either(
            _iterated(lambda s, x, w: (jnp.tanh(s) + x @ w, None), "3x3"),
            _iterated(lambda s, x: (jnp.tanh(s) + x @ (s.T @ s), None)),
        ),
    ),
    Boundary(
        "hoist-projection",
        "the other one depends on the number of the iteration alone",
        either(
            _iterated(lambda s, x, w: (jnp.tanh(s) + x @ w, None), "3x3"),
            _iterated(lambda s, x, w: (jnp.tanh(s) + (x + s) @ w, None), "3x3"),
        ),
    ),
    Boundary(
        "hoist-iterations",
        "what moves depends on the number of the iteration alone",
        either(
            _iterated(lambda s, x: (s * jnp.tanh(x), s.sum())),
            _iterated(lambda s, x: (jnp.tanh(s) * x, s.sum())),
        ),
    ),
    Boundary(
        "sink-projection",
        "of an array that nothing else uses",
        either(
            _iterated(lambda s, x, w: (jnp.tanh(s + x), s @ w), "3x3"),
            _iterated(lambda s, x, w: ((y := jnp.tanh(s + x) @ w), y), "3x3"),
        ),
    ),
    Boundary(
        "sink-projection",
        "a factor of the product is the same in all iterations",
        either(
            _iterated(lambda s, x, w: (jnp.tanh(s + x), s @ w), "3x3"),
            _iterated(lambda s, x: (jnp.tanh(s + x), s @ x.T)),
        ),
    ),
    Boundary(
        "sink-accumulation",
        "to an element that nothing else uses",
        either(_summed(read=False), _summed(read=True)),
    ),
)
