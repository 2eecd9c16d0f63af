"""Attention over sequences split over devices, collectives written out under `jax.shard_map`.

A decoder of flax layers with ring attention, exchanged heads, gathered or neighbouring keys.
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
from jax.sharding import PartitionSpec as P
from partitioned import lower_partitioned, make_mesh, mesh_axes, request_devices, shift
from recipe import Recipe, array, key
from tasks import cross_entropy, optimizer, scope_of

LIBRARY = "flax"
BATCH, LENGTH, HEADS, HIDDEN = 4, 64, 8, 32


def ring_attention(
    query: jax.Array, keys: jax.Array, values: jax.Array, *, causal: bool, scanned: bool
) -> jax.Array:
    """Returns attention, keys and values passed around a ring (Liu et al., 2023)."""
    batch, length, heads, width = query.shape
    size, here = jax.lax.axis_size("sp"), jax.lax.axis_index("sp")
    positions = here * length + jnp.arange(length)

    def step(carry: Any, count: Any) -> tuple[Any, None]:
        total, best, weight, keys, values = carry
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys) * width**-0.5
        if causal:
            others = (here - count) % size * length + jnp.arange(length)
            scores = jnp.where(positions[:, None] >= others, scores, -1e9)
        better = jnp.maximum(best, scores.max(axis=-1))
        scale, exponents = jnp.exp(best - better), jnp.exp(scores - better[..., None])
        weight = weight * scale + exponents.sum(axis=-1)
        added = jnp.einsum("bhqk,bkhd->bqhd", exponents, values)
        total = total * scale.swapaxes(1, 2)[..., None] + added
        keys, values = (shift(part, "sp") for part in (keys, values))
        return (total, better, weight, keys, values), None

    empty = jnp.full((batch, heads, length), -1e9)
    carry: Any = (jnp.zeros_like(query), empty, jnp.zeros_like(empty), keys, values)
    if scanned:
        carry, _ = jax.lax.scan(step, carry, jnp.arange(size))
    else:
        for count in range(size):
            carry, _ = step(carry, count)
    total, _, weight, *_ = carry
    return total / weight.swapaxes(1, 2)[..., None]


def exchanged_attention(
    query: jax.Array, keys: jax.Array, values: jax.Array, *, causal: bool
) -> jax.Array:
    """Returns attention, sequences exchanged for heads and back (DeepSpeed-Ulysses)."""
    exchange = partial(jax.lax.all_to_all, axis_name="sp", tiled=True)
    parts = (exchange(part, split_axis=2, concat_axis=1) for part in (query, keys, values))
    mixed = jax.nn.dot_product_attention(*parts, is_causal=causal)
    return exchange(mixed, split_axis=1, concat_axis=2)


def gathered_attention(query: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Returns attention over gathered keys and values."""
    gather = partial(jax.lax.all_gather, axis_name="sp", axis=1, tiled=True)
    return jax.nn.dot_product_attention(query, gather(keys), gather(values))


def window_attention(
    query: jax.Array, keys: jax.Array, values: jax.Array, *, window: int
) -> jax.Array:
    """Returns causal attention in a window, which reaches back to one neighbour at most."""
    length, first = query.shape[1], jax.lax.axis_index("sp") == 0
    before = [shift(part[:, -window:], "sp") for part in (keys, values)]
    keys, values = (
        jnp.concatenate([left, part], axis=1)
        for left, part in zip(before, (keys, values), strict=True)
    )
    places = jnp.arange(length + window)
    distance = jnp.arange(length)[:, None] + window - places
    # The first device gets the last one's keys, which are not its past.
    inside = places >= jnp.where(first, window, 0)
    mask = (distance >= 0) & (distance <= window) & inside
    return jax.nn.dot_product_attention(query, keys, values, mask=mask[None, None])


class Decoder(nn.Module):
    """Pre-norm transformer around any attention of query, keys and values."""

    layers: int
    attention: Callable[..., jax.Array]

    @nn.compact
    def __call__(self, text: jax.Array) -> jax.Array:
        tokens = nn.Embed(64, HIDDEN)(text)
        for _ in range(self.layers):
            normed = nn.RMSNorm()(tokens)
            shape = (HEADS, HIDDEN // HEADS)
            parts = [nn.DenseGeneral(shape, use_bias=False)(normed) for _ in range(3)]
            tokens += nn.DenseGeneral(HIDDEN, axis=(-2, -1))(self.attention(*parts))
            hidden = nn.silu(nn.Dense(2 * HIDDEN)(nn.RMSNorm()(tokens)))
            tokens += nn.Dense(HIDDEN)(hidden)
        return nn.Dense(64)(tokens)


def lower_decoder(attention: Callable[..., jax.Array], layers: int, layout: str, kind: str) -> str:
    """Lowers a decoder with a distributed attention.

    Args:
        attention: What each device computes of a layer's attention.
        layers: Layers.
        layout: Mesh, as in `dp2-sp4`.
        kind: `forward`, `grad`, `remat-grad` or `train-OPTIMIZER`.
    """
    mesh = make_mesh(**mesh_axes(layout))
    block = P("dp" if "dp" in mesh.axis_names else None, "sp")
    mapped = jax.shard_map(
        attention, mesh=mesh, in_specs=(block,) * 3, out_specs=block, check_vma=False
    )
    if kind == "remat-grad":
        mapped = jax.checkpoint(mapped)
    model = Decoder(layers, mapped)
    text = array(BATCH, LENGTH, dtype=jnp.int32)
    params = jax.eval_shape(model.init, key(), text)

    def loss(params: Any, text: jax.Array, labels: jax.Array) -> jax.Array:
        logits: Any = model.apply(params, text)
        return cross_entropy(logits, labels)

    if kind == "forward":
        return lower_partitioned(model.apply, (params, text), mesh, (P(), block), block)
    if kind.endswith("grad"):
        compute = jax.value_and_grad(loss)
        return lower_partitioned(
            compute, (params, text, text), mesh, (P(), block, block), (P(), P())
        )
    transform = optimizer(kind.removeprefix("train-"))

    def step(params: Any, moments: Any, text: jax.Array, labels: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, text, labels)
        updates, moments = transform.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments

    arguments = (params, jax.eval_shape(transform.init, params), text, text)
    return lower_partitioned(step, arguments, mesh, (P(), P(), block, block), (P(), P()))


def recipes() -> Iterator[Recipe]:
    """Yields every program with distributed attention."""
    request_devices()
    causal_ring = partial(ring_attention, causal=True)
    attentions: dict[str, tuple[str, Callable[..., jax.Array]]] = {
        "ring": ("ring attention, unrolled", partial(causal_ring, scanned=False)),
        "ring-scan": ("ring attention in a scan", partial(causal_ring, scanned=True)),
        "ring-full": (
            "ring attention in a scan, not causal",
            partial(ring_attention, causal=False, scanned=True),
        ),
        "ulysses": ("heads exchanged", partial(exchanged_attention, causal=True)),
        "gather": ("keys gathered", gathered_attention),
        "window": ("causal window of 8", partial(window_attention, window=8)),
    }
    programs = [
        ("ring", 1, "sp8", "forward"),
        ("ring", 2, "dp2-sp4", "train-adamw"),
        ("ring-scan", 2, "sp8", "forward"),
        ("ring-scan", 2, "sp8", "remat-grad"),
        ("ring-scan", 2, "dp4-sp2", "train-sgdm"),
        ("ring-full", 1, "dp2-sp4", "grad"),
        ("ulysses", 1, "sp8", "forward"),
        ("ulysses", 2, "dp2-sp4", "train-lion"),
        ("ulysses", 2, "sp8", "grad"),
        ("gather", 2, "dp2-sp4", "grad"),
        ("window", 2, "sp8", "forward"),
        ("window", 2, "dp2-sp4", "train-adam"),
    ]
    for name, layers, layout, kind in programs:
        words, attention = attentions[name]
        yield Recipe(
            name=f"ring-attention/{name}-l{layers}-{layout}/{kind}-b{BATCH}-s{LENGTH}",
            family="ring-attention",
            library=LIBRARY,
            recipe=f"Decoder of flax.linen, {layers} layers, {words} under jax.shard_map; {kind},"
            f" batch {BATCH}, length {LENGTH}; partitioned over devices as {layout}",
            lower=lambda attention=attention, layers=layers, layout=layout, kind=kind: (
                lower_decoder(attention, layers, layout, kind)
            ),
            scope=scope_of(kind),
        )
