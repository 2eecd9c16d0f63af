"""Inputs from the classes in which floating-point programs go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, FLOATS, Array, ArraySpec, dtype_of
from tests.proofs.floats.programs import Pair

Generator = np.random.Generator


def special(element_type: str) -> Array:
    """Returns the special values of a real type.

    Of floats: NaNs of both signs and of several payloads, infinities, zeros of both signs, the
    least and greatest denormals and normal numbers, and neighbours of one. Of integers: the least,
    the greatest, and those around zero.
    """
    dtype = dtype_of(element_type)
    if element_type not in FLOATS:
        info = ml_dtypes.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        values = {low, low + 1, max(low, -1), 0, 1, high // 2, high - 1, high}
        return np.array(sorted(values), object).astype(dtype)
    return np.concatenate([finite(element_type), _not_finite(dtype)])


def finite(element_type: str) -> Array:
    """Returns the special values of a floating-point type that are finite."""
    dtype = dtype_of(element_type)
    info = ml_dtypes.finfo(dtype)
    tiny, least, eps = (float(n) for n in (info.smallest_normal, info.smallest_subnormal, info.eps))
    positive = [
        0.0,
        least,
        tiny - least,
        tiny,
        0.5,
        1 - eps / 2,
        1.0,
        1 + eps,
        2.0,
        float(info.max),
    ]
    return np.array([*positive, *(-n for n in positive)]).astype(dtype)


def _not_finite(dtype: np.dtype[Any]) -> Array:
    """Returns infinities, and NaNs of both signs with the least and greatest payloads."""
    bits = np.dtype(f"u{dtype.itemsize}")
    infinity = np.array([np.inf, -np.inf]).astype(dtype)
    nan = np.array([np.nan, -np.nan]).astype(dtype)
    if not np.isinf(infinity.astype(np.float64)).all():  # types without infinities
        return nan
    quiet = 1 << (ml_dtypes.finfo(dtype).nmant - 1)
    exponent = infinity.view(bits)
    payloads = [exponent | np.array(n, bits) for n in (1, quiet, quiet + 1, 2 * quiet - 1)]
    return np.concatenate([infinity, nan, np.concatenate(payloads).view(dtype)])


def _of_pool(pool: Callable[[str], Array]) -> Callable[[Generator, str, tuple[int, ...]], Array]:
    def draw(rng: Generator, element_type: str, dims: tuple[int, ...]) -> Array:
        return rng.choice(pool(element_type), dims)

    return draw


def _ties(element_type: str) -> Array:
    dtype = dtype_of(element_type)
    if element_type not in FLOATS:
        return np.array([0, 1, 2]).astype(dtype)
    return np.array([-1.0, -0.0, 0.0, 1.0, np.nan, -np.nan]).astype(dtype)


def random_bits(rng: Generator, element_type: str, dims: tuple[int, ...]) -> Array:
    """Returns numbers of random bits: of all exponents and signs, and NaNs."""
    dtype = dtype_of(element_type)
    if element_type in FLOATS or dtype.itemsize > 1:
        return rng.integers(0, 256, (*dims, dtype.itemsize), np.uint8).view(dtype).reshape(dims)
    info = ml_dtypes.iinfo(dtype)
    return rng.integers(int(info.min), int(info.max) + 1, dims).astype(dtype)


def _wide(rng: Generator, element_type: str, dims: tuple[int, ...]) -> Array:
    """Returns finite numbers of a wide range of exponents, whose products do not overflow."""
    if element_type not in FLOATS:
        return random_bits(rng, element_type, dims)
    dtype = dtype_of(element_type)
    most = float(np.log2(float(ml_dtypes.finfo(dtype).max))) / 4
    return (rng.standard_normal(dims) * np.exp2(rng.uniform(-most, most, dims))).astype(dtype)


def _infinite(rng: Generator, element_type: str, dims: tuple[int, ...]) -> Array:
    """Returns small numbers, zeros of both signs, infinities and NaNs: no sum of them overflows."""
    if element_type not in FLOATS:
        return random_bits(rng, element_type, dims)
    pool = [0.0, -0.0, 0.5, 1.0, 1.5, 2.0, -0.5, -1.0, -1.5, -2.0]
    numbers = rng.choice(pool, dims)
    rare = rng.choice([np.nan, np.inf, -np.inf], dims)
    return np.where(rng.random(dims) < rng.choice([0.05, 0.3]), rare, numbers).astype(
        dtype_of(element_type)
    )


def _cancelling(rng: Generator, element_type: str, dims: tuple[int, ...]) -> Array:
    """Returns numbers of two signs and nearly the same size, of which sums are small."""
    if element_type not in FLOATS:
        return random_bits(rng, element_type, dims)
    dtype = dtype_of(element_type)
    near = 1 + 8 * float(ml_dtypes.finfo(dtype).eps) * rng.integers(-4, 5, dims)
    return (rng.choice([-1, 1], dims) * near).astype(dtype)


CLASSES: dict[str, Callable[[Generator, str, tuple[int, ...]], Array]] = {
    "special": _of_pool(special),
    "ties": _of_pool(_ties),
    "bits": random_bits,
    "finite": _of_pool(lambda name: finite(name) if name in FLOATS else special(name)),
    "wide": _wide,
    "cancelling": _cancelling,
    "infinite": _infinite,
}
"""Functions that draw an array of a class of values, by the name of the class."""


def drawn(pair: Pair, kind: str, seed: int) -> list[Array]:
    """Returns inputs of a program, all of one class.

    Args:
        pair: The program.
        kind: A name of ``CLASSES``; ``usual`` for inputs that fit the use of each parameter, and
            ``mixed`` for these with one element in eight of each array replaced by a special one.
        seed: Seed of the inputs.
    """
    if kind == "usual":
        return pair.maker.make(seed, 0)
    rng = np.random.default_rng([seed, len(kind)])
    if kind == "mixed":
        rows = zip(drawn(pair, "usual", seed), drawn(pair, "special", seed), strict=True)
        return [np.where(rng.random(a.shape) < 0.125, b, a) for a, b in rows]
    return [_drawn(rng, spec, kind) for spec in pair.signature.parameters]


def _drawn(rng: Generator, spec: ArraySpec, kind: str) -> Array:
    if spec.element_type == "pred":
        return rng.random(spec.dims) < 0.5
    if spec.element_type in COMPLEX_PARTS:
        part = COMPLEX_PARTS[spec.element_type]
        parts = CLASSES[kind](rng, part, (*spec.dims, 2))
        return np.ascontiguousarray(parts).view(dtype_of(spec.element_type)).reshape(spec.dims)
    return CLASSES[kind](rng, spec.element_type, spec.dims)


def with_usual_nans(inputs: list[Array]) -> list[Array]:
    """Returns inputs whose NaNs have the usual payload, and their own sign."""
    result = []
    for array in inputs:
        if array.dtype.kind in "biuc" or array.dtype.name.lstrip("u").startswith("int"):
            result.append(array)
            continue
        usual = np.array(np.nan).astype(array.dtype)
        nans = np.where(np.signbit(array), -usual, usual).astype(array.dtype)
        with np.errstate(invalid="ignore"):  # small types are converted, signaling NaNs too
            result.append(np.where(np.isnan(array), nans, array))
    return result


def inputs_of(
    pair: Pair, kinds: tuple[str, ...], samples: int
) -> Iterator[tuple[str, list[Array]]]:
    """Draws inputs of several classes, with the name of the class."""
    for kind in kinds:
        for seed in range(samples):
            yield kind, drawn(pair, kind, seed)
