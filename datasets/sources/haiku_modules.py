"""Nets of dm-haiku whose size is chosen freely: MLPs, ResNets, recurrent nets, stacked layers."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.haiku_images import LIBRARY, Row, model_recipes, published_task
from sources.haiku_sequences import CHARACTERS, core_task, text_task
from tasks import Task, cross_entropy, task_recipes


def mlp_task(widths: tuple[int, ...], *, batch: int, dropout: str | None = None) -> Task:
    """Returns classification of vectors with `hk.nets.MLP`.

    Args:
        widths: Width of the input, then of each layer.
        batch: Vectors in a batch.
        dropout: Implementation of the random key that drives dropout; without it there is none.
    """

    def network(inputs: jax.Array, rate: float | None) -> jax.Array:
        net = hk.nets.MLP(widths[1:], activation=jax.nn.gelu)
        return net(inputs, rate, rng=hk.next_rng_key() if rate else None)

    model = hk.transform(network)
    inputs = array(batch, widths[0])
    params = jax.eval_shape(lambda rng, values: model.init(rng, values, None), key(), inputs)

    def loss(params: Any, state: Any, inputs: Any, labels: Any, *rng: Any) -> Any:
        logits = model.apply(params, rng[0] if rng else None, inputs, 0.2 if rng else None)
        return cross_entropy(logits, labels), state

    return Task(
        params=params,
        state={},
        batch=(inputs, array(batch, dtype=jnp.int32), *([key(dropout)] if dropout else [])),
        forward=lambda params, state, inputs, *_: model.apply(params, None, inputs, None),
        loss=loss,
    )


def resnet_task(blocks: tuple[int, ...], *, bottleneck: bool, batch: int, size: int) -> Task:
    """Returns image classification with `hk.nets.ResNet` (version 2, pre-activation).

    Args:
        blocks: Blocks in each of the four groups.
        bottleneck: Three convolutions a block in place of two.
        batch: Images in a batch.
        size: Height and width of an image.
    """
    return published_task(
        "ResNet",
        batch=batch,
        size=size,
        blocks_per_group=blocks,
        resnet_v2=True,
        bottleneck=bottleneck,
        channels_per_group=(8, 16, 16, 32),
        initial_conv_config={"output_channels": 8},
    )


def recurrent_task(core: str, layers: int, hidden: int, *, batch: int, length: int) -> Task:
    """Returns next-character prediction with a recurrent net, unrolled by a scan.

    Args:
        core: Class of the recurrent core: `LSTM`, `GRU` or `VanillaRNN`.
        layers: Cores on top of each other.
        hidden: Width of a core.
        batch: Texts in a batch.
        length: Characters in a text.
    """

    def stack() -> hk.RNNCore:
        return hk.DeepRNN([getattr(hk, core)(hidden) for _ in range(layers)])

    return core_task(stack, batch=batch, length=length, embedded=hidden)


def attention_block(tokens: jax.Array, activation: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Returns the tokens after a causal transformer layer."""
    _, length, hidden = tokens.shape
    norm = partial(hk.LayerNorm, axis=-1, create_scale=True, create_offset=True)
    mask = jnp.tril(jnp.ones((1, 1, length, length)))
    attention = hk.MultiHeadAttention(4, hidden // 4, w_init=hk.initializers.VarianceScaling())
    normed = norm()(tokens)
    tokens = tokens + attention(normed, normed, normed, mask=mask)
    return tokens + hk.nets.MLP([2 * hidden, hidden], activation=activation)(norm()(tokens))


def stacked_task(
    layers: int,
    hidden: int,
    *,
    batch: int,
    length: int,
    style: str = "stack",
    remat: bool = False,
    activation: Callable[[jax.Array], jax.Array] = jax.nn.silu,
) -> Task:
    """Returns language modelling with a stack of attention layers.

    Args:
        layers: Layers.
        hidden: Width of a token.
        batch: Texts in a batch.
        length: Characters in a text.
        style: `stack` (`hk.layer_stack`: one scan, each layer with its own weights); `unroll2`
            (the same, two layers a turn); `unrolled`; `shared` (one layer's weights, in a scan).
        remat: Recompute each layer in the backward pass.
        activation: Activation between the matrices.
    """

    def block(tokens: jax.Array) -> jax.Array:
        return attention_block(tokens, activation)

    class Shared(hk.Module):
        def __call__(self, tokens: jax.Array) -> jax.Array:
            return block(tokens)

    def network(text: jax.Array) -> jax.Array:
        tokens = hk.Embed(CHARACTERS, hidden)(text)
        body = hk.remat(block) if remat else block
        if style == "unrolled":
            for _ in range(layers):
                tokens = body(tokens)
        elif style == "shared":
            layer = Shared()
            tokens = layer(tokens)
            if not hk.running_init():
                tokens, _ = hk.scan(lambda carry, _: (layer(carry), None), tokens, None, layers)
        else:
            unroll = 2 if style == "unroll2" else 1
            tokens = hk.layer_stack(layers, unroll=unroll)(body)(tokens)
        return hk.Linear(CHARACTERS)(tokens)

    return text_task(network, batch=batch, length=length, time_major=False)


def sized_models() -> Iterator[tuple[str, str, str, Callable[[], Task], str, str]]:
    """Yields family, model, words, task, kinds and the end of the variants' names."""
    yield (
        "mlp",
        "haiku-16x64x64x10",
        "hk.nets.MLP 16-64-64-10 gelu, batch 32",
        partial(mlp_task, (16, 64, 64, 10), batch=32),
        "train-adam per-example-grad loop-rmsprop",
        "b32",
    )
    yield (
        "mlp",
        "haiku-32x48x48x48x48x8",
        "hk.nets.MLP 32-48-48-48-48-8 gelu, batch 8, dropout 0.2 from threefry",
        partial(mlp_task, (32, 48, 48, 48, 48, 8), batch=8, dropout="threefry2x32"),
        "train-lamb",
        "b8-dropout",
    )
    yield (
        "resnet",
        "haiku-v2-1x1x1x1",
        "hk.nets.ResNet v2 blocks 1-1-1-1, 32 px, batch 2",
        partial(resnet_task, (1, 1, 1, 1), bottleneck=False, batch=2, size=32),
        "grad",
        "b2",
    )
    yield (
        "resnet",
        "haiku-v2-bottleneck-3x4x6x3",
        "hk.nets.ResNet v2 bottleneck blocks 3-4-6-3 (ResNet-50), 32 px, batch 2",
        partial(resnet_task, (3, 4, 6, 3), bottleneck=True, batch=2, size=32),
        "forward train-sgdm",
        "b2",
    )
    for model, core, layers, hidden, batch, length, kinds in (
        ("lstm", "LSTM", 1, 32, 4, 24, "forward grad"),
        ("lstm", "LSTM", 3, 24, 2, 16, "train-adamw"),
        ("gru", "GRU", 2, 32, 4, 16, "train-rmsprop"),
        ("vanilla", "VanillaRNN", 1, 64, 8, 32, "accumulate-sgdm"),
    ):
        size = f"l{layers} h{hidden} under dynamic_unroll, batch {batch}, length {length}"
        yield (
            "rnn",
            f"{model}-l{layers}-h{hidden}",
            f"hk.{core} {size}",
            partial(recurrent_task, core, layers, hidden, batch=batch, length=length),
            kinds,
            f"b{batch}-s{length}",
        )
    yield (
        "layer-stack",
        "l4-h32",
        "hk.layer_stack of 4 attention layers, h32, batch 2, length 16",
        partial(stacked_task, 4, 32, batch=2, length=16),
        "forward grad",
        "b2-s16",
    )
    yield (
        "layer-stack",
        "l8-h48-remat",
        "hk.layer_stack of 8 attention layers, hk.remat, h48, batch 2, length 24",
        partial(stacked_task, 8, 48, batch=2, length=24, remat=True),
        "train-adamw-clip",
        "b2-s24",
    )


def recipes() -> Iterator[Recipe]:
    """Yields the nets by size, and the styles of stacking layers."""
    for family, model, words, task, kinds, end in sized_models():
        variants = {f"{kind}-{end}": kind for kind in kinds.split()}
        yield from task_recipes(family, LIBRARY, model, words, task, variants)
    stack = partial(partial, stacked_task, batch=2, length=16, activation=jax.nn.gelu)
    rows: list[Row] = [
        ("layer-stack", "unrolled-l4", stack(4, 32, style="unrolled"), "forward train-adam"),
        ("layer-stack", "unrolled-l2", stack(2, 32, style="unrolled", remat=True), "grad"),
        ("layer-stack", "unroll2-l4", stack(4, 32, style="unroll2"), "forward train-adamw"),
        ("layer-stack", "shared-l4", stack(4, 32, style="shared"), "forward train-adam"),
        ("layer-stack", "stack-l6", stack(6, 32), "train-lion loop-adam"),
    ]
    yield from model_recipes(rows)
