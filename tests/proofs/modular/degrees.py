"""Degrees of the rational functions that a module computes, for bounds on errors."""

from __future__ import annotations

from typing import NamedTuple


class Degree(NamedTuple):
    """Upper bounds on the terms that any element of an array stands for.

    The terms are rational functions of the parameters and of the results of uninterpreted
    functions.

    Attributes:
        top: Degree of the numerator.
        bottom: Degree of the denominator.
        calls: Number of uninterpreted functions in a term.
    """

    top: int = 0
    bottom: int = 0
    calls: int = 0

    def plus(self, other: Degree) -> Degree:
        """Returns the degree of a sum or difference."""
        top = max(self.top + other.bottom, other.top + self.bottom)
        return Degree(top, self.bottom + other.bottom, self.calls + other.calls)

    def times(self, other: Degree) -> Degree:
        """Returns the degree of a product."""
        return Degree(*(a + b for a, b in zip(self, other, strict=True)))

    def over(self, other: Degree) -> Degree:
        """Returns the degree of a quotient."""
        return self.times(Degree(other.bottom, other.top, other.calls))

    def summed(self, count: int) -> Degree:
        """Returns the degree of a sum of so many terms of this degree."""
        top = self.top + max(count - 1, 0) * self.bottom
        return Degree(top, count * self.bottom, count * self.calls)

    def either(self, other: Degree) -> Degree:
        """Returns a degree that bounds both."""
        return Degree(*map(max, self, other))

    @property
    def of_difference(self) -> int:
        """Degree of the polynomial that is zero where two such terms are equal."""
        return self.top + self.bottom


CONSTANT = Degree()
"""The degree of a number."""


def applied(*arguments: Degree) -> Degree:
    """Returns the degree of the result of an uninterpreted function, which is a new variable."""
    return Degree(1, 0, 1 + sum(argument.calls for argument in arguments))
