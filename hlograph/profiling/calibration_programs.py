"""Small programs whose times say what each kind of kernel costs on a machine.

Most have one kernel, in several sizes: small ones for what a kernel costs at all, large ones for
what each of its units costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class SmallProgram:
    """A program to be measured.

    Attributes:
        kind: The kind of its main kernel.
        name: Its name, with its sizes.
        function: A function that jax can trace.
        arguments: Its arguments.
    """

    kind: str
    name: str
    function: Function
    arguments: tuple[np.ndarray[Any, Any], ...] = field(repr=False)


def small_programs() -> Iterator[SmallProgram]:
    """Yields the programs."""
    for kind, programs in _KINDS.items():
        for name, function, arguments in programs():
            yield SmallProgram(kind, name, function, arguments)


_Programs = Iterator[tuple[str, Function, tuple[np.ndarray[Any, Any], ...]]]


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    """Returns random numbers between 0.5 and 1, for which all functions are defined."""
    return np.random.default_rng(0).uniform(0.5, 1.0, shape).astype(np.float32)


def _integers(limit: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(1, limit, shape).astype(np.int32)


def _named(name: str, function: Function, *arguments: np.ndarray[Any, Any]) -> Any:
    shapes = ", ".join("x".join(map(str, one.shape)) for one in arguments)
    return f"{name}: {shapes}", function, arguments


def _cheap(x: jax.Array, y: jax.Array, length: int) -> jax.Array:
    for number in range(length):
        x = (x * y, jnp.maximum(x, y), x + y, x - y)[number % 4]
    return x


def _elementwise() -> _Programs:
    for size in (1, 2**10, 2**14, 2**17, 2**20, 2**22):
        for length in (1, 8, 32):
            x = _floats(size)
            yield _named(f"{length} sums", lambda x, y, n=length: _cheap(x, y, n), x, x)


def _costly() -> _Programs:
    functions: dict[str, Function] = {
        **{"exp": jnp.exp, "expm1": jnp.expm1, "logistic": jax.nn.sigmoid, "log": jnp.log},
        **{"log1p": jnp.log1p, "tanh": jnp.tanh, "erf": lax.erf, "sqrt": jnp.sqrt},
        **{"rsqrt": lax.rsqrt, "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan},
        **{"arcsin": jnp.arcsin, "sinh": jnp.sinh, "cbrt": jnp.cbrt},
        "power": lambda x: x**1.7,
        "divide": lambda x: 1.5 / x,
        "arctan2": lambda x: jnp.arctan2(x, x + 1),
    }
    for name, function in functions.items():
        for size in (2**12, 2**16, 2**20):
            yield _named(name, function, _floats(size))
    for size in (2**12, 2**18):
        x = _integers(1000, size)
        yield _named("integer divide", lambda x: lax.div(jnp.int32(12345), x), x)
        yield _named("integer remainder", lambda x: lax.rem(jnp.int32(12345), x), x)


def _reductions() -> _Programs:
    for shape in ((2**14,), (2**20,), (1024, 1024), (65536, 16), (16, 65536), (64, 64)):
        yield _named("sum of rows", lambda x: x.sum(-1), _floats(*shape))
        yield _named("maximum of rows", lambda x: x.max(-1), _floats(*shape))
        yield _named("argmax", lambda x: x.argmax(-1), _floats(*shape))
    for shape in ((1024, 1024), (65536, 16), (16, 65536), (64, 64), (8, 64, 512)):
        yield _named("sum of columns", lambda x: x.sum(0), _floats(*shape))
        yield _named("maximum of columns", lambda x: x.max(0), _floats(*shape))
    for shape in ((49, 192, 192), (16, 64, 64), (256, 256, 32)):
        yield _named("sum of exponentials", lambda x: jnp.exp(x).sum(0), _floats(*shape))
        yield _named("sum of squares", lambda x: (x * x + 1).sum(0), _floats(*shape))
    for shape in ((64, 1024), (1024, 1024)):
        yield _named("softmax", lambda x: jax.nn.softmax(x), _floats(*shape))


def _dots() -> _Programs:
    for m, k, n in (
        *((32, 32, 32), (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512)),
        *((1024, 1024, 1024), (128, 768, 768), (32, 1024, 4096), (256, 256, 1024)),
        *((4096, 64, 64), (64, 4096, 64)),
    ):
        yield _named("dot", jnp.matmul, _floats(m, k), _floats(k, n))
    for m, k, n in ((4096, 3, 64), (1024, 4, 1024), (65536, 2, 2), (4, 1024, 1024), (64, 64, 3)):
        yield _named("thin dot", jnp.matmul, _floats(m, k), _floats(k, n))
    for m, n in ((64, 64), (256, 256), (1024, 1024), (4096, 1024), (1024, 4096)):
        yield _named("matrix times vector", jnp.matmul, _floats(m, n), _floats(n))
        yield _named("vector times matrix", jnp.matmul, _floats(m), _floats(m, n))
    for size in (64, 256):
        x = _integers(100, size, size)
        yield _named("integer dot", jnp.matmul, x, x)


def _batched_dots() -> _Programs:
    for b, m, k, n in (
        *((8, 128, 64, 128), (32, 64, 64, 64), (64, 128, 32, 128), (256, 16, 16, 16)),
        *((4096, 4, 4, 4), (1024, 8, 8, 8), (16, 256, 256, 256), (10000, 3, 3, 3)),
        *((512, 32, 32, 1), (4096, 4, 4, 1)),
    ):
        yield _named("batched dot", jnp.matmul, _floats(b, m, k), _floats(b, k, n))


def _convolve(stride: int = 1, **options: Any) -> Function:
    def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
        rank = x.ndim - 2
        pads = [(size // 2, size // 2) for size in kernel.shape[:rank]]
        numbers = ("NHWC", "HWIO", "NHWC") if rank == 2 else ("NWC", "WIO", "NWC")
        return lax.conv_general_dilated(
            *(x, kernel, (stride,) * rank, pads),
            dimension_numbers=numbers,
            **options,
        )

    return convolve


def _convolutions() -> _Programs:
    for batch, size, inputs, taps, outputs in (
        *((1, 32, 64, 3, 64), (4, 56, 64, 3, 64), (8, 14, 256, 3, 256), (2, 28, 128, 1, 256)),
        *((1, 64, 16, 5, 16), (1, 8, 8, 3, 8), (1, 128, 3, 3, 32)),
    ):
        x, kernel = _floats(batch, size, size, inputs), _floats(taps, taps, inputs, outputs)
        yield _named("convolution", _convolve(), x, kernel)
    x, kernel = _floats(1, 224, 224, 3), _floats(7, 7, 3, 64)
    yield _named("strided convolution", _convolve(stride=2), x, kernel)
    for shape, taps in (((1, 256, 256, 1), (13, 1)), ((4, 128, 128, 1), (5, 5))):
        x, kernel = _floats(*shape), _floats(*taps, 1, 1)
        yield _named("convolution of one channel", _convolve(), x, kernel)
    for size, channels in ((32, 16), (28, 64), (64, 8)):
        x, kernel = _floats(4, size, size, channels), _floats(3, 3, channels, channels)
        gradient = jax.grad(lambda kernel, x: (_convolve()(x, kernel) ** 2).sum())
        yield _named("gradient of a convolution", gradient, kernel, x)
    for length, inputs, outputs in ((1024, 64, 64), (16000, 1, 32), (256, 256, 256)):
        x, kernel = _floats(1, length, inputs), _floats(5, inputs, outputs)
        yield _named("convolution of a sequence", _convolve(), x, kernel)


def _dilated_convolutions() -> _Programs:
    for size, channels in ((16, 64), (32, 64), (56, 32)):
        x, kernel = _floats(1, size, size, channels), _floats(3, 3, channels, channels)
        yield _named("transposed convolution", _convolve(lhs_dilation=(2, 2)), x, kernel)
        yield _named("dilated convolution", _convolve(rhs_dilation=(2, 2)), x, kernel)


def _grouped_convolutions() -> _Programs:
    for size, channels in ((14, 256), (28, 96), (56, 32), (112, 32), (7, 512)):
        x, kernel = _floats(1, size, size, channels), _floats(3, 3, 1, channels)
        yield _named("depthwise", _convolve(feature_group_count=channels), x, kernel)
    for size, channels, groups in ((28, 128, 4), (14, 256, 32), (56, 64, 8), (28, 64, 2)):
        x = _floats(1, size, size, channels)
        kernel = _floats(3, 3, channels // groups, channels)
        yield _named("grouped", _convolve(feature_group_count=groups), x, kernel)
    for size, channels in ((14, 16), (28, 32)):
        x = _integers(9, 1, size, size, channels)
        yield _named("of integers", _convolve(), x, _integers(9, 3, 3, channels, channels))


def _sorting() -> _Programs:
    for shape in ((256,), (2**12,), (2**16,), (2**20,), (1024, 64), (64, 1024), (4096, 16)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield _named("sort", lambda x: jnp.sort(x), x)
        yield _named("argsort", lambda x: jnp.argsort(x), x)
    for shape in ((64, 1024), (2**18,), (4096, 32)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield _named("top_k", lambda x: lax.top_k(x, 8), x)
    for shape in ((128, 128), (64, 1024)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield _named("top_k of all", lambda x: lax.top_k(x, x.shape[-1]), x)


def _indexing() -> _Programs:
    for rows, width, count in (
        *((10000, 64, 128), (10000, 64, 4096), (1000, 512, 512), (2**20, 1, 2**10)),
        *((2**20, 1, 2**16), (4096, 4, 2**14)),
    ):
        table, indices = _floats(rows, width), _integers(rows, count)
        yield _named("gather", lambda x, i: x[i], table, indices)
    for rows, width, count in (
        *((1000, 64, 128), (1000, 64, 4096), (1000, 512, 512), (4096, 1, 2**10)),
        *((4096, 1, 2**14), (4096, 4, 2**12)),
    ):
        table, indices, updates = (
            _floats(rows, width),
            _integers(rows, count),
            _floats(count, width),
        )
        yield _named("scatter-add", lambda x, i, u: x.at[i].add(u), table, indices, updates)
    x, i = _floats(4096), _integers(4096, 2**13)
    yield _named("scatter of numbers", lambda x, i: x.at[i].set(1.0), x, i)


def _pool(x: jax.Array, size: int, stride: int) -> jax.Array:
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "VALID")


def _windows() -> _Programs:
    for shape, size, stride in (
        ((1, 56, 56, 64), 2, 2),
        ((4, 28, 28, 64), 3, 2),
        ((1, 112, 112, 16), 3, 1),
        ((1, 32, 32, 8), 5, 1),
    ):
        x = _floats(*shape)
        yield _named("pooling", lambda x, n=size, s=stride: _pool(x, n, s), x)
        gradient = jax.grad(lambda x, n=size, s=stride: _pool(x, n, s).sum())
        yield _named("gradient of pooling", gradient, x)


def _movement() -> _Programs:
    for shape in ((64, 64), (256, 256), (1024, 1024), (2048, 2048)):
        yield _named("transpose", lambda x: x.T, _floats(*shape))
        yield _named("flip", lambda x: jnp.flip(x, -1), _floats(*shape))
        yield _named("pad", lambda x: jnp.pad(x, 3), _floats(*shape))
        x = _floats(*shape)
        yield _named("concatenate", lambda x, y: jnp.concatenate([x, y], -1), x, x)
    for shape in ((8, 64, 512), (32, 128, 64)):
        yield _named("transpose", lambda x: x.transpose(1, 0, 2), _floats(*shape))
        yield _named("rotation", lambda x: x.transpose(2, 0, 1), _floats(*shape))


def _transforms() -> _Programs:
    for shape in ((256,), (4096,), (2**17,), (64, 512), (1000, 64)):
        x = _floats(*shape)
        yield _named("fft", lambda x: jnp.fft.fft(x), x.astype(np.complex64))
        yield _named("rfft", lambda x: jnp.fft.rfft(x), x)
    for size in (64, 256):
        yield _named("fft2", lambda x: jnp.fft.fft2(x), _floats(size, size).astype(np.complex64))


def _random() -> _Programs:
    key = np.arange(4, dtype=np.uint32)
    for size in (2**10, 2**14, 2**18, 2**20):
        yield (
            f"rng_bit_generator: {size}",
            lambda key, n=size: lax.rng_bit_generator(key, (n,))[1],
            (key,),
        )


def _positive(*shape: int) -> np.ndarray[Any, Any]:
    x = _floats(*shape) - 0.75
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1], dtype=np.float32)


def _matrices() -> _Programs:
    for shape in ((16, 16), (64, 64), (256, 256), (512, 512), (256, 8, 8)):
        yield _named("cholesky", lax.linalg.cholesky, _positive(*shape))
        yield _named("triangular solve", _solve, _positive(*shape), _floats(*shape))
    for shape in ((16, 16), (64, 64), (128, 128), (64, 8, 8)):
        yield _named("eigh", lambda x: jnp.linalg.eigh(x), _positive(*shape))
        yield _named("svd", lambda x: jnp.linalg.svd(x), _positive(*shape))
        yield _named("qr", lambda x: jnp.linalg.qr(x), _positive(*shape))
        yield _named("lu", lax.linalg.lu, _positive(*shape))


def _solve(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.linalg.triangular_solve(x, y, left_side=True, lower=True)


def _loop(step: Function, length: int) -> Function:
    def loop(x: jax.Array, *others: jax.Array) -> jax.Array:
        return lax.fori_loop(0, length, lambda _, x: step(x, *others), x)

    return loop


def _loops() -> _Programs:
    for length in (100, 1000):
        yield _named(f"{length} small steps", _loop(lambda x: x * 0.5 + 1, length), _floats(4))
        yield _named(
            f"{length} elementwise steps", _loop(lambda x: x * 0.5 + 1, length), _floats(1024)
        )
        x = _floats(32, 32)
        yield _named(f"{length} dots", _loop(lambda x, y: x @ y, length), x, x)
        yield _named(
            f"{length} rolls", _loop(lambda x: jnp.roll(x, 1) + x.sum(), length), _floats(512)
        )
        scan = lambda x: lax.scan(lambda y, x: (y * 0.9 + x, y), x[0], x)[1]  # noqa: E731
        yield _named(f"scan of {length}", scan, _floats(length, 128))


_KINDS: dict[str, Callable[[], _Programs]] = {
    "elementwise": _elementwise,
    "costly elementwise": _costly,
    "reduction": _reductions,
    "dot": _dots,
    "batched dot": _batched_dots,
    "convolution": _convolutions,
    "dilated convolution": _dilated_convolutions,
    "grouped convolution": _grouped_convolutions,
    "sort": _sorting,
    "gather and scatter": _indexing,
    "window": _windows,
    "movement": _movement,
    "fft": _transforms,
    "random numbers": _random,
    "linear algebra": _matrices,
    "loop": _loops,
}
