"""Sequence models of flax with convolutions over time: Mamba, WaveNet, Hyena, a vocoder."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.flax_sequences import text_task
from tasks import Task, task_recipes

LIBRARY = "flax"
VOCABULARY = 512

Row = tuple[str, str, Callable[[], Task], str]
"""Family, model, its task, and kinds of programs."""


def causal(width: int, taps: int, *, dilation: int = 1, groups: int = 1) -> nn.Conv:
    """Returns a convolution over time that looks back only."""
    sizes = {"kernel_dilation": (dilation,), "feature_group_count": groups}
    return nn.Conv(width, (taps,), padding="CAUSAL", **sizes)


class SelectiveBlock(nn.Module):
    """Layer of Mamba (Gu and Dao, 2023): a short convolution, then a selective recurrence."""

    states: int

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        inner = 2 * tokens.shape[-1]
        hidden, gate = jnp.split(nn.Dense(2 * inner)(nn.RMSNorm()(tokens)), 2, axis=-1)
        hidden = nn.silu(causal(inner, 4, groups=inner)(hidden))
        step = nn.softplus(nn.Dense(inner)(nn.Dense(inner // 16)(hidden)))
        read, write = jnp.split(nn.Dense(2 * self.states)(hidden), 2, axis=-1)
        rates = self.param("rates", nn.initializers.zeros, (inner, self.states))
        skip = self.param("skip", nn.initializers.ones, (inner,))

        def advance(state: jax.Array, now: Any) -> tuple[jax.Array, jax.Array]:
            step, value, read, write = now
            kept = jnp.exp(-step[..., None] * jnp.exp(rates)) * state
            state = kept + (step * value)[..., None] * write[:, None]
            return state, jnp.einsum("bis,bs->bi", state, read)

        start = jnp.zeros((tokens.shape[0], inner, self.states))
        series = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), (step, hidden, read, write))
        outputs = jax.lax.scan(advance, start, series)[1].swapaxes(0, 1)
        return tokens + nn.Dense(tokens.shape[-1])((outputs + skip * hidden) * nn.silu(gate))


class DilatedBlock(nn.Module):
    """Layer of WaveNet (van den Oord et al., 2016): a gated convolution with gaps."""

    dilation: int

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        width = tokens.shape[-1]
        hidden = causal(2 * width, 2, dilation=self.dilation)(tokens)
        value, gate = jnp.split(hidden, 2, axis=-1)
        return tokens + nn.Dense(width)(jnp.tanh(value) * nn.sigmoid(gate))


class LongBlock(nn.Module):
    """Layer of Hyena (Poli et al., 2023): filters as long as the text, applied by FFT."""

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        length, width = tokens.shape[1:]
        mixed = nn.Dense(3 * width)(nn.LayerNorm()(tokens))
        mixed = causal(3 * width, 3, groups=3 * width)(mixed)
        value, first, second = jnp.split(mixed, 3, axis=-1)
        times = jnp.linspace(0.0, 1.0, length)[:, None]
        angles = times * jnp.arange(1.0, 9.0)
        places = jnp.concatenate([times, jnp.sin(angles), jnp.cos(angles)], axis=-1)
        written = nn.Dense(width)(jnp.sin(nn.Dense(32)(places)))
        decay = jnp.exp(-times * jnp.linspace(1.0, 20.0, width))
        filters = jnp.fft.rfft(written * decay, 2 * length, axis=0)
        spectrum = jnp.fft.rfft(value * first, 2 * length, axis=1) * filters
        hidden = jnp.fft.irfft(spectrum, 2 * length, axis=1)[:, :length] * second
        return tokens + nn.Dense(width)(hidden)


class Sequence(nn.Module):
    """Language model of layers of one kind, which are made from their number."""

    layer: Callable[[int], nn.Module]
    layers: int
    width: int

    @nn.compact
    def __call__(self, text: jax.Array) -> jax.Array:
        tokens = nn.Embed(VOCABULARY, self.width)(text)
        for number in range(self.layers):
            tokens = self.layer(number)(tokens)
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(tokens))


class Vocoder(nn.Module):
    """Generator of HiFi-GAN (Kong et al., 2020): from frames to samples, each stage longer."""

    width: int
    factors: tuple[int, ...]

    @nn.compact
    def __call__(self, frames: jax.Array) -> jax.Array:
        hidden = nn.Conv(self.width, (7,))(frames)
        for stage, factor in enumerate(self.factors):
            width = self.width // 2 ** (stage + 1)
            hidden = nn.ConvTranspose(width, (2 * factor,), (factor,))(nn.leaky_relu(hidden, 0.1))
            parts = []
            for taps in (3, 7):
                branch = hidden
                for dilation in (1, 3):
                    gaps = {"kernel_dilation": (dilation,)}
                    branch += nn.Conv(width, (taps,), **gaps)(nn.leaky_relu(branch, 0.1))
                parts.append(branch)
            hidden = sum(parts) / len(parts)
        return jnp.tanh(nn.Conv(1, (7,))(nn.leaky_relu(hidden)))


def sequence_task(
    layer: Callable[[int], nn.Module], layers: int, width: int, batch: int, length: int
) -> Task:
    """Returns next-token prediction by layers of one kind."""
    return text_task(Sequence(layer, layers, width), batch, length)


def vocoder_task(width: int, factors: tuple[int, ...], *, batch: int, frames: int) -> Task:
    """Returns the making of samples from frames of 80 bands, compared with a recording."""
    model = Vocoder(width, factors)
    sound = array(batch, frames, 80)
    params = jax.eval_shape(model.init, key(), sound)["params"]

    def forward(params: Any, state: Any, sound: jax.Array, samples: jax.Array) -> jax.Array:
        return model.apply({"params": params}, sound)

    def loss(params: Any, state: Any, sound: jax.Array, samples: jax.Array) -> Any:
        return jnp.abs(forward(params, state, sound, samples) - samples).mean(), state

    samples = jax.eval_shape(forward, params, {}, sound, sound)
    return Task(params, {}, (sound, samples), forward, loss)


def recipes() -> Iterator[Recipe]:
    """Yields the programs; a model's name has its sizes."""

    def selective(number: int) -> nn.Module:
        return SelectiveBlock(16)

    def dilated(number: int) -> nn.Module:
        return DilatedBlock(2 ** (number % 8))

    def long(number: int) -> nn.Module:
        return LongBlock()

    task = partial(partial, sequence_task)
    sound = partial(partial, vocoder_task)
    rows: list[Row] = [
        ("mamba", "l2-h128-b2-s256", task(selective, 2, 128, 2, 256), "forward train-adamw"),
        ("mamba", "l4-h192-b1-s128", task(selective, 4, 192, 1, 128), "forward"),
        ("wavenet", "l8-h64-b2-s1024", task(dilated, 8, 64, 2, 1024), "forward train-adam"),
        ("wavenet", "l16-h64-b1-s2048", task(dilated, 16, 64, 1, 2048), "forward"),
        ("long-convolution", "l3-h128-b2-s512", task(long, 3, 128, 2, 512), "forward train-adamw"),
        ("vocoder", "w128-x64-b1-f64", sound(128, (8, 4, 2), batch=1, frames=64), "forward grad"),
    ]
    for family, model, make, kinds in rows:
        words = f"{family} of flax, {model}"
        variants = {kind: kind for kind in kinds.split()}
        yield from task_recipes(family, LIBRARY, f"flax-{model}", words, make, variants)
