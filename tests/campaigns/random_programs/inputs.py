"""Inputs of random programs: usual numbers, or the extremes of each type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import ml_dtypes
import numpy as np

from hlograph.execution.equivalence.arrays import (
    COMPLEX_PARTS,
    FLOATS,
    Array,
    ArraySpec,
    dtype_of,
    is_integral,
)
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.equivalence.text_flow import TextFlow

Kind = Literal["zeros", "extremes", "NaN", "infinities", "denormals"]
"""Kind of special numbers."""

_SHARE = 0.4  # of elements that are extremes
_LARGE = 0.2  # share of arrays of floats with the largest numbers
_USUAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.5, -7.25, 100.0)


KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of special numbers."""


def inputs_of(
    flow: Flow | TextFlow,
    specs: Sequence[ArraySpec],
    seed: int,
    is_special: bool,
    without: frozenset[Kind] = frozenset(),
) -> list[Array]:
    """Returns inputs of a program.

    Args:
        flow: Data flow of the program.
        specs: Its parameters.
        seed: Seed of the numbers.
        is_special: True draws infinities, NaN, denormals, both zeros, and the least and largest
            numbers, too.
        without: Kinds of special numbers that 1 stands for.
    """
    if not is_special:
        return InputMaker(flow, tuple(specs)).make(seed, 0)
    drawn = [
        _special(np.random.default_rng([seed, number]), spec) for number, spec in enumerate(specs)
    ]
    return [_without(array, without) for array in drawn]


def _without(array: Array, kinds: frozenset[Kind]) -> Array:
    """Returns an array without some kinds of numbers."""
    if not kinds or array.dtype == np.bool_:
        return array
    array = np.ascontiguousarray(array).copy()
    part = np.dtype(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else array.dtype
    flat = array.reshape(-1).view(part)  # of the copy
    masks = _kinds(flat)
    for kind in kinds & set(masks):
        flat[masks[kind]] = 1
    return array


def _kinds(array: Array) -> dict[Kind, Array]:
    """Returns where an array has special numbers of each kind."""
    zero = array == 0
    if is_integral(array):
        info = ml_dtypes.iinfo(array.dtype)
        extreme = (array <= int(info.min) + 1) | (array >= int(info.max) - 1)
        return {"zeros": zero, "extremes": extreme & ~zero}
    info = ml_dtypes.finfo(array.dtype)
    size, tiny = np.abs(array.astype(np.float64)), float(info.tiny)
    large = np.isfinite(size) & (size >= float(info.max) / 2)
    return {
        "zeros": zero,
        "extremes": large | ((size >= tiny) & (size <= 2 * tiny)),
        "NaN": np.isnan(size),
        "infinities": np.isinf(size),
        "denormals": (size > 0) & (size < tiny),
    }


def _special(rng: np.random.Generator, spec: ArraySpec) -> Array:
    dtype = dtype_of(spec.element_type)
    if spec.element_type == "pred":
        return rng.random(spec.dims) < 0.5
    if spec.element_type in COMPLEX_PARTS:
        part = dtype_of(COMPLEX_PARTS[spec.element_type])
        parts = [_floats(rng, spec.dims, part) for _ in range(2)]
        return np.stack(parts, axis=-1).view(dtype)[..., 0]
    if spec.element_type in FLOATS:
        return _floats(rng, spec.dims, dtype)
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    extremes = [value for value in (low, low + 1, -1, 0, 1, 2, high - 1, high) if low <= value]
    chosen = np.array(extremes, np.int64 if low < 0 else np.uint64)[
        rng.integers(0, len(extremes), spec.dims)
    ]
    usual = rng.integers(max(low, -9), min(high, 9), spec.dims, endpoint=True).astype(chosen.dtype)
    return np.where(rng.random(spec.dims) < _SHARE, chosen, usual).astype(dtype)


def _floats(rng: np.random.Generator, dims: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    info = ml_dtypes.finfo(dtype)
    small = [info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    # An output is compared at the scale of its elements: the largest numbers would hide others.
    large = [info.max, info.min] if rng.random() < _LARGE else []
    extremes = np.array([*_USUAL, np.nan, np.inf, -np.inf, *small, *large], np.float64)
    with np.errstate(all="ignore"):
        chosen = extremes[rng.integers(0, len(extremes), dims)]
        normal = rng.standard_normal(dims) * rng.choice((0.3, 1.0, 10.0, 100.0), dims)
        return np.asarray(np.where(rng.random(dims) < _SHARE, chosen, normal)).astype(dtype)
