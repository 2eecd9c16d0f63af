"""Equivariant networks of e3nn-jax on atoms: energies, forces, training steps."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import e3nn_jax as e3nn
import haiku as hk
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from tasks import Task, task_recipes

LIBRARY = "e3nn-jax"
ATOMS, BONDS = 12, 36


def energy(degree: int, layers: int, hidden: str, kind: str) -> Callable[..., jax.Array]:
    """Returns a network that sums the energies of atoms from messages along bonds.

    Args:
        degree: Highest degree of the spherical harmonics.
        layers: Rounds of messages.
        hidden: Irreps of the hidden features.
        kind: How messages are combined: `tensor` (tensor product and gate), `full` (fully
            connected tensor product) or `square` (tensor product and square of the features).
    """

    def apply(positions: jax.Array, senders: jax.Array, receivers: jax.Array) -> jax.Array:
        vectors = positions[receivers] - positions[senders]
        lengths = jnp.sqrt(jnp.sum(vectors**2, axis=-1) + 1e-6)
        radial = e3nn.bessel(lengths, 6, 5.0) * e3nn.poly_envelope(4, 3, 5.0)(lengths)[:, None]
        arrays = e3nn.IrrepsArray("1o", vectors)
        angular = e3nn.spherical_harmonics(list(range(degree + 1)), arrays, True)
        nodes = e3nn.IrrepsArray("8x0e", jnp.ones((ATOMS, 8)))
        irreps = e3nn.Irreps(hidden)
        scalars = e3nn.Irreps(f"{irreps.filter(drop='0e + 0o').num_irreps}x0e")
        for index in range(layers):
            sent = nodes[senders]
            if kind == "full":
                mixed = e3nn.haiku.FullyConnectedTensorProduct(irreps)(sent, angular)
            else:
                mixed = e3nn.tensor_product(sent, angular, filter_ir_out=irreps)
            widths = [16, mixed.irreps.num_irreps]
            weights = e3nn.haiku.MultiLayerPerceptron(widths, jax.nn.silu)(radial)
            messages = e3nn.scatter_sum(mixed * weights, dst=receivers, output_size=ATOMS)
            outgoing = irreps + scalars if kind == "tensor" else irreps
            nodes = e3nn.haiku.Linear(outgoing, name=f"linear{index}")(messages)
            if kind == "tensor":
                nodes = e3nn.gate(nodes)
            elif kind == "full":
                nodes = e3nn.norm_activation(nodes, [jax.nn.silu] * len(nodes.irreps))
            else:
                nodes = e3nn.haiku.Linear(irreps)(e3nn.tensor_square(nodes))
        return e3nn.haiku.Linear("0e")(nodes).array.sum()

    return apply


def task(degree: int, layers: int, hidden: str, kind: str, forces: bool) -> Task:
    """Returns the fit of energies, and of forces where asked (a gradient in the loss)."""
    net = hk.without_apply_rng(hk.transform(energy(degree, layers, hidden, kind)))
    bonds = array(BONDS, dtype=jnp.int32)
    inputs = (array(ATOMS, 3), bonds, bonds)

    def forward(params: Any, state: Any, positions: Any, *rest: Any) -> Any:
        if not forces:
            return net.apply(params, positions, *rest[:2])
        return jax.value_and_grad(net.apply, 1)(params, positions, *rest[:2])

    def loss(params: Any, state: Any, positions: Any, *rest: Any) -> Any:
        out = forward(params, state, positions, *rest)
        if not forces:
            return (out - rest[2]) ** 2, state
        return (out[0] - rest[2]) ** 2 + jnp.mean((out[1] + rest[3]) ** 2), state

    params = jax.eval_shape(net.init, key(), *inputs)
    return Task(params, {}, (*inputs, array(), array(ATOMS, 3)), forward, loss)


def recipes() -> Iterator[Recipe]:
    """Yields every e3nn recipe."""
    vectors, tensors = "8x0e + 4x1o", "8x0e + 4x1o + 2x2e"
    odd = "6x0e + 2x0o + 3x1e + 3x1o"
    rows: list[tuple[str, int, int, str, str, bool, tuple[str, ...]]] = [
        ("gate-l1-r2", 1, 2, vectors, "tensor", False, ("forward", "grad", "train-adam")),
        ("gate-l2-r2", 2, 2, tensors, "tensor", True, ("forward", "train-adamw")),
        ("gate-l2-r3", 2, 3, tensors, "tensor", False, ("train-adam-clip", "loop-adam")),
        ("gate-l3-r1", 3, 1, "8x0e + 2x1o + 2x2e + 1x3o", "tensor", True, ("grad",)),
        ("full-l1-r1", 1, 1, vectors, "full", False, ("forward", "train-sgdm")),
        ("full-l2-r2", 2, 2, tensors, "full", True, ("train-adam", "remat-grad")),
        ("square-l1-r2", 1, 2, odd, "square", False, ("grad", "train-adamw")),
        ("square-l2-r1", 2, 1, tensors, "square", True, ("forward", "train-adam")),
    ]
    for model, degree, layers, hidden, kind, forces, kinds in rows:
        make = partial(task, degree, layers, hidden, kind, forces)
        text = f"e3nn-jax {model}, hidden {hidden}, forces {forces}, {ATOMS} atoms, {BONDS} bonds"
        named = {kind: kind for kind in kinds}
        yield from task_recipes("equivariant", LIBRARY, model, text, make, named)
