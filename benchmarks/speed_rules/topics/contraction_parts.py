"""Rules about products that contract far more than they leave."""

from __future__ import annotations

from functools import partial
from random import Random

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import (
    Case,
    Cases,
    Programs,
    Refused,
    array,
    f32,
    lowered,
    program,
    s32,
)

RULE = "contraction-in-parts"


def weight_gradient(x: jax.Array, upstream: jax.Array) -> jax.Array:
    """Returns the gradient of the weights of a layer, from its inputs and that of its results."""
    return jnp.einsum("ki,kj->ij", x, upstream)


def _case(rows: int, inputs: int, outputs: int, program: str = "", *, pays: bool = True) -> Case:
    return Case(
        f"transpose of {rows}x{inputs} times {rows}x{outputs}",
        weight_gradient,
        (f32(rows, inputs), f32(rows, outputs)),
        program,
        pays,
    )


CASES: Cases = {
    RULE: [
        _case(16384, 128, 128, "nerf/flax-w128-l6-r512-s32/train-adam"),
        _case(3136, 96, 96, "depthwise-convolution/separable/grad-b4-n28-c96"),
        _case(8192, 256, 64, "graph-network/jraph-edge-attention-r2-h64-n2048-e8192/train-adam"),
        _case(4096, 96, 192, pays=False),
        _case(8192, 32, 64, pays=False),
    ]
}


def _gradient(x: jax.Array, y: jax.Array, contracted: int = 1) -> jax.Array:
    """Returns the product of two arrays over their first dimensions."""
    first = tuple(range(contracted))
    numbers = ((first, first), ((), ()))
    return lax.dot_general(x, y, numbers, precision=("highest", "default"))


def long_contractions(rng: Random) -> str:
    """Draws a product over one to three dimensions."""
    dtype = rng.choice(["float32", "float64"])
    contracted = rng.choice([(1024,), (1028,), (2, 514), (2, 256, 3)])
    rows, columns = rng.randint(32, 48), rng.randint(32, 48)
    left = (rows,) if rng.random() < 0.5 else (2, rows // 2)
    right = (columns,) if rng.random() < 0.5 else (columns // 2, 2)
    return lowered(
        partial(_gradient, contracted=len(contracted)),
        array(*contracted, *left, dtype=dtype),
        array(*contracted, *right, dtype=dtype),
    )


PROGRAMS: Programs = {RULE: long_contractions}

REFUSED: Refused = {
    RULE: {
        "few contracted elements": program(_gradient, f32(512, 32), f32(512, 32)),
        "a wide operand": program(_gradient, f32(1024, 32), f32(1024, 128)),
        "few results": program(_gradient, f32(1024, 4), f32(1024, 64)),
        "no four equal parts": program(_gradient, f32(1026, 32), f32(1026, 32)),
        "contracted along rows": program(jnp.dot, f32(32, 1024), f32(1024, 32)),
        "long contraction of integers": program(_gradient, s32(1024, 32), s32(1024, 32)),
    }
}
