"""The claim of the rule about places among edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import z3

from tests.proofs.claim import claim
from tests.proofs.prover import Lemma, Sizes, Statement
from tests.proofs.sums import Formula


def reals(names: str) -> Any:
    """Returns variables of real numbers."""
    return z3.Reals(names)


def integers(names: str) -> Any:
    """Returns variables of integers."""
    return z3.Ints(names)


def sequence(name: str) -> Any:
    """Returns any real numbers, as a function of their positions."""
    return z3.Function(name, z3.IntSort(), z3.RealSort())


@claim(
    "search-by-arithmetic",
    conditions="edges that are less than a quarter of a distance from where they would be at equal "
    "distances, more than four times the spacing of numbers apart",
    wrong="the place is not corrected by the edges there",
    argument="The quotient is off by less than one: by the error of two edges, of which each is "
    "less than a quarter and the rounding of the test, and by its own rounding. So the place is "
    "the one that is computed, the one before or the one after, and comparisons with the edges of "
    "that place tell which.",
    bounds="the rounding of positions is taken for at most a fifth of a distance",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    x, first, distance, quotient = reals("x first distance quotient")
    place, guess, count = integers("place guess count")
    edges = sequence("edge")
    near = z3.RealVal("0.45")
    rounding = z3.RealVal("0.2")

    def is_near(k: Formula) -> Formula:
        exact = first + z3.ToReal(k) * distance
        return z3.And(edges(k) - exact < near * distance, exact - edges(k) < near * distance)

    # `place` edges are at most x, which is between the first and the last one.
    known = (
        distance > 0,
        count >= 2,
        place >= 1,
        place < count,
        edges(place - 1) <= x,
        x < edges(place),
        is_near(place - 1),
        is_near(place),
        # The product of distance and quotient is x - first, up to rounding.
        quotient * distance - (x - first) < rounding * distance,
        (x - first) - quotient * distance < rounding * distance,
    )
    yield Lemma(z3.And(quotient > place - 2, quotient < place + 1), known)
    floor: Formula = z3.ToInt(quotient)
    clamped: Any = z3.If(floor < 0, 0, z3.If(floor > count - 2, count - 2, floor))
    yield Lemma(
        z3.And(place - 2 <= clamped, clamped <= place),
        (count >= 2, place >= 1, place < count, quotient > place - 2, quotient < place + 1),
    )
    corrected: Any = z3.If(
        x < edges(guess), guess, z3.If(x < edges(guess + 1), guess + 1, guess + 2)
    )
    ascending = [
        z3.Implies(i < j, edges(i) < edges(j))
        for i in (guess, guess + 1, place - 1, place)
        for j in (guess, guess + 1, place - 1, place)
    ]
    yield Lemma(
        (guess + 1 if wrong else corrected) == place,
        (edges(place - 1) <= x, x < edges(place), guess >= place - 2, guess <= place, *ascending),
    )
    # Neighbours that are near their positions are in order, and so are all edges.
    k = z3.Int("k")
    yield Lemma(edges(k) < edges(k + 1), (distance > 0, is_near(k), is_near(k + 1)))
