"""Transformers of flax.linen: language models with caches or under a scan, and translators."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.flax_sequences import CHARACTERS, Row, model_recipes, text_task
from tasks import Task


class Block(nn.Module):
    """Transformer layer, with attention to a memory where there is one."""

    heads: int
    options: tuple[tuple[str, Any], ...] = ()

    @nn.compact
    def __call__(
        self, tokens: jax.Array, mask: Any = None, memory: Any = None, memory_mask: Any = None
    ) -> jax.Array:
        attention = partial(nn.MultiHeadDotProductAttention, self.heads)
        normed = nn.LayerNorm()(tokens)
        tokens = tokens + attention(**dict(self.options))(normed, mask=mask)
        if memory is not None:
            normed = nn.LayerNorm()(tokens)
            tokens = tokens + attention()(normed, memory, mask=memory_mask)
        hidden = nn.gelu(nn.Dense(2 * tokens.shape[-1])(nn.LayerNorm()(tokens)))
        return tokens + nn.Dense(tokens.shape[-1])(hidden)


class Carrying(nn.Module):
    """A layer in the shape that `nn.scan` takes."""

    heads: int
    remat: bool

    @nn.compact
    def __call__(self, tokens: jax.Array, mask: jax.Array) -> tuple[jax.Array, None]:
        block = nn.remat(Block) if self.remat else Block
        return block(self.heads)(tokens, mask), None


class Transformer(nn.Module):
    """Causal language model, its layers unrolled or under one scan, with a cache for decoding."""

    layers: int
    hidden: int
    scanned: bool = False
    remat: bool = False
    decode: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    @nn.compact
    def __call__(self, text: jax.Array) -> jax.Array:
        tokens = nn.Embed(CHARACTERS, self.hidden)(text)
        mask = None if self.decode else nn.make_causal_mask(text)
        if self.scanned:
            axes = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
            stack = nn.scan(Carrying, length=self.layers, in_axes=nn.broadcast, **axes)
            tokens, _ = stack(4, self.remat)(tokens, mask)
        else:
            block = nn.remat(Block) if self.remat else Block
            options = (*self.options, *((("decode", True),) if self.decode else ()))
            for _ in range(self.layers):
                tokens = block(4, options)(tokens, mask)
        return nn.Dense(CHARACTERS)(nn.LayerNorm()(tokens))


class EncoderDecoder(nn.Module):
    """Translation by attention, with padding masked."""

    layers: int
    hidden: int

    @nn.compact
    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        embed = nn.Embed(CHARACTERS, self.hidden)
        memory, tokens = embed(source), embed(target)
        padding = nn.make_attention_mask(source > 0, source > 0)
        for _ in range(self.layers):
            memory = Block(4)(memory, padding)
        causal = nn.combine_masks(
            nn.make_causal_mask(target), nn.make_attention_mask(target > 0, target > 0)
        )
        across = nn.make_attention_mask(target > 0, source > 0)
        for _ in range(self.layers):
            tokens = Block(4)(tokens, causal, memory, across)
        return embed.attend(nn.LayerNorm()(tokens))


def language_task(
    layers: int, hidden: int, *, attention: dict[str, Any] | None = None, **options: Any
) -> Task:
    """Returns next-token prediction by a transformer.

    Args:
        layers: Layers.
        hidden: Width of a token.
        attention: Options of `nn.MultiHeadDotProductAttention`.
        **options: Options of `Transformer`.
    """
    chosen = tuple((attention or {}).items())
    return text_task(Transformer(layers, hidden, options=chosen, **options), 2, 16)


def translator_task(layers: int) -> Task:
    """Returns translation by a transformer."""
    return text_task(EncoderDecoder(layers, 32), 2, 12, sources=16)


def decoding_task(layers: int, hidden: int, *, batch: int, length: int, sampled: bool) -> Task:
    """Returns decoding by a transformer with key and value caches, one token a scan step."""
    model = Transformer(layers, hidden, decode=True)
    text = array(batch, length, dtype=jnp.int32)
    variables = jax.eval_shape(model.init, key(), text)

    def forward(params: Any, state: Any, tokens: jax.Array, rng: jax.Array) -> jax.Array:
        def step(carry: Any, rng: jax.Array) -> Any:
            cache, token = carry
            logits, updated = model.apply(
                {"params": params, "cache": cache}, token[:, None], mutable=["cache"]
            )
            chosen = jnp.argmax(logits[:, 0], axis=-1)
            if sampled:
                chosen = jax.random.categorical(rng, logits[:, 0] / 0.8)
            token = chosen.astype(jnp.int32)
            return (updated["cache"], token), token

        steps = jax.random.split(rng, length)
        return jax.lax.scan(step, (state, tokens), steps)[1]

    start = array(batch, dtype=jnp.int32)
    return Task(variables["params"], variables["cache"], (start, key()), forward, forward)


def recipes() -> Iterator[Recipe]:
    """Yields the transformers."""
    task = partial(partial, language_task)
    decoding = partial(decoding_task, batch=2, length=12)
    rows: list[Row] = [
        ("linen-l2", task(2, 32), "forward grad train-adam"),
        ("linen-l4", task(4, 32), "train-adamw-clip-cosine"),
        ("linen-l2-remat", task(2, 32, remat=True), "grad"),
        ("linen-l4-scan", task(4, 32, scanned=True), "forward train-adam"),
        ("linen-l4-scan-remat", task(4, 32, scanned=True, remat=True), "grad train-lion"),
        ("linen-l2-qknorm", task(2, 32, attention={"normalize_qk": True}), "forward train-adamw"),
        ("linen-l1-nobias", task(1, 32, attention={"use_bias": False}), "hvp per-example-grad"),
        ("linen-translator-l1", partial(translator_task, 1), "forward train-adam"),
        ("linen-translator-l2", partial(translator_task, 2), "grad"),
        ("linen-decode-l1", partial(decoding, 1, 32, sampled=False), "forward"),
        ("linen-decode-l3", partial(decoding, 3, 32, sampled=True), "forward"),
    ]
    yield from model_recipes("transformer", "Transformer", rows, prefix="")
