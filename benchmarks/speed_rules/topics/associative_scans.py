"""The rule about associative scans, as of recurrent layers without nonlinear states."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program

Combine = Callable[[Any, Any], Any]
"""Combines two tuples of arrays, the second of which has the elements that come later."""


def then(first: Any, second: Any) -> Any:
    """Composes linear functions h -> a h + b of numbers."""
    return first[0] * second[0], second[0] * first[1] + second[1]


def then_affine(first: Any, second: Any) -> Any:
    """Composes affine functions of vectors."""
    matrix = jnp.einsum("...ij,...jk->...ik", second[0], first[0])
    return matrix, jnp.einsum("...ij,...j->...i", second[0], first[1]) + second[1]


def then_reset(first: Any, second: Any) -> Any:
    """Adds numbers from the last start of a segment on."""
    return first[0] | second[0], jnp.where(second[0], second[1], first[1] + second[1])


def then_complex(first: Any, second: Any) -> Any:
    """Multiplies complex numbers, as pairs of real and imaginary parts."""
    (a, b), (c, d) = first, second
    return a * c - b * d, a * d + b * c


def either(first: Any, second: Any) -> Any:
    """Returns the probabilities that one of two events happens."""
    return (1 - (1 - first[0]) * (1 - second[0]),)


def extremes(first: Any, second: Any) -> Any:
    """Returns the greatest and the least element."""
    return jnp.maximum(first[0], second[0]), jnp.minimum(first[1], second[1])


def recurrent(gates: jax.Array, inputs: jax.Array) -> jax.Array:
    """Returns the states of a layer h = a h + b, with gates from 0 to 1."""
    return lax.associative_scan(then, (jax.nn.sigmoid(gates), inputs))[1]


def rotated(decay: jax.Array, angles: jax.Array, inputs: jax.Array) -> jax.Array:
    """Returns the real parts of complex states that decay and rotate, each with one number."""
    gates = jnp.exp(-jnp.exp(decay) + 1j * angles)
    return lax.associative_scan(then, (jnp.broadcast_to(gates, inputs.shape), inputs))[1].real


def advantages(rewards: jax.Array, values: jax.Array, goes_on: jax.Array) -> jax.Array:
    """Returns generalized advantage estimates, from the last step back."""
    following = jnp.concatenate([values[1:], values[-1:]])
    deltas = rewards + 0.99 * goes_on * following - values
    return lax.associative_scan(then, (0.99 * 0.95 * goes_on, deltas), reverse=True)[1]


def tracked(matrices: jax.Array, shifts: jax.Array) -> jax.Array:
    """Returns the states of an affine system of a few dimensions, as of a Kalman filter."""
    return lax.associative_scan(then_affine, (0.3 * matrices, shifts))[1]


def draw_scan(rng: Random) -> str:
    """Draws scans of one or two arrays, along any dimension, of which some results are used."""
    length, axis = rng.choice([8, 9, 13, 21, 32]), rng.choice([0, 0, 1])
    reverse, batched = rng.random() < 0.5, rng.random() < 0.3
    dtype, (combine, inner) = rng.choice(["float32", "int32"]), (then, (3,))
    kind = rng.randrange(5)
    types = [dtype, dtype]
    if kind == 0:
        combine, inner, axis, types = then_affine, (2,), 0, ["float32", "float32"]
    elif kind == 1:
        combine, types = then_reset, ["bool", dtype]
    elif kind == 2:
        combine = rng.choice([then_complex, extremes])
    elif kind == 3:
        combine, types = either, ["float32"]
    sizes = [length, *inner] if axis == 0 else [*inner, length]
    shapes = [tuple(sizes) for _ in types]
    if combine is then_affine:
        shapes[0] = (*sizes, *inner)
    used = rng.choice([slice(None), slice(-1, None)])

    def scan(*arrays: jax.Array) -> Any:
        return lax.associative_scan(combine, arrays, reverse=reverse, axis=axis)[used]

    batch = (2,) if batched else ()
    arguments = [array(*batch, *each, dtype=of) for each, of in zip(shapes, types, strict=True)]
    return lowered(jax.vmap(scan) if batched else scan, *arguments)


PROGRAMS: Programs = {"associative-scan-as-loop": draw_scan}


def _changed(*changes: tuple[str, str]) -> Callable[[], str]:
    """Returns a scan of 14 numbers with changes of its text."""

    def text() -> str:
        text = program(partial(_scanned, then), "14 14")()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        return text

    return text


def _swapped() -> str:
    """Returns a scan of 14 numbers whose last join swaps those at even and odd indices."""
    text = program(partial(_scanned, then), "14 14")()
    other = {"0_1_1": "1_0_1", "1_0_1": "0_1_1"}
    return re.sub(
        r"(f32\[14\]\S* pad\(.*padding=)(\S+)", lambda match: match[1] + other[match[2]], text
    )


def _scanned(combine: Combine, *arrays: jax.Array) -> Any:
    return lax.associative_scan(combine, arrays)[-1]


def _unlike(size: int) -> Combine:
    """Returns a combination that is another one where it combines so many elements at once."""

    def combine(first: Any, second: Any) -> Any:
        product, total = then(first, second)
        return product, total - second[1] if len(total) == size else total

    return combine


def _weighted(first: Any, second: Any) -> Any:
    """Combines elements with a weight for each index."""
    product, total = then(first, second)
    return product, total + jnp.arange(len(total), dtype=total.dtype)


def _mixing(first: Any, second: Any) -> Any:
    """Combines elements with the sum of all that are combined at once."""
    return first[0] * second[0], second[0].sum() * first[1] + second[1]


def _kept(a: jax.Array, b: jax.Array) -> Any:
    """Returns a scan and its derivative, which reads all of the tree."""
    return jax.value_and_grad(lambda b: _scanned(then, a, b).sum())(b)


REFUSED: Refused = {
    "associative-scan-as-loop": {
        "seven elements": program(partial(_scanned, then), "7 7"),
        "sums of half precision": program(partial(_scanned, then), "bf16:14 bf16:14"),
        "another combination of neighbours": program(partial(_scanned, _unlike(7)), "14 14"),
        "another combination of the last level": program(partial(_scanned, _unlike(1)), "14 14"),
        "another combination at even indices": program(partial(_scanned, _unlike(6)), "14 14"),
        "weights by index": program(partial(_scanned, _weighted), "14 14"),
        "a sum of all": program(partial(_scanned, _mixing), "14 14"),
        "a later element": _changed(("slice={[2:14:2]}", "slice={[3:14:2]}")),
        "neighbours the other way round": _changed(
            ("slice={[0:13:2]}", "slice={[?:14:2]}"),
            ("slice={[1:14:2]}", "slice={[0:13:2]}"),
            ("slice={[?:14:2]}", "slice={[1:14:2]}"),
        ),
        "even and odd indices swapped": _swapped,
        "other numbers between": _changed(("f32[] constant(0)", "f32[] constant(1)")),
        "a derivative that reads the tree": program(_kept, "14 14"),
        "a loop": program(
            lambda a, b: lax.scan(lambda h, x: (x[0] * h + x[1],) * 2, b[0], (a, b))[1], "14 14"
        ),
    }
}
