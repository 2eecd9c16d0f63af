"""Models written with flax.linen: MLP-Mixer, mixture of experts, convolutional net, LSTM tagger."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "flax"


class MixerBlock(nn.Module):
    """Mixes tokens, then channels (Tolstikhin et al., MLP-Mixer, 2021)."""

    tokens_width: int
    channels_width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, tokens: jax.Array, _: None = None) -> tuple[jax.Array, None]:
        mixed = nn.LayerNorm(dtype=self.dtype)(tokens).swapaxes(1, 2)
        mixed = self.dense(self.tokens_width, mixed).swapaxes(1, 2)
        tokens = tokens + mixed
        mixed = nn.LayerNorm(dtype=self.dtype)(tokens)
        return tokens + self.dense(self.channels_width, mixed), None

    def dense(self, width: int, inputs: jax.Array) -> jax.Array:
        """Returns two dense layers with a GELU between them."""
        hidden = nn.gelu(nn.Dense(width, dtype=self.dtype)(inputs))
        return nn.Dense(inputs.shape[-1], dtype=self.dtype)(hidden)


class Mixer(nn.Module):
    """MLP-Mixer; with `scanned`, its blocks share one loop body."""

    blocks: int
    hidden: int
    scanned: bool = False
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        tokens = nn.Conv(self.hidden, (4, 4), strides=(4, 4), dtype=self.dtype)(images)
        tokens = tokens.reshape(tokens.shape[0], -1, self.hidden)
        widths = (self.hidden // 2, 2 * self.hidden, self.dtype)
        if self.scanned:
            collections = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
            stack = nn.scan(MixerBlock, length=self.blocks, **collections)
            tokens, _ = stack(*widths)(tokens, None)
        else:
            for _ in range(self.blocks):
                tokens, _ = MixerBlock(*widths)(tokens)
        pooled = nn.LayerNorm(dtype=self.dtype)(tokens).mean(axis=1)
        return nn.Dense(10)(pooled)


class Experts(nn.Module):
    """Sparse layer: each token goes to the best `chosen` of its experts, up to a capacity."""

    experts: int
    chosen: int
    capacity: int

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        count, width = tokens.shape
        gates = nn.softmax(nn.Dense(self.experts)(tokens))
        weights, choice = jax.lax.top_k(gates, self.chosen)
        choice, weights = choice.reshape(-1), weights.reshape(-1)
        # The place of a token in its expert's queue; whoever comes after the capacity is dropped.
        one_hot = jax.nn.one_hot(choice, self.experts, dtype=jnp.int32)
        place = jnp.take_along_axis(jnp.cumsum(one_hot, axis=0) - 1, choice[:, None], axis=1)[:, 0]
        source = jnp.repeat(jnp.arange(count), self.chosen)
        queues = jnp.zeros((self.experts, self.capacity, width))
        queues = queues.at[choice, place].set(tokens[source], mode="drop")
        init = nn.initializers.lecun_normal()
        inner = self.param("inner", init, (self.experts, width, 2 * width))
        outer = self.param("outer", init, (self.experts, 2 * width, width))
        hidden = nn.relu(jnp.einsum("ecw,ewh->ech", queues, inner))
        results = jnp.einsum("ech,ehw->ecw", hidden, outer)
        returned = results.at[choice, place].get(mode="fill", fill_value=0.0)
        return jnp.zeros_like(tokens).at[source].add(weights[:, None] * returned)


class ExpertTransformer(nn.Module):
    """Attention layers whose feed-forward part is `Experts`."""

    layers: int
    hidden: int
    experts: int
    chosen: int

    @nn.compact
    def __call__(self, text: jax.Array) -> jax.Array:
        tokens = nn.Embed(64, self.hidden)(text)
        for _ in range(self.layers):
            mask = nn.make_causal_mask(text)
            tokens += nn.SelfAttention(num_heads=2)(nn.LayerNorm()(tokens), mask)
            flat = nn.LayerNorm()(tokens).reshape(-1, self.hidden)
            experts = Experts(self.experts, self.chosen, 2 * flat.shape[0] // self.experts)
            tokens += experts(flat).reshape(tokens.shape)
        return nn.Dense(64)(tokens)


class ConvNet(nn.Module):
    """Convolutions, group norms and pooling, as in flax's own MNIST example."""

    widths: tuple[int, ...]

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        for width in self.widths:
            images = nn.relu(nn.GroupNorm(num_groups=4)(nn.Conv(width, (3, 3))(images)))
            images = nn.max_pool(images, (2, 2), strides=(2, 2))
        hidden = nn.relu(nn.Dense(32)(images.reshape(images.shape[0], -1)))
        return nn.Dense(10)(hidden)


class Tagger(nn.Module):
    """Bidirectional LSTM over words of different lengths, one tag a word."""

    hidden: int

    @nn.compact
    def __call__(self, text: jax.Array, lengths: jax.Array) -> jax.Array:
        words = nn.Embed(64, self.hidden)(text)
        forward, backward = (nn.RNN(nn.OptimizedLSTMCell(self.hidden)) for _ in range(2))
        return nn.Dense(8)(nn.Bidirectional(forward, backward)(words, seq_lengths=lengths))


def classification(model: nn.Module, *inputs: Any, labels: tuple[int, ...]) -> Task:
    """Returns the task of predicting labels with a model that has only parameters."""
    params = jax.eval_shape(model.init, key(), *inputs)["params"]

    def loss(params: Any, state: Any, *batch: Any) -> Any:
        logits: Any = model.apply({"params": params}, *batch[:-1])
        return cross_entropy(logits, batch[-1]), state

    return Task(
        params=params,
        state={},
        batch=(*inputs, array(*labels, dtype=jnp.int32)),
        forward=lambda params, state, *batch: model.apply({"params": params}, *batch[:-1]),
        loss=loss,
    )


def mixer_task(batch: int, size: int, **options: Any) -> Task:
    """Returns image classification with an MLP-Mixer."""
    return classification(Mixer(**options), array(batch, size, size, 3), labels=(batch,))


def experts_task(batch: int, length: int, **options: Any) -> Task:
    """Returns language modelling with a mixture of experts; labels are the next characters."""
    text = array(batch, length, dtype=jnp.int32)
    return classification(ExpertTransformer(**options), text, labels=(batch, length))


def convnet_task(batch: int, size: int, widths: tuple[int, ...]) -> Task:
    """Returns image classification with a small convolutional net."""
    return classification(ConvNet(widths), array(batch, size, size, 1), labels=(batch,))


def tagger_task(batch: int, length: int, hidden: int) -> Task:
    """Returns tagging of texts of different lengths."""
    text, lengths = array(batch, length, dtype=jnp.int32), array(batch, dtype=jnp.int32)
    return classification(Tagger(hidden), text, lengths, labels=(batch, length))


def recipes() -> Iterator[Recipe]:
    """Yields every flax.linen recipe."""
    bf16 = jnp.bfloat16
    models: list[tuple[str, str, str, Callable[[], Task], dict[str, str]]] = [
        (
            "mixer",
            "l1-h32",
            "MLP-Mixer in flax.linen, 1 block, h32, 16 px, batch 4",
            partial(mixer_task, 4, 16, blocks=1, hidden=32),
            {"train-adam-b4": "train-adam"},
        ),
        (
            "mixer",
            "l2-h32-bf16",
            "MLP-Mixer in flax.linen, 2 blocks, h32, 16 px, batch 4, bfloat16",
            partial(mixer_task, 4, 16, blocks=2, hidden=32, dtype=bf16),
            {"train-lion-b4": "train-lion"},
        ),
        (
            "mixer",
            "l6-h48-scan",
            "MLP-Mixer in flax.linen, 6 blocks under nn.scan, h48, 32 px, batch 2",
            partial(mixer_task, 2, 32, blocks=6, hidden=48, scanned=True),
            {"forward-b2": "forward", "train-adamw-b2": "train-adamw"},
        ),
        (
            "moe",
            "l1-e4-k1",
            "Mixture of 4 experts in flax.linen, top 1, 1 layer, h32, batch 2, length 16",
            partial(experts_task, 2, 16, layers=1, hidden=32, experts=4, chosen=1),
            {"forward-b2-s16": "forward", "grad-b2-s16": "grad"},
        ),
        (
            "moe",
            "l2-e8-k2",
            "Mixture of 8 experts in flax.linen, top 2, 2 layers, h32, batch 2, length 16",
            partial(experts_task, 2, 16, layers=2, hidden=32, experts=8, chosen=2),
            {"train-adamw-b2-s16": "train-adamw"},
        ),
        (
            "cnn",
            "w8x16",
            "Convolutions, group norm, max-pooling in flax.linen, widths 8-16, 28 px, batch 8",
            partial(convnet_task, 8, 28, (8, 16)),
            {
                "grad-b8": "grad",
                "per-example-grad-b8": "per-example-grad",
            },
        ),
        (
            "cnn",
            "w8x16x32",
            "Convolutions, group norm, max-pooling in flax.linen, widths 8-16-32, 32 px, batch 4",
            partial(convnet_task, 4, 32, (8, 16, 32)),
            {"hvp-b4": "hvp", "loop-adam-b4": "loop-adam"},
        ),
        (
            "rnn",
            "bilstm-h24",
            "Bidirectional nn.RNN of OptimizedLSTMCell in flax.linen, h24, batch 4, length 16",
            partial(tagger_task, 4, 16, 24),
            {"forward-b4-s16": "forward", "grad-b4-s16": "grad"},
        ),
    ]
    for family, model, description, task, kinds in models:
        yield from task_recipes(family, LIBRARY, model, description, task, kinds)
