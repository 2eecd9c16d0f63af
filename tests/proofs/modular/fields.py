"""Arithmetic, functions and orders on residues modulo a prime."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from tests.proofs.modular.degrees import CONSTANT, Degree, applied
from tests.proofs.modular.patterns import Patterns

PRIMES = (1073739911, 1073738951)
"""The greatest primes below 2**30 that leave 7 modulo 8, of which 2, 3, ..., 17 are squares.

A number is positive if and only if it is a square, but the sign of small dyadic numbers is known.
As -1 is no square, negation changes the sign, and products have the sign that reals have.
"""

RAW = 1 << 33
"""Elements from here on are no residues, but the bits of a 32-bit float behind this number."""

INFINITY, NAN = 0x7F800000, 0x7FC00000
"""Bits of an infinity and of a NaN."""

_SIGN = 0x80000000

# Numbers whose value is known by their residue: multiples of 1 / _PARTS below _KNOWN / _PARTS.
_PARTS, _KNOWN = 32, 32768

# Largest denominator of a fraction that a literal stands for, if its own is larger.
_DENOMINATOR = 1000

# Distance of 1 from the next number, by the type of literals; of other types it is at least 1/4.
_PRECISIONS = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}

# Shares of negative numbers in drawn arrays.
_SHARES = (0.05, 0.5, 0.5, 0.95)

_HALF = np.uint64(15)
_LOW = np.uint64((1 << 15) - 1)

Words = NDArray[np.uint64]


class UndecidedError(HloError):
    """A module has an operation that an evaluation over fields cannot follow."""


class DrawError(HloError):
    """A drawn point is no point of the function: it divides by zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Residues:
    """An array of floating-point or complex numbers, evaluated modulo a prime.

    Attributes:
        data: uint64, the residues; elements from ``RAW`` on are bits.
        degree: Bounds on the terms of all elements.
    """

    data: Words
    degree: Degree = CONSTANT


class Field:
    """The integers modulo a prime, with random functions and a random order.

    Args:
        prime: The prime, between 2**29 and 2**30.
        seed: Seed of the functions, of the order and of drawn elements.

    Attributes:
        rng: Generator of drawn elements.
        degree: Greatest degree of what two terms are compared by, so far.
        functions: Number of applications of functions to different arguments, at most.
        comparisons: Number of pairs whose order was asked.
        modulus: The prime, as a word.
        has_order: True if the order of two residues that are not equal was asked.
        has_gaps: True if at half of the points a function has no value.
    """

    def __init__(self, prime: int, seed: int) -> None:
        self.prime = prime
        self.rng = np.random.default_rng([seed, prime])
        self._key = np.uint64(self.rng.integers(1 << 62) * 2 + 1)
        self._patterns = Patterns(self.rng)
        self.modulus = np.uint64(prime)
        self.degree = 0
        self.functions = 0
        self.comparisons = 0
        self.has_order = False
        self.has_gaps = False

    @property
    def stages(self) -> tuple[Field, ...]:
        """The fields over which a program is evaluated, one after the other; this one is last."""
        return (self,)

    @property
    def points(self) -> int:
        """Number of values that a drawn element takes, at least."""
        return self.prime // 2

    def growth(self, calls: int) -> float:
        """Returns what degrees of terms with so many functions are multiplied by."""
        del calls
        return 1.0

    # Elements.

    def draw(self, dims: tuple[int, ...]) -> Residues:
        """Returns random residues, of which few, half or most are negative."""
        data = self.rng.integers(1, self.prime, size=dims, dtype=np.uint64)
        negative = self.rng.random(dims) < self.rng.choice(_SHARES)
        data = np.where(self.is_negative(data) == negative, data, self.modulus - data)
        return Residues(data, Degree(1))

    def literal(self, values: NDArray[Any]) -> Residues:
        """Returns what numbers of a real or complex type stand for."""
        precision = _PRECISIONS.get(values.dtype.name, 0.25)
        if values.dtype.kind == "c":
            parts = [self._real(part, precision) for part in (np.real(values), np.imag(values))]
            unit = Residues(np.full(values.shape, self._hash("i"), np.uint64), Degree(1))
            return self.add(parts[0], self.multiply(unit, parts[1]))
        return self._real(values, precision)

    def _real(self, values: NDArray[Any], precision: float) -> Residues:
        wide = values.astype(np.float64)
        distinct, places = np.unique(wide, return_inverse=True)
        residues = [self._residue(float(value), precision) for value in distinct]
        data = np.array(residues, np.uint64)[places.reshape(-1)]
        return Residues(data.reshape(values.shape))

    def _residue(self, value: float, precision: float) -> int:
        if math.isnan(value):
            return RAW + NAN
        if math.isinf(value):
            return RAW + INFINITY + (_SIGN if value < 0 else 0)
        exact = Fraction(value)
        simple = exact.limit_denominator(_DENOMINATOR)
        if abs(simple - exact) <= abs(exact) * Fraction(precision) / 2:
            exact = simple
        return exact.numerator * pow(exact.denominator, -1, self.prime) % self.prime

    def integers(self, values: NDArray[Any]) -> Residues:
        """Returns the residues of integers or predicates."""
        if values.dtype.kind in "bu":
            return Residues(values.astype(np.uint64) % self.modulus)
        return Residues((values.astype(np.int64) % self.prime).astype(np.uint64))

    # Arithmetic.

    def add(self, a: Residues, b: Residues) -> Residues:
        """Returns a + b, element by element."""
        data = (a.data + b.data) % self.modulus
        return self._checked("add", data, a, b, a.degree.plus(b.degree))

    def negate(self, a: Residues) -> Residues:
        """Returns -a; of an infinity, the other one."""
        data = (self.modulus - a.data % self.modulus) % self.modulus
        raw = a.data >= RAW
        return Residues(np.where(raw, a.data ^ np.uint64(_SIGN), data), a.degree)

    def subtract(self, a: Residues, b: Residues) -> Residues:
        """Returns a - b, element by element."""
        return self.add(a, self.negate(b))

    def multiply(self, a: Residues, b: Residues) -> Residues:
        """Returns a b, element by element."""
        data = (a.data % self.modulus) * (b.data % self.modulus) % self.modulus
        return self._checked("multiply", data, a, b, a.degree.times(b.degree))

    def divide(self, a: Residues, b: Residues) -> Residues:
        """Returns a / b, element by element.

        Raises:
            DrawError: An element of b is zero.
        """
        if np.any(b.data == 0):
            raise DrawError("a drawn point divides by zero")
        inverse = Residues(self.raised(b.data % self.modulus, self.prime - 2))
        product = self.multiply(Residues(a.data % self.modulus), inverse).data
        return self._checked("divide", product, a, b, a.degree.over(b.degree), ordered=True)

    def power(self, a: Residues, exponent: int) -> Residues:
        """Returns a to the power of an integer.

        Raises:
            DrawError: The exponent is negative, and an element is zero.
        """
        if exponent < 0:
            return self.divide(Residues(np.ones_like(a.data)), self.power(a, -exponent))
        result = Residues(np.ones_like(a.data))
        for _ in range(exponent):
            result = self.multiply(result, a)
        return result

    def raised(self, base: Words, exponent: int) -> Words:
        """Returns residues to the power of a number that is not negative."""
        result = np.ones_like(base)
        while exponent:
            if exponent & 1:
                result = result * base % self.modulus
            base = base * base % self.modulus
            exponent >>= 1
        return result

    def _checked(
        self,
        name: str,
        data: Words,
        a: Residues,
        b: Residues,
        degree: Degree,
        *,
        ordered: bool = False,
    ) -> Residues:
        """Returns a result, with a function in place of what is not between residues."""
        raw = (a.data >= RAW) | (b.data >= RAW)
        if not np.any(raw):
            return Residues(data, degree)
        first, second = np.broadcast_arrays(a.data, b.data)
        is_nan = self.is_nan(a) | self.is_nan(b)
        if not ordered:
            first, second = np.minimum(first, second), np.maximum(first, second)
        other = self.function(name, Residues(first, a.degree), Residues(second, b.degree))
        data = np.where(raw, other.data, data)
        data = np.where(is_nan, np.uint64(RAW + NAN), data)
        return Residues(data, degree.either(other.degree))

    def matmul(self, a: Residues, b: Residues) -> Residues:
        """Returns products of matrices ``[..., m, k]`` and ``[..., k, n]``.

        Raises:
            UndecidedError: An element is an infinity or NaN.
        """
        self._need_numbers(a, b)
        parts = [
            [(each.data >> _HALF).astype(np.float64), (each.data & _LOW).astype(np.float64)]
            for each in (a, b)
        ]
        total = np.zeros((), np.uint64)
        for i, left in enumerate(parts[0]):
            for j, right in enumerate(parts[1]):
                # Exact: products below 2**30, of which at most 2**23 are added.
                product = np.matmul(left, right).astype(np.uint64) % self.modulus
                shift = np.uint64(pow(2, 15 * (2 - i - j), self.prime))
                total = (total + product * shift) % self.modulus
        degree = a.degree.times(b.degree).summed(a.data.shape[-1])
        return Residues(np.asarray(total), degree)

    def total(self, a: Residues, axes: tuple[int, ...]) -> Residues:
        """Returns sums over dimensions.

        Raises:
            UndecidedError: An element is an infinity or NaN.
        """
        self._need_numbers(a)
        count = math.prod(a.data.shape[axis] for axis in axes)
        data = a.data.sum(axis=axes, dtype=np.uint64) % self.modulus
        return Residues(np.asarray(data), a.degree.summed(count))

    def _need_numbers(self, *values: Residues) -> None:
        if any(np.any(value.data >= RAW) for value in values):
            raise UndecidedError("infinities or NaN are added up or multiplied")

    # Functions.

    def function(self, name: str, *arguments: Residues) -> Residues:
        """Returns the results of an uninterpreted function."""
        words = np.broadcast_arrays(*(argument.data for argument in arguments))
        mixed = np.full(words[0].shape, self._hash(name), np.uint64)
        for word in words:
            mixed = _mixed(mixed ^ (word * self._key))
        for argument in arguments:
            self.degree = max(self.degree, argument.degree.of_difference)
        self.functions += mixed.size
        degree = applied(*(argument.degree for argument in arguments))
        data = mixed % self.modulus
        if name != "power":  # 1 to the power of NaN is 1
            for argument in arguments:
                data = np.where(self.is_nan(argument), np.uint64(RAW + NAN), data)
        return Residues(data, degree)

    def _hash(self, name: str) -> np.uint64:
        word = np.array([zlib.crc32(name.encode())], np.uint64)
        return _mixed(word * self._key)[0] % self.modulus

    def known(self, a: Residues) -> NDArray[np.float64]:
        """Returns the values of small dyadic numbers, and NaN for all others."""
        scaled = a.data % self.modulus * np.uint64(_PARTS) % self.modulus
        below = self.modulus - scaled
        values = np.where(scaled < _KNOWN, scaled.astype(np.float64), np.nan)
        values = np.where(below < _KNOWN, -below.astype(np.float64), values)
        return np.where(a.data >= RAW, np.nan, values / _PARTS)

    # Order and bits.

    def bits(self, a: Residues) -> NDArray[np.uint32]:
        """Returns different bits for different elements, ordered as those of floats are."""
        known = self.known(a)
        is_known = ~np.isnan(known)
        residue = a.data % self.modulus
        other = self.modulus - residue
        least = np.minimum(residue, other)
        magnitude = np.where(
            is_known,
            _known_magnitude((np.abs(np.nan_to_num(known)) * _PARTS).astype(np.uint64)),
            self._patterns.of(least) * np.uint64(2) + np.uint64(1),
        )
        negative = np.where(is_known, known < 0, self.is_negative(residue))
        bits = np.where(negative, magnitude | np.uint64(_SIGN), magnitude)
        return np.where(a.data >= RAW, a.data - np.uint64(RAW), bits).astype(np.uint32)

    def from_bits(self, bits: NDArray[np.uint32]) -> Residues:
        """Returns the elements with such bits; those that no residue has are kept as they are."""
        word = bits.astype(np.uint64)
        magnitude = word & np.uint64(_SIGN - 1)
        part = pow(_PARTS, -1, self.prime)
        known = _known_number(magnitude) * np.uint64(part) % self.modulus
        least = self._patterns.back(magnitude >> np.uint64(1) & np.uint64((1 << 29) - 1))
        least = np.where(magnitude & np.uint64(1), least, known)
        data = word + np.uint64(RAW)
        for residue in ((self.modulus - least % self.modulus) % self.modulus, least):
            is_residue = (residue < self.modulus) & (self.bits(Residues(residue)) == bits)
            data = np.where(is_residue, residue, data)
        return Residues(data, Degree(1))

    def is_negative(self, residues: Words) -> NDArray[np.bool_]:
        """Returns which residues, of numbers that are not known, are below zero."""
        return self.raised(residues, (self.prime - 1) // 2) > 1

    def keys(self, *values: Residues) -> list[NDArray[np.int64]]:
        """Returns integers in the order of the elements; both zeros are 0.

        Elements count as compared with each other.
        """
        self.has_order = True
        for value in values:
            self.degree = max(self.degree, value.degree.of_difference)
        self.comparisons += max(
            math.prod(np.broadcast_shapes(*(value.data.shape for value in values))), 1
        )
        keys = []
        for value in values:
            bits = self.bits(value).astype(np.int64)
            keys.append(np.where(bits & _SIGN, -(bits & (_SIGN - 1)), bits))
        return keys

    def is_nan(self, a: Residues) -> NDArray[np.bool_]:
        """Returns where elements are NaN."""
        raw = a.data - np.uint64(RAW)
        return (a.data >= RAW) & ((raw & np.uint64(_SIGN - 1)) > INFINITY)

    def is_finite(self, a: Residues) -> NDArray[np.bool_]:
        """Returns where elements are neither NaN nor an infinity."""
        raw = a.data - np.uint64(RAW)
        return (a.data < RAW) | ((raw & np.uint64(_SIGN - 1)) < INFINITY)


def _known_magnitude(numbers: Words) -> Words:
    """Returns even magnitudes of multiples of 1 / _PARTS: half of all magnitudes are below 1."""
    below = numbers << np.uint64(24)
    above = (numbers << np.uint64(14)) + np.uint64((1 << 29) - (_PARTS << 14))
    return np.where(numbers <= _PARTS, below, above)


def _known_number(magnitudes: Words) -> Words:
    """Returns the number with such a magnitude, and any other where there is none."""
    above = (magnitudes - np.uint64((1 << 29) - (_PARTS << 14))) >> np.uint64(14)
    return np.where(magnitudes <= 1 << 29, magnitudes >> np.uint64(24), above)


def _mixed(word: Words) -> Words:
    """Returns words whose bits all depend on all bits (splitmix64)."""
    with np.errstate(over="ignore"):
        word = word + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return word ^ (word >> np.uint64(31))
