"""Values of the interpreter: residues, integers, tuples; what moves elements without arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.proofs.modular.degrees import Degree
from tests.proofs.modular.fields import Residues

Array: TypeAlias = NDArray[Any]
Leaf: TypeAlias = Residues | Array
"""Residues are floating-point or complex numbers; arrays are integers or predicates."""

Value: TypeAlias = Leaf | tuple["Value", ...]


def array(value: Value) -> Array:
    """Returns the data of an array: residues as words, or integers."""
    if isinstance(value, Residues):
        return value.data
    assert not isinstance(value, tuple), "expected an array, not a tuple"
    return np.asarray(value)  # operations of numpy return scalars for arrays of no dimension


def leaf(value: Value) -> Leaf:
    """Returns a value that is an array."""
    assert not isinstance(value, tuple), "expected an array, not a tuple"
    return value


def moved(change: Callable[..., Array], *values: Leaf) -> Leaf:
    """Applies a function that only moves or selects elements to the data of values."""
    data = np.asarray(change(*map(array, values)))
    degrees = [value.degree for value in values if isinstance(value, Residues)]
    return Residues(data, reduce(Degree.either, degrees)) if degrees else data


def flattened(value: Value) -> list[Leaf]:
    """Returns the leaves of nested tuples, in order."""
    if isinstance(value, tuple):
        return [each for part in value for each in flattened(part)]
    return [value]


def padded(value: Leaf, fill: Leaf, config: Sequence[tuple[int, int, int]]) -> Leaf:
    """Returns an array with elements before, behind and between those of each dimension.

    Args:
        value: The array.
        fill: A number.
        config: Of each dimension, how many are before and behind, negative if some are cut, and
            how many are between neighbours.
    """

    def change(data: Array, number: Array) -> Array:
        for axis, (low, high, between) in enumerate(config):
            size = data.shape[axis]
            spread = max(size + (size - 1) * between, 0) if size else 0
            dims = [*data.shape]
            dims[axis] = spread + max(low, 0) + max(high, 0)
            wide = np.empty(dims, data.dtype)
            wide[...] = number
            places = max(low, 0) + np.arange(size) * (between + 1)
            wide[_at(axis, places)] = data
            first, last = max(-low, 0), dims[axis] - max(-high, 0)
            data = wide[_at(axis, np.arange(first, max(first, last)))]
        return data

    return moved(change, value, fill)


def _at(axis: int, places: Array) -> tuple[Any, ...]:
    return (*[slice(None)] * axis, places)


def taps(value: Leaf, fill: Leaf, window: Sequence[Any]) -> Iterator[tuple[tuple[int, ...], Leaf]]:
    """Yields, for each position in a window, the elements there of all windows.

    Args:
        value: The array, of as many dimensions as the window.
        fill: What is around it and between its elements.
        window: Messages ``xla.WindowDimension``.
    """
    config = [(w.padding_low, w.padding_high, w.base_dilation - 1) for w in window]
    wide = padded(value, fill, config)
    sizes = array(wide).shape
    counts = [
        max((size - (w.size - 1) * w.window_dilation - 1) // w.stride + 1, 0) if size else 0
        for size, w in zip(sizes, window, strict=True)
    ]
    for position in np.ndindex(*(w.size for w in window)):
        places = [
            at * w.window_dilation + np.arange(count) * w.stride
            for at, count, w in zip(position, counts, window, strict=True)
        ]
        yield position, moved(lambda data, places=places: data[np.ix_(*places)], wide)
