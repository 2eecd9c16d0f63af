"""Pipelines of flax layers over eight devices, written out under `jax.shard_map` (GPipe)."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P
from partitioned import lower_partitioned, make_mesh, mesh_axes, request_devices, shift
from recipe import Recipe, array, key
from sources.flax_linen import MixerBlock
from tasks import cross_entropy, optimizer, scope_of

LIBRARY = "flax"
HIDDEN, TOKENS = 32, 16


class AttentionBlock(nn.Module):
    """Pre-norm transformer layer."""

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        mask = nn.make_causal_mask(jnp.ones(tokens.shape[:2]))
        tokens += nn.SelfAttention(num_heads=4)(nn.LayerNorm()(tokens), mask)
        hidden = nn.gelu(nn.Dense(2 * HIDDEN)(nn.LayerNorm()(tokens)))
        return tokens + nn.Dense(HIDDEN)(hidden)


class DenseBlock(nn.Module):
    """Residual dense layer."""

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        return tokens + nn.relu(nn.Dense(HIDDEN)(tokens))


class TokenMixer(nn.Module):
    """Block of an MLP-Mixer."""

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        return MixerBlock(TOKENS // 2, 2 * HIDDEN)(tokens)[0]


BLOCKS: dict[str, type[nn.Module]] = {
    "dense": DenseBlock,
    "mixer": TokenMixer,
    "attention": AttentionBlock,
}


def pipeline(
    apply: Callable[..., jax.Array], params: Any, microbatches: jax.Array, *, rounds: int
) -> jax.Array:
    """Returns the outputs of a pipeline, one stage a device (GPipe); on the last device only.

    Args:
        apply: A stage.
        params: This device's stages, stacked; `rounds` of them.
        microbatches: Inputs, micro-batches first; the first device reads them.
        rounds: Times that each micro-batch goes around all devices.
    """
    stages, here = jax.lax.axis_size("pp"), jax.lax.axis_index("pp")
    count = microbatches.shape[0]

    def around(inputs: jax.Array, stage: Any) -> tuple[jax.Array, None]:
        def tick(carry: Any, time: jax.Array) -> Any:
            state, outputs = carry
            fresh = jax.lax.dynamic_index_in_dim(inputs, time % count, keepdims=False)
            state = apply(stage, jnp.where(here == 0, fresh, state))
            place = jnp.maximum(time - stages + 1, 0)
            done = (here == stages - 1) & (time >= stages - 1)
            kept = jax.lax.dynamic_index_in_dim(outputs, place, keepdims=False)
            written = jnp.where(done, state, kept)
            outputs = jax.lax.dynamic_update_index_in_dim(outputs, written, place, 0)
            return (shift(state, "pp"), outputs), None

        carry = (jnp.zeros_like(inputs[0]), jnp.zeros_like(inputs))
        (_, outputs), _ = jax.lax.scan(tick, carry, jnp.arange(count + stages - 1))
        return shift(outputs, "pp") if rounds > 1 else outputs, None

    outputs, _ = jax.lax.scan(around, microbatches, params)
    return outputs


def lower_pipeline(
    block: str, layout: str, kind: str, *, microbatches: int, rounds: int = 1, remat: bool = False
) -> str:
    """Lowers a pipeline of blocks between an embedding and a classifier on every device."""
    mesh = make_mesh(**mesh_axes(layout))
    stages = mesh.shape["pp"]
    model = BLOCKS[block]()
    batch = "dp" if "dp" in mesh.axis_names else None
    sample = array(4, TOKENS, HIDDEN)
    single = jax.eval_shape(model.init, key(), sample)
    stacked = jax.tree.map(
        lambda leaf: array(rounds, stages, *leaf.shape, dtype=leaf.dtype), single
    )
    params = {"stages": stacked, "embed": array(64, HIDDEN), "head": array(HIDDEN, 64)}
    specs = {"stages": P(None, "pp"), "embed": P(), "head": P()}
    apply: Callable[..., jax.Array] = lambda params, inputs: model.apply(  # noqa: E731
        jax.tree.map(lambda leaf: leaf[0], params), inputs
    )
    apply = jax.checkpoint(apply) if remat else apply

    def local_logits(params: Any, text: jax.Array) -> jax.Array:
        embedded = params["embed"][text]
        outputs = pipeline(apply, params["stages"], embedded, rounds=rounds)
        # Only the last stage's outputs are the model's, or, gone around, the first one's.
        last = 0 if rounds > 1 else stages - 1
        outputs = jnp.where(jax.lax.axis_index("pp") == last, outputs, 0.0)
        return jax.lax.psum(outputs, "pp") @ params["head"]

    rows = P(None, batch)
    logits = jax.shard_map(
        local_logits, mesh=mesh, in_specs=(specs, rows), out_specs=rows, check_vma=False
    )
    text = array(microbatches, 8, TOKENS, dtype=jnp.int32)
    if kind == "forward":
        return lower_partitioned(logits, (params, text), mesh, (specs, rows), rows)

    def loss(params: Any, text: jax.Array) -> jax.Array:
        return cross_entropy(logits(params, text)[..., :-1, :], text[..., 1:])

    if kind == "grad":
        compute = jax.value_and_grad(loss)
        return lower_partitioned(compute, (params, text), mesh, (specs, rows), (P(), specs))
    transform = optimizer(kind.removeprefix("train-"))

    def step(params: Any, moments: Any, text: jax.Array) -> Any:
        gradient = jax.grad(loss)(params, text)
        updates, moments = transform.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments

    moments = jax.eval_shape(transform.init, params)
    return lower_partitioned(
        step, (params, moments, text), mesh, (specs, None, rows), (specs, None)
    )


def recipes() -> Iterator[Recipe]:
    """Yields every pipeline."""
    request_devices()
    pipelines: list[tuple[str, str, str, str, dict[str, Any]]] = [
        ("dense", "pp8", "m8", "forward", {"microbatches": 8}),
        ("dense", "dp2-pp4", "m4-r2", "train-adam", {"microbatches": 4, "rounds": 2}),
        ("mixer", "pp8", "m8", "grad", {"microbatches": 8}),
        ("mixer", "dp4-pp2", "m4", "train-lion", {"microbatches": 4}),
        ("attention", "pp8", "m8", "forward", {"microbatches": 8}),
        ("attention", "dp2-pp4", "m4", "train-adamw", {"microbatches": 4}),
        ("attention", "pp4-dp2", "m8-remat", "grad", {"microbatches": 8, "remat": True}),
    ]
    for block, layout, model, kind, options in pipelines:
        words = ", ".join(f"{name} {value}" for name, value in options.items())
        yield Recipe(
            name=f"pipeline-parallel/{block}-{model}-{layout}/{kind}",
            family="pipeline-parallel",
            library=LIBRARY,
            recipe=f"GPipe of flax.linen {block} blocks under jax.shard_map, {words};"
            f" {kind}; partitioned over devices as {layout}",
            lower=lambda block=block, layout=layout, kind=kind, options=options: lower_pipeline(
                block, layout, kind, **options
            ),
            scope=scope_of(kind),
        )
