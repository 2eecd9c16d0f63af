"""Fourier transforms: filters, spectrograms, solvers of equations, correlation, number tricks."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import signal
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def long_convolution(signals: jax.Array, filters: jax.Array) -> jax.Array:
    """Returns causal convolutions as long as the signals, one filter for each channel."""
    size = signals.shape[-1]
    spectrum = jnp.fft.rfft(signals, 2 * size) * jnp.fft.rfft(filters, 2 * size)
    return jnp.fft.irfft(spectrum, 2 * size)[..., :size]


def spectrogram(waves: jax.Array) -> jax.Array:
    """Returns log mel-like spectrograms: frames, window, transform, bands."""
    starts = jnp.arange(0, waves.shape[-1] - 400 + 1, 160)
    frames = waves[:, starts[:, None] + jnp.arange(400)]
    power = jnp.abs(jnp.fft.rfft(frames * jnp.hanning(400), 512)) ** 2
    centres = jnp.linspace(0.0, 256.0, 82)[1:-1]
    bands = jnp.maximum(1 - jnp.abs(jnp.arange(257)[:, None] - centres) / 4.0, 0.0)
    return jnp.log(power @ bands + 1e-6)


def short_time(waves: jax.Array) -> jax.Array:
    """Returns waves through a short-time transform, a soft mask, and its inverse."""
    _, _, spectrum = signal.stft(waves, nperseg=256)
    size = jnp.abs(spectrum)
    mask = size / (size + jnp.mean(size, axis=-1, keepdims=True))
    return signal.istft(spectrum * mask, nperseg=256)[1]


def poisson(source: jax.Array) -> jax.Array:
    """Solves Poisson's equation on a periodic cube."""
    size = source.shape[0]
    wave = 2 * jnp.pi * jnp.fft.fftfreq(size)
    half = 2 * jnp.pi * jnp.fft.rfftfreq(size)
    squares = wave[:, None, None] ** 2 + wave[:, None] ** 2 + half**2
    squares = squares.at[0, 0, 0].set(1.0)
    spectrum = jnp.fft.rfftn(source) / -squares
    return jnp.fft.irfftn(spectrum.at[0, 0, 0].set(0.0), source.shape)


def schrodinger(real: jax.Array, imaginary: jax.Array, potential: jax.Array) -> Any:
    """Moves a quantum wave in a plane for 20 split steps."""
    size = real.shape[0]
    wave = 2 * jnp.pi * jnp.fft.fftfreq(size)
    kinetic = jnp.exp(-0.05j * (wave[:, None] ** 2 + wave**2))
    turn = jnp.exp(-0.1j * potential)

    def step(psi: jax.Array, _: None) -> Any:
        psi = jnp.fft.ifft2(kinetic * jnp.fft.fft2(turn * psi))
        return psi, jnp.sum(jnp.abs(psi) ** 2)

    psi, norms = jax.lax.scan(step, real + 1j * imaginary, length=20)
    return psi.real, psi.imag, norms


def chaos(state: jax.Array) -> jax.Array:
    """Moves Kuramoto and Sivashinsky's equation for 200 steps on many lines."""
    size = state.shape[-1]
    wave = 2 * jnp.pi * jnp.fft.rfftfreq(size, 32.0 / size)
    linear = wave**2 - wave**4
    decay = jnp.exp(0.05 * linear)
    share = jnp.where(jnp.abs(linear) > 1e-4, (decay - 1) / jnp.where(linear == 0, 1, linear), 0.05)

    def step(spectrum: jax.Array, _: None) -> Any:
        field = jnp.fft.irfft(spectrum, size)
        push = -0.5j * wave * jnp.fft.rfft(field**2)
        return decay * spectrum + share * push, None

    spectrum = jax.lax.scan(step, jnp.fft.rfft(jnp.tanh(state)), length=200)[0]
    return jnp.fft.irfft(spectrum, size)


def phase_retrieval(amplitude: jax.Array, guess: jax.Array) -> jax.Array:
    """Finds an image from the size of its transform by 20 rounds of Gerchberg and Saxton."""

    def step(_: int, image: jax.Array) -> jax.Array:
        spectrum = jnp.fft.fft2(image)
        spectrum = jnp.abs(amplitude) * spectrum / (jnp.abs(spectrum) + 1e-6)
        return jnp.maximum(jnp.fft.ifft2(spectrum).real, 0.0)

    return jax.lax.fori_loop(0, 20, step, guess)


def cosine_blocks(images: jax.Array, table: jax.Array) -> jax.Array:
    """Returns images through the cosine transform of blocks of 8x8, rounded as JPEG does."""
    count, size, _ = images.shape
    blocks = images.reshape(count, size // 8, 8, size // 8, 8).transpose(0, 1, 3, 2, 4)
    step = 0.1 + jax.nn.softplus(table)
    rounded = jnp.round(jax.scipy.fft.dctn(blocks, axes=(-2, -1), norm="ortho") / step) * step
    blocks = jax.scipy.fft.idctn(rounded, axes=(-2, -1), norm="ortho")
    return blocks.transpose(0, 1, 3, 2, 4).reshape(images.shape)


def autocorrelation(series: jax.Array) -> jax.Array:
    """Returns effective sample sizes of chains, autocorrelations by Fourier transforms."""
    size = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    spectrum = jnp.fft.rfft(centred, 2 * size)
    lags = jnp.fft.irfft(jnp.abs(spectrum) ** 2, 2 * size)[..., :size]
    lags = lags / lags[..., :1]
    pairs = lags.reshape(*lags.shape[:-1], -1, 2).sum(axis=-1)
    falling = jax.lax.cummin(jnp.maximum(pairs, 0.0), axis=pairs.ndim - 1)
    return size / (2 * falling.sum(axis=-1) - 1)


def recursive_filter(waves: jax.Array, poles: jax.Array) -> jax.Array:
    """Returns waves through four second-order recursive filters, one sample after another."""
    damped = 0.9 * jnp.tanh(poles)

    def step(carry: Any, sample: jax.Array) -> Any:
        outputs = []
        for first, last in zip(carry, damped, strict=True):
            sample = sample + last[0] * first[0] - 0.5 * last[1] ** 2 * first[1]
            outputs.append(jnp.stack([sample, first[0]]))
        return jnp.stack(outputs), sample

    start = jnp.zeros((len(poles), 2, waves.shape[0]))
    return jax.lax.scan(step, start, waves.T)[1].T


def recipes() -> Iterator[Recipe]:
    """Yields the transforms."""
    plane = array(128, 128)
    programs = (
        ("fft/long-convolution/b4-c64-n2048", long_convolution, (array(4, 64, 2048),) * 2),
        ("signal/spectrogram/b4-n32000", spectrogram, (array(4, 32000),)),
        ("signal/short-time/b4-n32768", short_time, (array(4, 32768),)),
        ("fft/poisson/n64", poisson, (array(64, 64, 64),)),
        ("fft/schrodinger/n128-t20", schrodinger, (plane, plane, plane)),
        ("fft/chaos/b64-n256-t200", chaos, (array(64, 256),)),
        ("fft/phase-retrieval/n256-t20", phase_retrieval, (array(256, 256), array(256, 256))),
        ("signal/cosine-blocks/b4-n256", cosine_blocks, (array(4, 256, 256), array(8, 8))),
        ("signal/autocorrelation/b256-n2048", autocorrelation, (array(256, 2048),)),
        ("signal/recursive-filter/b16-n4096", recursive_filter, (array(16, 4096), array(4, 2))),
    )
    for name, function, arguments in programs:
        words = " ".join(name.split("/")[:2]) + " by transforms"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
