"""Cases of products that contract far more than they leave."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def weight_gradient(x: jax.Array, upstream: jax.Array) -> jax.Array:
    """Returns the gradient of the weights of a layer, from its inputs and that of its results."""
    return jnp.einsum("ki,kj->ij", x, upstream)


def _case(rows: int, inputs: int, outputs: int, program: str = "", *, pays: bool = True) -> Case:
    return Case(
        ("contraction-in-parts",),
        f"transpose of {rows}x{inputs} times {rows}x{outputs}",
        weight_gradient,
        (floats(rows, inputs), floats(rows, outputs)),
        program,
        pays,
    )


CASES: tuple[Case, ...] = (
    _case(16384, 128, 128, "nerf/flax-w128-l6-r512-s32/train-adam"),
    _case(3136, 96, 96, "depthwise-convolution/separable/grad-b4-n28-c96"),
    _case(8192, 256, 64, "graph-network/jraph-edge-attention-r2-h64-n2048-e8192/train-adam"),
    _case(4096, 96, 192, pays=False),
    _case(8192, 32, 64, pays=False),
)
