"""Sums over symbolic ranges: the normal form in which the prover compares numbers.

A number is a list of terms. A term is a sum of one factor over some binders, each of which runs
over all integers from 0 to below a size, as far as a guard holds. Factors and guards are formulas
of z3 without sums. Sums, differences and products of such numbers have this form again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any

import z3

Formula = Any
"""A formula of z3, or a number of Python that stands for one."""

_fresh = count()


def fresh(name: str = "k") -> Formula:
    """Returns an integer variable that no formula has yet."""
    return z3.Int(f"{name}!{next(_fresh)}")


@dataclass(frozen=True)
class Part:
    """One stretch of a size.

    Attributes:
        base: A number, or a variable of z3.
        times: Number of stretches of this length, one after the other.
        interleaved: True if the neighbours in one stretch of ``times`` elements belong together, as
            the elements of blocks do, and there are ``base`` blocks.
    """

    base: Formula
    times: int = 1
    interleaved: bool = False

    @property
    def length(self) -> Formula:
        """Number of elements."""
        return self.base if self.times == 1 else self.times * self.base


@dataclass(frozen=True)
class Size:
    """The size of an axis: stretches one after the other, as concatenation makes them."""

    parts: tuple[Part, ...]

    @property
    def length(self) -> Formula:
        """Number of elements, as a formula."""
        total: Formula = 0
        for part in self.parts:
            total = plus(total, part.length)
        return total

    def __add__(self, other: Size | int) -> Size:
        return Size(self.parts + size_of(other).parts)

    def __rmul__(self, times: int) -> Size:
        (part,) = self.parts
        return Size((Part(part.base, times * part.times),))

    def blocks_of(self, times: int) -> Size:
        """Returns the size of so many blocks of ``times`` elements."""
        (part,) = self.parts
        return Size((Part(part.base, times, interleaved=True),))


def size_of(size: Size | Formula) -> Size:
    """Returns a size from a number or a variable."""
    return size if isinstance(size, Size) else Size((Part(size),))


@dataclass(frozen=True)
class Term:
    """A sum of a factor over binders, as far as a guard holds.

    Attributes:
        factor: Real formula.
        guard: Boolean formula.
        binders: Pairs of an integer variable and its size.
    """

    factor: Formula
    guard: Formula = True
    binders: tuple[tuple[Formula, Formula], ...] = ()

    @property
    def summand(self) -> Formula:
        """The factor where the guard holds, otherwise 0."""
        if z3.is_true(z3.simplify(_boolean(self.guard))):
            return self.factor
        return z3.If(self.guard, self.factor, z3.RealVal(0))

    def substituted(self, *pairs: tuple[Formula, Formula]) -> tuple[Formula, Formula]:
        """Returns guard and factor with variables replaced."""
        return (
            z3.substitute(_boolean(self.guard), *pairs),
            z3.substitute(_real(self.factor), *pairs),
        )


@dataclass(frozen=True)
class Number:
    """A real number as a list of terms."""

    terms: tuple[Term, ...]

    def __add__(self, other: Number) -> Number:
        return Number(self.terms + number(other).terms)

    def __neg__(self) -> Number:
        return Number(tuple(Term(-t.factor, t.guard, t.binders) for t in self.terms))

    def __sub__(self, other: Number) -> Number:
        return self + -number(other)

    def __mul__(self, other: Number) -> Number:
        products = []
        for a in self.terms:
            for b in number(other).terms:
                b = _renamed(b)
                guard = conjunction(a.guard, b.guard)
                products.append(Term(a.factor * b.factor, guard, a.binders + b.binders))
        return Number(tuple(products))

    def where(self, guard: Formula) -> Number:
        """Returns this number where the guard holds, otherwise 0."""
        return Number(
            tuple(Term(t.factor, conjunction(guard, t.guard), t.binders) for t in self.terms)
        )

    @property
    def is_plain(self) -> bool:
        """True if no term has a binder."""
        return not any(term.binders for term in self.terms)

    @property
    def formula(self) -> Formula:
        """The formula of a number without binders."""
        return sum((term.summand for term in self.terms), z3.RealVal(0))


naming: ContextVar[Callable[[Number], Formula]] = ContextVar("naming")
"""Function that names a sum over a symbolic range in a formula; a proof sets it."""


def number(value: Number | Formula) -> Number:
    """Returns a number from a formula or a number of Python."""
    return value if isinstance(value, Number) else Number((Term(_real(value)),))


def total(size: Size | Formula, summand: Callable[[Formula], Number]) -> Number:
    """Returns the sum of what a function returns for all integers from 0 to below a size.

    Sums over several stretches, and over stretches of a number of Python, are taken apart, so that
    two sums over the same elements have the same binders.
    """
    result = Number(())
    offset: Formula = 0
    for part in size_of(size).parts:
        for index, binder in _indices(part):
            inner = summand(plus(offset, index))
            if binder is not None:
                inner = Number(
                    tuple(
                        Term(t.factor, t.guard, ((binder, part.base), *t.binders))
                        for t in inner.terms
                    )
                )
            result = result + inner
        offset = plus(offset, part.length)
    return result


def plus(a: Formula, b: Formula) -> Formula:
    """Returns the sum of two integers, without a zero."""
    if isinstance(a, int) and a == 0:
        return b
    return a if isinstance(b, int) and b == 0 else a + b


def _indices(part: Part) -> Sequence[tuple[Formula, Formula]]:
    """Returns the indices in a stretch, each with its binder, or None if it is a number."""
    if isinstance(part.base, int):
        return [(z3.IntVal(index), None) for index in range(part.times * part.base)]
    indices = []
    for inner in range(part.times):
        binder = fresh()
        before = inner * part.base if inner else 0
        index = binder * part.times + inner if part.interleaved else plus(before, binder)
        indices.append((index, binder))
    return indices


def conjunction(*guards: Formula) -> Formula:
    """Returns the conjunction of guards."""
    kept = [guard for guard in guards if guard is not True]
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else z3.And(*kept)


def _renamed(term: Term) -> Term:
    """Returns a term with binders of its own, as the other factor may be the same number."""
    if not term.binders:
        return term
    pairs = [(binder, fresh()) for binder, _ in term.binders]
    guard, factor = term.substituted(*pairs)
    sizes = [size for _, size in term.binders]
    return Term(factor, guard, tuple((new, s) for (_, new), s in zip(pairs, sizes, strict=True)))


def _boolean(value: Formula) -> Formula:
    return z3.BoolVal(value) if isinstance(value, bool) else value


def _real(value: Formula) -> Formula:
    if isinstance(value, int | float):
        return z3.RealVal(value)
    return z3.ToReal(value) if z3.is_int(value) else value
