"""The claim of the rule about trees of associative scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import z3

from tests.proofs.claim import claim
from tests.proofs.prover import Lemma, Sizes, Statement


def integers(names: str) -> Any:
    """Returns variables of integers."""
    return z3.Ints(names)


@claim(
    "associative-scan-as-loop",
    conditions="at least 8 elements; no floats of half precision; all levels combine elements "
    "alike, each index alone; nothing else reads what is inside of the tree; the combination is "
    "associative, which programs that scan by a tree claim",
    wrong="an element is combined with those before it in the other order",
    argument="A stretch of elements, combined in their order, is the combination of its two parts: "
    "by induction over the length of the second part. So elements of a level are stretches of "
    "twice the length, and the results at odd indices are those of the next level. Those at even "
    "indices are the results before them, combined with the element there. After each iteration, "
    "the loop has the stretch of all elements up to it.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    elements = z3.DeclareSort("Element")
    f: Any = z3.Function("f", elements, elements, elements)
    x: Any = z3.Function("x", z3.IntSort(), elements)
    stretch: Any = z3.Function("stretch", z3.IntSort(), z3.IntSort(), elements)
    first, middle, last, i = integers("first middle last i")
    after_last = stretch(first, last + 1) == f(stretch(first, last), x(last + 1))
    # The loop: its state is a stretch from the first element on.
    before = stretch(0, i - 1)
    yield Lemma(
        (f(x(i), before) if wrong else f(before, x(i))) == stretch(0, i),
        (stretch(0, i) == f(before, x(i)),),
    )
    if sizes.small or wrong:
        return
    # A stretch is the combination of its parts.
    yield Lemma(
        f(stretch(first, middle), stretch(middle + 1, middle + 1)) == stretch(first, middle + 1),
        (
            stretch(middle + 1, middle + 1) == x(middle + 1),
            stretch(first, middle + 1) == f(stretch(first, middle), x(middle + 1)),
        ),
    )
    parts = (stretch(first, middle), stretch(middle + 1, last))
    longer = stretch(middle + 1, last + 1)
    yield Lemma(
        f(parts[0], longer) == stretch(first, last + 1),
        (
            f(*parts) == stretch(first, last),
            after_last,
            longer == f(parts[1], x(last + 1)),
            f(f(*parts), x(last + 1)) == f(parts[0], f(parts[1], x(last + 1))),
        ),
    )
    yield from _levels()


def _levels() -> Iterator[Statement]:
    """Yields which elements and results of the next level those of a level are made from."""
    length, k, i, width = integers("length k i width")
    inside = (length >= 2, i >= 0, i < length)
    # Index k of the next level combines 2k and 2k + 1, whose stretches are next to each other.
    yield Lemma(
        z3.And(2 * k + 1 < length, (2 * k + 1) * width == (2 * k * width + width - 1) + 1),
        (length >= 2, k >= 0, k < length / 2),
    )
    # Every index is odd, that of a result of the next level; or even, after one of them; or 0.
    yield Lemma(
        z3.Or(
            i == 0,
            z3.And(i % 2 == 1, i / 2 < length / 2),
            z3.And(i % 2 == 0, i / 2 - 1 >= 0, i / 2 - 1 < (length - 1) / 2),
        ),
        inside,
    )
    # The element at an even index is that of the slice from 2 on.
    yield Lemma(2 + 2 * (i / 2 - 1) == i, (*inside, i % 2 == 0, i >= 2))
    # The first and the others at even indices are as many as the even indices.
    yield Lemma(1 + (length - 1) / 2 == (length + 1) / 2, (length >= 1,))
    # From the end on, each index is read and written once.
    yield Lemma(length - 1 - (length - 1 - i) == i, inside)
