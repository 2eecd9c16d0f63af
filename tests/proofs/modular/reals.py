"""Fields with square roots, or with the sign of sums of positive numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tests.proofs.modular.degrees import Degree
from tests.proofs.modular.fields import INFINITY, NAN, RAW, Field, Residues, Words


class SumField(Field):
    """A field in which sums of positive numbers are positive, also if they are no squares."""

    def __init__(self, prime: int, seed: int) -> None:
        super().__init__(prime, seed)
        self._positive: Words = np.empty(0, np.uint64)

    def is_negative(self, residues: Words) -> NDArray[np.bool_]:
        """Returns which residues, of numbers that are not known, are below zero."""
        negative = super().is_negative(residues)
        if not len(self._positive):
            return negative
        opposite = (self.modulus - residues) % self.modulus
        negative = negative | np.isin(opposite, self._positive)
        return negative & ~np.isin(residues, self._positive)

    def add(self, a: Residues, b: Residues) -> Residues:
        """Returns a + b, element by element."""
        result = super().add(a, b)
        self._note(result.data, self._is_positive(a.data) & self._is_positive(b.data))
        return result

    def total(self, a: Residues, axes: tuple[int, ...]) -> Residues:
        """Returns sums over dimensions."""
        result = super().total(a, axes)
        self._note(result.data, np.all(self._is_positive(a.data), axis=axes))
        return result

    def _is_positive(self, data: Words) -> NDArray[np.bool_]:
        """Returns which elements are numbers above zero or zero."""
        known = self.known(Residues(data))
        safe = np.where(data < RAW, data, 0)
        positive = np.where(np.isnan(known), ~self.is_negative(safe), known >= 0)
        return (data < RAW) & positive

    def _note(self, data: Words, is_positive: NDArray[np.bool_]) -> None:
        """Remembers residues of numbers that are positive."""
        new = data[is_positive & np.isnan(self.known(Residues(data)))]
        if new.size:
            self._positive = np.union1d(self._positive, new)


class RootField(Field):
    """A field in which positive numbers have positive roots.

    The positive numbers are the squares, which are a group of odd order: each has one square root
    in it, and powers whose exponents are dyadic. Roots of negative numbers are NaN, so at half of
    the points a root decides nothing.

    A term with k roots is no polynomial, but its norm is, of a degree that is at most 2**k times as
    large.
    """

    def growth(self, calls: int) -> float:
        """Returns what degrees of terms with so many functions are multiplied by."""
        return 2.0 ** min(calls, 64)

    def known(self, a: Residues) -> NDArray[np.float64]:
        """Returns the values of small dyadic numbers whose sign is that of squares."""
        known = super().known(a)
        negative = self.is_negative(np.where(a.data < RAW, a.data, 0))
        return np.where((known == 0) | (negative == (known < 0)), known, np.nan)

    def function(self, name: str, *arguments: Residues) -> Residues:
        """Returns the results of a function: of roots and powers, known ones where there are."""
        if name in ("sqrt", "rsqrt"):
            exponent = Fraction(1 if name == "sqrt" else -1, 2)
            return self._root(name, arguments[0], exponent, *arguments)
        if name == "power":
            known = np.unique(self.known(arguments[1]))
            if len(known) == 1 and not np.isnan(known[0]):
                return self._root(name, arguments[0], Fraction(float(known[0])), *arguments)
        return super().function(name, *arguments)

    def _root(self, name: str, base: Residues, exponent: Fraction, *all_: Residues) -> Residues:
        other = super().function(name, *all_).data
        data = np.broadcast_to(base.data, other.shape)
        is_number = data < RAW
        squares = (self.prime - 1) // 2
        power = exponent.numerator * pow(exponent.denominator, -1, squares) % squares
        safe = np.where(is_number, data, 0)
        roots = self.raised(safe, power)
        is_square = self.raised(safe, squares) == 1
        result = np.where(is_number & is_square, roots, other)
        known = self.known(base)
        below = np.where(np.isnan(known), self.is_negative(safe), known < 0)
        negative = is_number & (safe != 0) & below
        self.has_gaps |= bool(np.any(negative))
        result = np.where(negative, np.uint64(RAW + NAN), result)
        at_zero = RAW + INFINITY if exponent < 0 else 0
        result = np.where(data == 0, np.uint64(at_zero), result)
        roots_of = exponent.denominator.bit_length() - 1
        degree = Degree(base.degree.top + 1, base.degree.bottom + 1, base.degree.calls + roots_of)
        return Residues(result, degree)
