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


Programs = Iterator[tuple[str, Function, tuple[np.ndarray[Any, Any], ...]]]
"""Names, functions and arguments."""


def floats(*shape: int) -> np.ndarray[Any, Any]:
    """Returns random numbers between 0.5 and 1, for which all functions are defined."""
    return np.random.default_rng(0).uniform(0.5, 1.0, shape).astype(np.float32)


def integers(limit: int, *shape: int) -> np.ndarray[Any, Any]:
    """Returns random integers from 1 to below a limit."""
    return np.random.default_rng(0).integers(1, limit, shape).astype(np.int32)


def named(name: str, function: Function, *arguments: np.ndarray[Any, Any]) -> Any:
    """Returns the name with the shapes, the function and the arguments of a program."""
    shapes = ", ".join("x".join(map(str, argument.shape)) for argument in arguments)
    return f"{name}: {shapes}", function, arguments


def small_programs() -> Iterator[SmallProgram]:
    """Yields the programs."""
    for kind, programs in _KINDS.items():
        for name, function, arguments in programs():
            yield SmallProgram(kind, name, function, arguments)


def _cheap(x: jax.Array, y: jax.Array, length: int) -> jax.Array:
    for number in range(length):
        x = (x * y, jnp.maximum(x, y), x + y, x - y)[number % 4]
    return x


def _elementwise() -> Programs:
    for size in (1, 2**10, 2**14, 2**17, 2**20, 2**22):
        for length in (1, 8, 32):
            x = floats(size)
            yield named(f"{length} sums", lambda x, y, n=length: _cheap(x, y, n), x, x)


def _costly() -> Programs:
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
            yield named(name, function, floats(size))
    for size in (2**12, 2**18):
        x = integers(1000, size)
        yield named("integer divide", lambda x: lax.div(jnp.int32(12345), x), x)
        yield named("integer remainder", lambda x: lax.rem(jnp.int32(12345), x), x)


def _reductions() -> Programs:
    for shape in ((2**14,), (2**20,), (1024, 1024), (65536, 16), (16, 65536), (64, 64)):
        yield named("sum of rows", lambda x: x.sum(-1), floats(*shape))
        yield named("maximum of rows", lambda x: x.max(-1), floats(*shape))
        yield named("argmax", lambda x: x.argmax(-1), floats(*shape))
    for shape in ((1024, 1024), (65536, 16), (16, 65536), (64, 64), (8, 64, 512)):
        yield named("sum of columns", lambda x: x.sum(0), floats(*shape))
        yield named("maximum of columns", lambda x: x.max(0), floats(*shape))
    for shape in ((49, 192, 192), (16, 64, 64), (256, 256, 32)):
        yield named("sum of exponentials", lambda x: jnp.exp(x).sum(0), floats(*shape))
        yield named("sum of squares", lambda x: (x * x + 1).sum(0), floats(*shape))
    for shape in ((8, 2**18), (64, 2**16), (48, 192, 192)):
        yield named("sum of long columns", lambda x: x.sum(0), floats(*shape))
    for shape in ((2**16, 3), (192, 192, 9), (512, 512, 3), (2**14, 16)):
        yield named("sum of short rows", lambda x: (x * x).sum(-1), floats(*shape))
    for shape in ((512, 512, 3), (64, 4096, 2), (2**15, 4)):
        yield named("sum of narrow columns", lambda x: (x * x).sum(-2), floats(*shape))
    for shape in ((64, 1024), (1024, 1024)):
        yield named("softmax", lambda x: jax.nn.softmax(x), floats(*shape))


def _dots() -> Programs:
    for m, k, n in (
        *((32, 32, 32), (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512)),
        *((1024, 1024, 1024), (128, 768, 768), (32, 1024, 4096), (256, 256, 1024)),
        *((4096, 64, 64), (64, 4096, 64)),
    ):
        yield named("dot", jnp.matmul, floats(m, k), floats(k, n))
    for m, k, n in ((4096, 3, 64), (1024, 4, 1024), (65536, 2, 2), (4, 1024, 1024), (64, 64, 3)):
        yield named("thin dot", jnp.matmul, floats(m, k), floats(k, n))
    for m, n in ((64, 64), (256, 256), (1024, 1024), (4096, 1024), (1024, 4096)):
        yield named("matrix times vector", jnp.matmul, floats(m, n), floats(n))
        yield named("vector times matrix", jnp.matmul, floats(m), floats(m, n))
    for size in (64, 256):
        x = integers(100, size, size)
        yield named("integer dot", jnp.matmul, x, x)


def _batched_dots() -> Programs:
    for b, m, k, n in (
        *((8, 128, 64, 128), (32, 64, 64, 64), (64, 128, 32, 128), (256, 16, 16, 16)),
        *((4096, 4, 4, 4), (1024, 8, 8, 8), (16, 256, 256, 256), (10000, 3, 3, 3)),
        *((512, 32, 32, 1), (4096, 4, 4, 1), (16384, 3, 3, 1), (1024, 4, 4, 4)),
    ):
        yield named("batched dot", jnp.matmul, floats(b, m, k), floats(b, k, n))


def _sorting() -> Programs:
    for shape in ((256,), (2**12,), (2**16,), (2**20,), (1024, 64), (64, 1024), (4096, 16)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield named("sort", lambda x: jnp.sort(x), x)
        yield named("argsort", lambda x: jnp.argsort(x), x)
        keys = integers(2**30, *shape)
        yield named("sort of integers", lambda x: jnp.sort(x), keys)
    for shape in ((1024, 64), (4096, 16), (256, 1024)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield named("sort of columns", lambda x: jnp.sort(x, axis=0), x)
        yield named("argsort of columns", lambda x: jnp.argsort(x, axis=0), x)
    for shape in ((64, 1024), (2**16,)):
        yield named("top_k of integers", lambda x: lax.top_k(x, 8), integers(2**30, *shape))
    for shape in ((64, 1024), (2**18,), (4096, 32)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield named("top_k", lambda x: lax.top_k(x, 8), x)
    for shape in ((128, 128), (64, 1024)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        yield named("top_k of all", lambda x: lax.top_k(x, x.shape[-1]), x)


def _indexing() -> Programs:
    for rows, width, count in (
        *((10000, 64, 128), (10000, 64, 4096), (1000, 512, 512), (2**20, 1, 2**10)),
        *((2**20, 1, 2**16), (4096, 4, 2**14)),
    ):
        table, indices = floats(rows, width), integers(rows, count)
        yield named("gather", lambda x, i: x[i], table, indices)
    for rows, width, count in (
        *((1000, 64, 128), (1000, 64, 4096), (1000, 512, 512), (4096, 1, 2**10)),
        *((4096, 1, 2**14), (4096, 4, 2**12)),
    ):
        table, indices, updates = (
            floats(rows, width),
            integers(rows, count),
            floats(count, width),
        )
        yield named("scatter-add", lambda x, i, u: x.at[i].add(u), table, indices, updates)
    x, i = floats(4096), integers(4096, 2**13)
    yield named("scatter of numbers", lambda x, i: x.at[i].set(1.0), x, i)


def _pool(x: jax.Array, size: int, stride: int) -> jax.Array:
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "VALID")


def _windows() -> Programs:
    for shape, size, stride in (
        ((1, 56, 56, 64), 2, 2),
        ((4, 28, 28, 64), 3, 2),
        ((1, 112, 112, 16), 3, 1),
        ((1, 32, 32, 8), 5, 1),
    ):
        x = floats(*shape)
        yield named("pooling", lambda x, n=size, s=stride: _pool(x, n, s), x)
        gradient = jax.grad(lambda x, n=size, s=stride: _pool(x, n, s).sum())
        yield named("gradient of pooling", gradient, x)


def _movement() -> Programs:
    for shape in ((64, 64), (256, 256), (1024, 1024), (2048, 2048)):
        yield named("transpose", lambda x: x.T, floats(*shape))
        yield named("flip", lambda x: jnp.flip(x, -1), floats(*shape))
        yield named("pad", lambda x: jnp.pad(x, 3), floats(*shape))
        x = floats(*shape)
        yield named("concatenate", lambda x, y: jnp.concatenate([x, y], -1), x, x)
    for shape in ((8, 64, 512), (32, 128, 64)):
        yield named("transpose", lambda x: x.transpose(1, 0, 2), floats(*shape))
        yield named("rotation", lambda x: x.transpose(2, 0, 1), floats(*shape))


def _transforms() -> Programs:
    for shape in ((256,), (4096,), (2**17,), (64, 512), (1000, 64)):
        x = floats(*shape)
        yield named("fft", lambda x: jnp.fft.fft(x), x.astype(np.complex64))
        yield named("rfft", lambda x: jnp.fft.rfft(x), x)
    for size in (64, 256):
        yield named("fft2", lambda x: jnp.fft.fft2(x), floats(size, size).astype(np.complex64))


def _random() -> Programs:
    key = np.arange(4, dtype=np.uint32)
    for size in (2**10, 2**14, 2**18, 2**20):
        yield (
            f"rng_bit_generator: {size}",
            lambda key, n=size: lax.rng_bit_generator(key, (n,))[1],
            (key,),
        )


def _positive(*shape: int) -> np.ndarray[Any, Any]:
    x = floats(*shape) - 0.75
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1], dtype=np.float32)


def _matrices() -> Programs:
    for shape in ((16, 16), (64, 64), (256, 256), (512, 512), (256, 8, 8)):
        yield named("cholesky", lax.linalg.cholesky, _positive(*shape))
        yield named("triangular solve", _solve, _positive(*shape), floats(*shape))
    for shape in ((16, 16), (64, 64), (128, 128), (64, 8, 8)):
        yield named("eigh", lambda x: jnp.linalg.eigh(x), _positive(*shape))
        yield named("svd", lambda x: jnp.linalg.svd(x), _positive(*shape))
        yield named("qr", lambda x: jnp.linalg.qr(x), _positive(*shape))
        yield named("lu", lax.linalg.lu, _positive(*shape))


def _solve(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.linalg.triangular_solve(x, y, left_side=True, lower=True)


def _loop(step: Function, length: int) -> Function:
    def loop(x: jax.Array, *others: jax.Array) -> jax.Array:
        return lax.fori_loop(0, length, lambda _, x: step(x, *others), x)

    return loop


def _loops() -> Programs:
    for length in (100, 1000):
        yield named(f"{length} small steps", _loop(lambda x: x * 0.5 + 1, length), floats(4))
        yield named(
            f"{length} elementwise steps", _loop(lambda x: x * 0.5 + 1, length), floats(1024)
        )
        for size in (4, 8, 32):
            x = floats(size, size)
            yield named(f"{length} dots", _loop(lambda x, y: x @ y, length), x, x)
        yield named(
            f"{length} rolls", _loop(lambda x: jnp.roll(x, 1) + x.sum(), length), floats(512)
        )
        scan = lambda x: lax.scan(lambda y, x: (y * 0.9 + x, y), x[0], x)[1]  # noqa: E731
        yield named(f"scan of {length}", scan, floats(length, 128))


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


def _gradient_of(convolve: Function) -> Function:
    return jax.grad(lambda kernel, x: (convolve(x, kernel) ** 2).sum())


def _convolutions() -> Programs:
    """Yields dense convolutions and gradients of their kernels."""
    for batch, size, inputs, taps, outputs in (
        *((1, 32, 64, 3, 64), (4, 56, 64, 3, 64), (8, 14, 256, 3, 256), (2, 28, 128, 1, 256)),
        *((1, 64, 16, 5, 16), (1, 8, 8, 3, 8), (1, 128, 3, 3, 32)),
    ):
        x, kernel = floats(batch, size, size, inputs), floats(taps, taps, inputs, outputs)
        yield named("convolution", _convolve(), x, kernel)
    x, kernel = floats(1, 224, 224, 3), floats(7, 7, 3, 64)
    yield named("strided convolution", _convolve(stride=2), x, kernel)
    for shape, taps in (((1, 256, 256, 1), (13, 1)), ((4, 128, 128, 1), (5, 5))):
        x, kernel = floats(*shape), floats(*taps, 1, 1)
        yield named("convolution of one channel", _convolve(), x, kernel)
    for size, channels in ((32, 16), (28, 64), (64, 8)):
        x, kernel = floats(4, size, size, channels), floats(3, 3, channels, channels)
        yield named("gradient of a convolution", _gradient_of(_convolve()), kernel, x)
    for length, inputs, outputs in ((1024, 64, 64), (16000, 1, 32), (256, 256, 256)):
        x, kernel = floats(1, length, inputs), floats(5, inputs, outputs)
        yield named("convolution of a sequence", _convolve(), x, kernel)


def _dilated_convolutions() -> Programs:
    """Yields convolutions with gaps, and gradients of strided ones."""
    for size, channels in ((16, 64), (32, 64), (56, 32)):
        x, kernel = floats(1, size, size, channels), floats(3, 3, channels, channels)
        transposed = _convolve(lhs_dilation=(2, 2))
        yield named("transposed convolution", transposed, x, kernel)
        yield named("gradient of a transposed kernel", _gradient_of(transposed), kernel, x)
        yield named("dilated convolution", _convolve(rhs_dilation=(2, 2)), x, kernel)
        strided = _convolve(stride=2)
        yield named("gradient of a strided kernel", _gradient_of(strided), kernel, x)
        gradient = jax.grad(lambda x, kernel, f=strided: (f(x, kernel) ** 2).sum())
        yield named("gradient of a strided input", gradient, x, kernel)


def _grouped_convolutions() -> Programs:
    """Yields depthwise and grouped convolutions, and convolutions of integers."""
    for size, channels in ((14, 256), (28, 96), (56, 32), (112, 32), (7, 512)):
        x, kernel = floats(1, size, size, channels), floats(3, 3, 1, channels)
        depthwise = _convolve(feature_group_count=channels)
        yield named("depthwise", depthwise, x, kernel)
        yield named("gradient of a depthwise kernel", _gradient_of(depthwise), kernel, x)
    for size, channels, groups in ((28, 128, 4), (14, 256, 32), (56, 64, 8), (28, 64, 2)):
        x = floats(1, size, size, channels)
        kernel = floats(3, 3, channels // groups, channels)
        grouped = _convolve(feature_group_count=groups)
        yield named("grouped", grouped, x, kernel)
        yield named("gradient of a grouped kernel", _gradient_of(grouped), kernel, x)
    for size, channels in ((14, 16), (28, 32)):
        x = integers(9, 1, size, size, channels)
        yield named("of integers", _convolve(), x, integers(9, 3, 3, channels, channels))


_KINDS: dict[str, Callable[[], Programs]] = {
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
