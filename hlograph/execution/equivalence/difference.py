"""Difference of two arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, FLOATS, Array, dtype_of


class Difference(NamedTuple):
    """Difference of an array from a reference.

    Attributes:
        bitwise: True if all bits are equal, except those inside NaNs.
        exact_type: True for types without rounding: integers and predicates.
        misplaced: Number of elements that are NaN or infinite in one array and not the same in
            the other; for integers and predicates, of elements that differ.
        absolute: Largest difference of two finite elements.
        relative: Largest difference divided by the reference's element or root mean square,
            whichever is larger: an element near zero is as precise as its neighbours, not more.
        ulp: ``relative`` in units of the type's epsilon.
        scale: Root mean square of the finite elements of the reference.
    """

    bitwise: bool
    exact_type: bool
    misplaced: int
    absolute: float
    relative: float
    ulp: float
    scale: float


_SAME = Difference(True, False, 0, 0.0, 0.0, 0.0, 0.0)


def difference(reference: Array, other: Array, element_type: str) -> Difference:
    """Compares two arrays of the same shape and type.

    Args:
        reference: The expected array.
        other: The array to compare.
        element_type: XLA's name of their element type.
    """
    if element_type not in FLOATS and element_type not in COMPLEX_PARTS:
        wrong = int(np.count_nonzero(reference != other))
        return Difference(wrong == 0, True, wrong, 0.0, 0.0, 0.0, 0.0)
    part_type = COMPLEX_PARTS.get(element_type, element_type)
    if element_type in COMPLEX_PARTS:
        part = dtype_of(part_type)
        reference, other = reference.reshape(-1).view(part), other.reshape(-1).view(part)
    if _bits_equal(reference, other):
        return _SAME
    return _of_floats(
        np.asarray(reference, np.float64),
        np.asarray(other, np.float64),
        float(ml_dtypes.finfo(dtype_of(part_type)).eps),
    )


def _bits_equal(reference: Array, other: Array) -> bool:
    bits = np.dtype(f"u{reference.dtype.itemsize}")
    same = np.ascontiguousarray(reference).view(bits) == np.ascontiguousarray(other).view(bits)
    # XLA does not define the sign and payload of a NaN.
    return bool(np.all(same | (np.isnan(reference) & np.isnan(other))))


def _of_floats(
    reference: NDArray[np.float64], other: NDArray[np.float64], epsilon: float
) -> Difference:
    finite = np.isfinite(reference) & np.isfinite(other)
    same = (reference == other) | (np.isnan(reference) & np.isnan(other))
    misplaced = int(np.count_nonzero(~finite & ~same))
    a, b = reference[finite], other[finite]
    with np.errstate(over="ignore"):
        scale = root_mean_square(a)
        apart = np.abs(a - b)
        absolute = float(apart.max(initial=0.0))
        size = np.maximum(np.abs(a), scale)
        relative = float(
            np.divide(apart, size, out=np.zeros_like(apart), where=apart > 0).max(initial=0.0)
        )
    return Difference(False, False, misplaced, absolute, relative, relative / epsilon, scale)


def root_mean_square(values: NDArray[Any]) -> float:
    """Returns the root mean square without overflow; 0 for an empty array."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean(np.square(values / largest))))
