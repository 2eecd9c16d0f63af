"""Fields with sines and cosines of sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.proofs.modular.degrees import Degree
from tests.proofs.modular.fields import Field, Residues, UndecidedError, Words

ANGLE_PRIMES = ((1073741467, 268435367), (1073739307, 268434827))
"""Primes p below 2**30 and q such that p + 1 = 4 q."""

# What degrees are multiplied by: angles are sums of parameters with coefficients of at most this.
_COEFFICIENT = 64


class _Angles(Field):
    """The field of angles, which remembers those of sines and cosines."""

    def __init__(self, prime: int, seed: int) -> None:
        super().__init__(prime, seed)
        self.asked: list[Words] = []

    def function(self, name: str, *arguments: Residues) -> Residues:
        if name in ("sine", "cosine"):
            self.asked.append(arguments[0].data)
        return super().function(name, *arguments)

    def keys(self, *values: Residues) -> list[NDArray[np.int64]]:
        raise UndecidedError("the order of numbers beside sines of sums")


class AngleField(Field):
    """A field in which sines and cosines obey the laws of sums of angles.

    As exponents in Mirage, angles are evaluated modulo q, and all else modulo p. As q divides
    p + 1, there is an element g of order q on the circle x² + y² = 1, and cosine and sine of the
    angle a are the coordinates of g^a. A program is evaluated modulo q first, which says what
    angles are.

    Args:
        prime: The prime p.
        angles: The prime q.
        seed: Seed of the functions and of drawn elements.
    """

    def __init__(self, prime: int, angles: int, seed: int) -> None:
        super().__init__(prime, seed)
        self._angles = _Angles(angles, seed)
        self._generator = self._on_circle()

    @property
    def stages(self) -> tuple[Field, ...]:
        """The field of angles, and this one."""
        return (self._angles, self)

    @property
    def points(self) -> int:
        """Number of values that a drawn angle takes, at least."""
        return self._angles.points

    def function(self, name: str, *arguments: Residues) -> Residues:
        """Returns the results of a function: of sine and cosine, coordinates on the circle."""
        if name not in ("sine", "cosine"):
            return super().function(name, *arguments)
        angles = self._angles.asked.pop(0)
        (given,) = arguments
        point = self._turned(angles % self._angles.modulus)
        calls = given.degree.calls
        degree = Degree(_COEFFICIENT * max(given.degree.of_difference, 1), 0, calls)
        return Residues(point[0] if name == "cosine" else point[1], degree)

    def keys(self, *values: Residues) -> list[NDArray[np.int64]]:
        """Raises an error, as the order modulo p is another one than modulo q.

        Raises:
            UndecidedError: Always.
        """
        raise UndecidedError("the order of numbers beside sines of sums")

    def _on_circle(self) -> tuple[Words, ...]:
        """Returns an element of order q."""
        step = (self.prime + 1) // self._angles.prime
        for x in range(2, 100):
            # (x + i) / (x - i) is on the circle.
            norm = pow(x * x + 1, -1, self.prime)
            point = [(x * x - 1) * norm % self.prime, 2 * x * norm % self.prime]
            power = self._raised(tuple(np.array([c], np.uint64) for c in point), step)
            if int(power[1][0]):
                return power
        raise AssertionError("expected an element whose order is not 4")

    def _turned(self, angles: Words) -> tuple[Words, ...]:
        """Returns the element to the power of angles."""
        result: tuple[Words, ...] = (np.ones_like(angles), np.zeros_like(angles))
        base = tuple(np.broadcast_to(c[0], angles.shape) for c in self._generator)
        for bit in range(self._angles.prime.bit_length()):
            product = self._product(result, base)
            chosen = (angles >> np.uint64(bit) & np.uint64(1)).astype(bool)
            result = tuple(np.where(chosen, *pair) for pair in zip(product, result, strict=True))
            base = self._product(base, base)
        return result

    def _raised(self, base: tuple[Words, ...], exponent: int) -> tuple[Words, ...]:
        result: tuple[Words, ...] = (np.ones_like(base[0]), np.zeros_like(base[0]))
        for _ in range(exponent):
            result = self._product(result, base)
        return result

    def _product(self, a: tuple[Words, ...], b: tuple[Words, ...]) -> tuple[Words, ...]:
        p = self.modulus
        real = (a[0] * b[0] % p + p - a[1] * b[1] % p) % p
        return real, (a[0] * b[1] % p + a[1] * b[0] % p) % p
