"""A random permutation of 29-bit numbers and its inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BITS = 29
_MASK = np.uint64((1 << _BITS) - 1)
_SHIFT = np.uint64(15)

Words = NDArray[np.uint64]


class Patterns:
    """A random permutation of the numbers below 2**29 that leaves 0 where it is.

    It multiplies by odd numbers and folds the upper bits into the lower ones, in turns.

    Args:
        rng: Generator of the odd numbers.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        factors = [int(number) * 2 + 1 for number in rng.integers(1 << (_BITS - 1), size=3)]
        self._factors = [np.uint64(factor) for factor in factors]
        self._inverses = [np.uint64(pow(factor, -1, 1 << _BITS)) for factor in factors]

    def of(self, numbers: Words) -> Words:
        """Returns the images of numbers."""
        for factor in self._factors:
            numbers = numbers * factor & _MASK
            numbers = numbers ^ (numbers >> _SHIFT)
        return numbers

    def back(self, images: Words) -> Words:
        """Returns the numbers with such images."""
        for inverse in reversed(self._inverses):
            images = images ^ (images >> _SHIFT)  # its own inverse, as 2 * 15 > 29
            images = images * inverse & _MASK
        return images
