"""Training on eight devices with collectives written out under `jax.shard_map`.

Mixtures of experts that exchange their tokens, and data parallelism with
sharded optimizers, compressed gradients or seldom averaging.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec as P
from partitioned import lower_partitioned, make_mesh, mesh_axes, request_devices, shift
from recipe import Recipe, array, key
from tasks import cross_entropy, optimizer, scope_of

LIBRARY = "flax"
HIDDEN = 32


class Router(nn.Module):
    """Returns how much each expert counts for each token, the rest zero."""

    experts: int
    chosen: int

    @nn.compact
    def __call__(self, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        gates = nn.softmax(nn.Dense(self.experts)(tokens))
        weights, choice = jax.lax.top_k(gates, self.chosen)
        picked = (jax.nn.one_hot(choice, self.experts) * weights[..., None]).sum(axis=-2)
        load = (picked > 0).mean(axis=0)
        balance = self.experts * jnp.sum(load * gates.mean(axis=0))
        return picked, balance


def expert_layer(
    params: Any, tokens: jax.Array, *, chosen: int, capacity: int, ragged: bool
) -> tuple[jax.Array, jax.Array]:
    """Returns a mixture of experts, one or more a device, and its balance (Switch Transformer).

    Args:
        params: The router's parameters and this device's experts.
        tokens: This device's tokens.
        chosen: Experts of a token.
        capacity: Tokens that a device may send to an expert.
        ragged: Sort tokens by expert in place of a one-hot dispatch.
    """
    experts = params["inner"].shape[0] * jax.lax.axis_size("ep")
    picked, balance = Router(experts, chosen).apply(params["router"], tokens)
    rank = jnp.cumsum(picked > 0, axis=0) - 1
    if ragged:
        # For each expert its tokens in order, those without it last.
        order = jnp.argsort(jnp.where(picked > 0, rank, tokens.shape[0]), axis=0)[:capacity].T
        weights = jnp.take_along_axis(picked.T, order, axis=1)
        queues = tokens[order] * (weights > 0)[..., None]
    else:
        places = jax.nn.one_hot(rank, capacity) * (picked > 0)[..., None]
        queues = jnp.einsum("tec,td->ecd", places, tokens)
    exchange = partial(jax.lax.all_to_all, axis_name="ep", tiled=True)
    received = exchange(queues, split_axis=0, concat_axis=1)
    hidden = nn.relu(jnp.einsum("ecd,edh->ech", received, params["inner"]))
    results = jnp.einsum("ech,ehd->ecd", hidden, params["outer"])
    returned = exchange(results, split_axis=1, concat_axis=0)
    if ragged:
        returned = returned * weights[..., None]
        mixed = jnp.zeros_like(tokens).at[order.reshape(-1)].add(returned.reshape(-1, HIDDEN))
    else:
        mixed = jnp.einsum("tec,te,ecd->td", places, picked, returned)
    return tokens + mixed, jax.lax.pmean(balance, "ep")


def lower_experts(layout: str, kind: str, *, experts: int, chosen: int, ragged: bool) -> str:
    """Lowers regression with two layers of experts that exchange their tokens."""
    mesh = make_mesh(**mesh_axes(layout))
    rows = P(tuple(mesh.axis_names))
    layer = {
        "router": jax.eval_shape(Router(experts, chosen).init, key(), array(4, HIDDEN)),
        "inner": array(experts, HIDDEN, 2 * HIDDEN),
        "outer": array(experts, 2 * HIDDEN, HIDDEN),
    }
    spec = {"router": P(), "inner": P("ep"), "outer": P("ep")}
    params, specs = [layer, layer], [spec, spec]

    def local(params: Any, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = jnp.zeros(())
        for layer in params:
            tokens, balance = expert_layer(layer, tokens, chosen=chosen, capacity=8, ragged=ragged)
            total += balance
        return tokens, total

    mapped = jax.shard_map(
        local, mesh=mesh, in_specs=(specs, rows), out_specs=(rows, P()), check_vma=False
    )
    tokens = array(128, HIDDEN)
    if kind == "forward":
        return lower_partitioned(mapped, (params, tokens), mesh, (specs, rows), (rows, P()))

    def loss(params: Any, tokens: jax.Array, targets: jax.Array) -> jax.Array:
        outputs, balance = mapped(params, tokens)
        return optax.l2_loss(outputs, targets).mean() + 1e-2 * balance

    if kind == "grad":
        compute = jax.value_and_grad(loss)
        arguments = (params, tokens, tokens)
        return lower_partitioned(compute, arguments, mesh, (specs, rows, rows), (P(), specs))
    transform = optimizer(kind.removeprefix("train-"))

    def step(params: Any, moments: Any, tokens: jax.Array, targets: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, tokens, targets)
        updates, moments = transform.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments

    arguments = (params, jax.eval_shape(transform.init, params), tokens, tokens)
    return lower_partitioned(step, arguments, mesh, (specs, None, rows, rows), (specs, None))


class Classifier(nn.Module):
    """Dense layers with layer norms."""

    @nn.compact
    def __call__(self, inputs: jax.Array) -> jax.Array:
        for _ in range(2):
            inputs = nn.gelu(nn.LayerNorm()(nn.Dense(2 * HIDDEN)(inputs)))
        return nn.Dense(8)(inputs)


def lower_data_parallel(way: str, name: str) -> str:
    """Lowers a training step of a classifier, gradients combined over eight devices.

    Args:
        way: `mean`; `bf16` or `int8` (gradients compressed before they are summed); `zero1`
            (optimizer state split over devices); `zero3` (parameters split, too); `local`
            (four steps, then parameters averaged); `gossip` (averaged with the neighbours).
        name: The optimizer.
    """
    mesh = make_mesh(dp=8)
    model, transform = Classifier(), optimizer(name)
    inputs, labels = array(64, HIDDEN), array(64, dtype=jnp.int32)
    params = jax.eval_shape(model.init, key(), inputs)
    flat, restore = _flattened(params)
    part = array(-(-flat.shape[0] // 8))
    padding = 8 * part.shape[0] - flat.shape[0]

    def loss(params: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        logits: Any = model.apply(params, inputs)
        return cross_entropy(logits, labels)

    def compress(leaf: jax.Array) -> jax.Array:
        if way == "bf16":
            return jax.lax.pmean(leaf.astype(jnp.bfloat16), "dp").astype(leaf.dtype)
        if way == "int8":
            scale = jax.lax.pmax(jnp.abs(leaf).max(), "dp") / 127
            rounded = jnp.round(leaf / scale).astype(jnp.int8)
            return jax.lax.psum(rounded.astype(jnp.int32), "dp") * scale / 8
        return jax.lax.pmean(leaf, "dp")

    def update(params: Any, moments: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, inputs, labels)
        if way not in ("local", "gossip"):
            gradient = jax.tree.map(compress, gradient)
        updates, moments = transform.update(gradient, moments, params)
        params = optax.apply_updates(params, updates)
        if way == "gossip":
            params = jax.tree.map(lambda leaf: (leaf + shift(leaf, "dp")) / 2, params)
        return params, moments

    def local(params: Any, moments: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        def step(carry: Any, batch: Any) -> Any:
            return update(*carry, *batch), None

        batches = inputs.reshape(4, -1, HIDDEN), labels.reshape(4, -1)
        carry, _ = jax.lax.scan(step, (params, moments), batches)
        return jax.lax.pmean(carry, "dp")

    def sharded(weights: jax.Array, moments: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        def whole_loss(weights: jax.Array) -> jax.Array:
            if way == "zero3":
                weights = jax.lax.all_gather(weights, "dp", tiled=True)
            return loss(restore(weights[: flat.shape[0]]), inputs, labels)

        # The transpose of gathering parameters scatters the sum of gradients by itself.
        gradient = jax.grad(whole_loss)(weights) / 8
        mine = weights
        if way == "zero1":
            gradient = jax.lax.psum_scatter(gradient, "dp", tiled=True)
            here = jax.lax.axis_index("dp") * part.shape[0]
            mine = jax.lax.dynamic_slice_in_dim(weights, here, part.shape[0])
        updates, moments = transform.update(gradient, moments, mine)
        mine = optax.apply_updates(mine, updates)
        return jax.lax.all_gather(mine, "dp", tiled=True) if way == "zero1" else mine, moments

    rows = P("dp")
    if way in ("zero1", "zero3"):
        weights = array(flat.shape[0] + padding)
        moments = jax.eval_shape(transform.init, weights)
        split = jax.tree.map(lambda leaf: rows if leaf.shape else P(), moments)
        kept = P() if way == "zero1" else rows
        body, arguments, specs = sharded, (weights, moments, inputs, labels), (kept, split)
    else:
        moments = jax.eval_shape(transform.init, params)
        body = local if way == "local" else update
        arguments, specs = (params, moments, inputs, labels), (P(), P())
    mapped = jax.shard_map(
        body, mesh=mesh, in_specs=(*specs, rows, rows), out_specs=specs, check_vma=False
    )
    return lower_partitioned(mapped, arguments, mesh, (*specs, rows, rows), specs)


def _flattened(params: Any) -> tuple[Any, Callable[[jax.Array], Any]]:
    """Returns abstract parameters as one vector, and what makes a tree of such a vector."""
    leaves, structure = jax.tree.flatten(params)
    sizes = [leaf.size for leaf in leaves]

    def restore(vector: jax.Array) -> Any:
        pieces = jnp.split(vector, [sum(sizes[:end]) for end in range(1, len(sizes))])
        shaped = [piece.reshape(leaf.shape) for piece, leaf in zip(pieces, leaves, strict=True)]
        return jax.tree.unflatten(structure, shaped)

    return jax.eval_shape(lambda tree: ravel_pytree(tree)[0], params), restore


def recipes() -> Iterator[Recipe]:
    """Yields every training program with collectives written out."""
    request_devices()
    mixtures: list[tuple[str, str, int, int, bool]] = [
        ("ep8", "forward", 8, 1, False),
        ("ep8", "train-adam", 16, 2, False),
        ("dp2-ep4", "grad", 8, 2, True),
        ("dp4-ep2", "train-adamw", 8, 1, True),
    ]
    for layout, kind, experts, chosen, ragged in mixtures:
        way = "sorted" if ragged else "onehot"
        yield Recipe(
            name=f"moe/exchange-{way}-e{experts}-k{chosen}-{layout}/{kind}",
            family="moe",
            library=LIBRARY,
            recipe=f"Two layers of {experts} experts, top {chosen}, {way} dispatch, all-to-all"
            f" under jax.shard_map; {kind}; partitioned over devices as {layout}",
            lower=lambda layout=layout, kind=kind, experts=experts, chosen=chosen, ragged=ragged: (
                lower_experts(layout, kind, experts=experts, chosen=chosen, ragged=ragged)
            ),
            scope=scope_of(kind),
        )
    for way, name in (
        ("mean", "adamw"),
        ("bf16", "sgdm"),
        ("int8", "adam"),
        ("zero1", "adamw"),
        ("zero3", "lion"),
        ("local", "nesterov"),
        ("gossip", "rmsprop"),
    ):
        yield Recipe(
            name=f"mlp/shard-map-{way}-dp8/train-{name}-b64",
            family="mlp",
            library=LIBRARY,
            recipe=f"Dense layers and layer norms in flax.linen, train-{name}, batch 64;"
            f" data parallelism by jax.shard_map over 8 devices, {way}",
            lower=lambda way=way, name=name: lower_data_parallel(way, name),
            scope="training-step",
        )
