"""Models made of dm-haiku's modules: MLPs, recurrent nets, ResNets, VQ-VAE, stacked layers."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from recipes import Recipe, Task, array, cross_entropy, key, task_recipes

LIBRARY = "dm-haiku"
CHARACTERS = 32


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

    def network(images: jax.Array, is_training: bool) -> jax.Array:
        return hk.nets.ResNet(
            blocks_per_group=blocks,
            num_classes=10,
            resnet_v2=True,
            bottleneck=bottleneck,
            channels_per_group=(8, 16, 16, 32),
            initial_conv_config={"output_channels": 8},
        )(images, is_training)

    return stateful_classification(network, array(batch, size, size, 3), batch)


def stateful_classification(network: Callable[..., Any], inputs: Any, batch: int) -> Task:
    """Returns the task of a classifier that keeps batch statistics."""
    model = hk.transform_with_state(network)
    initialise = partial(model.init, is_training=True)
    params, state = jax.eval_shape(initialise, key(), inputs)

    def loss(params: Any, state: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        logits, state = model.apply(params, state, None, inputs, is_training=True)
        return cross_entropy(logits, labels), state

    return Task(
        params=params,
        state=state,
        batch=(inputs, array(batch, dtype=jnp.int32)),
        forward=lambda params, state, inputs, labels: model.apply(
            params, state, None, inputs, is_training=False
        )[0],
        loss=loss,
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

    def network(text: jax.Array) -> jax.Array:
        cores = [getattr(hk, core)(hidden) for _ in range(layers)]
        stack = hk.DeepRNN(cores)
        embedded = hk.Embed(CHARACTERS, hidden)(text.T)
        outputs, _ = hk.dynamic_unroll(stack, embedded, stack.initial_state(batch))
        return hk.BatchApply(hk.Linear(CHARACTERS))(outputs)

    return text_task(network, batch=batch, length=length)


def ctc_task(hidden: int, *, batch: int, frames: int, labels: int) -> Task:
    """Returns speech recognition: a GRU over frames under optax's CTC loss (a scan as well)."""

    def network(sound: jax.Array) -> jax.Array:
        core = hk.GRU(hidden)
        outputs, _ = hk.dynamic_unroll(core, sound, core.initial_state(batch), time_major=False)
        return hk.BatchApply(hk.Linear(CHARACTERS))(outputs)

    model = hk.without_apply_rng(hk.transform(network))
    sound = array(batch, frames, 12)

    def loss(params: Any, state: Any, sound: Any, paddings: Any, text: Any, ends: Any) -> Any:
        return optax.ctc_loss(model.apply(params, sound), paddings, text, ends).mean(), state

    return Task(
        params=jax.eval_shape(model.init, key(), sound),
        state={},
        batch=(
            sound,
            array(batch, frames),
            array(batch, labels, dtype=jnp.int32),
            array(batch, labels),
        ),
        forward=lambda params, state, sound, *_: model.apply(params, sound),
        loss=loss,
    )


def stacked_task(layers: int, hidden: int, *, batch: int, length: int, remat: bool = False) -> Task:
    """Returns language modelling with attention layers under one scan (`hk.layer_stack`).

    Args:
        layers: Layers; they share one loop body.
        hidden: Width of a token.
        batch: Texts in a batch.
        length: Characters in a text.
        remat: Recompute each layer in the backward pass.
    """

    def block(tokens: jax.Array) -> jax.Array:
        norm = partial(hk.LayerNorm, axis=-1, create_scale=True, create_offset=True)
        mask = jnp.tril(jnp.ones((1, 1, length, length)))
        attention = hk.MultiHeadAttention(4, hidden // 4, w_init=hk.initializers.VarianceScaling())
        normed = norm()(tokens)
        tokens = tokens + attention(normed, normed, normed, mask=mask)
        return tokens + hk.nets.MLP([2 * hidden, hidden], activation=jax.nn.silu)(norm()(tokens))

    def network(text: jax.Array) -> jax.Array:
        tokens = hk.Embed(CHARACTERS, hidden)(text)
        body = hk.remat(block) if remat else block
        tokens = hk.layer_stack(layers)(body)(tokens)
        return hk.Linear(CHARACTERS)(tokens)

    return text_task(network, batch=batch, length=length, time_major=False)


def text_task(
    network: Callable[[jax.Array], jax.Array], *, batch: int, length: int, time_major: bool = True
) -> Task:
    """Returns next-character prediction with any network from text to logits."""
    model = hk.without_apply_rng(hk.transform(network))
    text = array(batch, length, dtype=jnp.int32)

    def loss(params: Any, state: Any, text: jax.Array) -> Any:
        logits = model.apply(params, text)
        logits = logits.swapaxes(0, 1) if time_major else logits
        return cross_entropy(logits[:, :-1], text[:, 1:]), state

    return Task(
        params=jax.eval_shape(model.init, key(), text),
        state={},
        batch=(text,),
        forward=lambda params, state, text: model.apply(params, text),
        loss=loss,
    )


def vqvae_task(codes: int, *, batch: int, size: int) -> Task:
    """Returns image compression with `hk.nets.VectorQuantizerEMA` between convolutions.

    Args:
        codes: Entries of the codebook.
        batch: Images in a batch.
        size: Height and width of an image.
    """
    width = 16

    def network(images: jax.Array, is_training: bool) -> Any:
        hidden = jax.nn.relu(hk.Conv2D(width, 4, stride=2)(images))
        hidden = hk.Conv2D(width, 3)(hidden)
        quantizer = hk.nets.VectorQuantizerEMA(width, codes, commitment_cost=0.25, decay=0.99)
        quantized = quantizer(hidden, is_training=is_training)
        hidden = jax.nn.relu(hk.Conv2D(width, 3)(quantized["quantize"]))
        return hk.Conv2DTranspose(3, 4, stride=2)(hidden), quantized["loss"]

    model = hk.transform_with_state(network)
    images = array(batch, size, size, 3)
    params, state = jax.eval_shape(partial(model.init, is_training=True), key(), images)

    def loss(params: Any, state: Any, images: jax.Array) -> Any:
        (decoded, commitment), state = model.apply(params, state, None, images, is_training=True)
        return jnp.mean((decoded - images) ** 2) + commitment, state

    return Task(
        params=params,
        state=state,
        batch=(images,),
        forward=lambda params, state, images: model.apply(
            params, state, None, images, is_training=False
        )[0][0],
        loss=loss,
    )


def recipes() -> Iterator[Recipe]:
    """Yields every haiku recipe."""
    models: list[tuple[str, str, str, Callable[[], Task], dict[str, str]]] = [
        (
            "mlp",
            "haiku-16x64x64x10",
            "hk.nets.MLP 16-64-64-10 gelu, batch 32",
            partial(mlp_task, (16, 64, 64, 10), batch=32),
            {
                "train-adam-b32": "train-adam",
                "per-example-grad-b32": "per-example-grad",
                "loop-rmsprop-b32": "loop-rmsprop",
            },
        ),
        (
            "mlp",
            "haiku-32x48x48x48x48x8",
            "hk.nets.MLP 32-48-48-48-48-8 gelu, batch 8, dropout 0.2 from threefry",
            partial(mlp_task, (32, 48, 48, 48, 48, 8), batch=8, dropout="threefry2x32"),
            {"train-lamb-b8-dropout": "train-lamb"},
        ),
        (
            "resnet",
            "haiku-v2-1x1x1x1",
            "hk.nets.ResNet v2 blocks 1-1-1-1, 32 px, batch 2",
            partial(resnet_task, (1, 1, 1, 1), bottleneck=False, batch=2, size=32),
            {"grad-b2": "grad"},
        ),
        (
            "resnet",
            "haiku-v2-bottleneck-3x4x6x3",
            "hk.nets.ResNet v2 bottleneck blocks 3-4-6-3 (ResNet-50), 32 px, batch 2",
            partial(resnet_task, (3, 4, 6, 3), bottleneck=True, batch=2, size=32),
            {"forward-b2": "forward", "train-sgdm-b2": "train-sgdm"},
        ),
        (
            "rnn",
            "lstm-l1-h32",
            "hk.LSTM l1 h32 under dynamic_unroll, batch 4, length 24",
            partial(recurrent_task, "LSTM", 1, 32, batch=4, length=24),
            {"forward-b4-s24": "forward", "grad-b4-s24": "grad"},
        ),
        (
            "rnn",
            "lstm-l3-h24",
            "hk.LSTM l3 h24 under dynamic_unroll, batch 2, length 16",
            partial(recurrent_task, "LSTM", 3, 24, batch=2, length=16),
            {"train-adamw-b2-s16": "train-adamw"},
        ),
        (
            "rnn",
            "gru-l2-h32",
            "hk.GRU l2 h32 under dynamic_unroll, batch 4, length 16",
            partial(recurrent_task, "GRU", 2, 32, batch=4, length=16),
            {"train-rmsprop-b4-s16": "train-rmsprop"},
        ),
        (
            "rnn",
            "vanilla-l1-h64",
            "hk.VanillaRNN l1 h64 under dynamic_unroll, batch 8, length 32",
            partial(recurrent_task, "VanillaRNN", 1, 64, batch=8, length=32),
            {"accumulate-sgdm-b8-s32": "accumulate-sgdm"},
        ),
        (
            "rnn",
            "gru-ctc-h32",
            "hk.GRU h32 and optax.ctc_loss, batch 2, 24 frames, 8 labels",
            partial(ctc_task, 32, batch=2, frames=24, labels=8),
            {"grad-b2-s24": "grad"},
        ),
        (
            "layer-stack",
            "l4-h32",
            "hk.layer_stack of 4 attention layers, h32, batch 2, length 16",
            partial(stacked_task, 4, 32, batch=2, length=16),
            {"forward-b2-s16": "forward", "grad-b2-s16": "grad"},
        ),
        (
            "layer-stack",
            "l8-h48-remat",
            "hk.layer_stack of 8 attention layers, hk.remat, h48, batch 2, length 24",
            partial(stacked_task, 8, 48, batch=2, length=24, remat=True),
            {"train-adamw-clip-b2-s24": "train-adamw-clip"},
        ),
        (
            "vqvae",
            "c32",
            "hk.nets.VectorQuantizerEMA 32 codes, 16 px, batch 4",
            partial(vqvae_task, 32, batch=4, size=16),
            {"grad-b4": "grad", "train-adam-b4": "train-adam"},
        ),
    ]
    for family, model, description, task, kinds in models:
        yield from task_recipes(family, LIBRARY, model, description, task, kinds)
