"""The claim of the rule about sums of numbers in ranges."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.claims.searches import sequence
from tests.proofs.prover import Lemma, Sizes, Statement


@claim(
    "range-sums-by-segment",
    conditions="ranges of ascending bounds, of which each ends before the next one begins or where "
    "it does; what is summed does not depend on the iteration",
    wrong="ranges that overlap",
    argument="A number is in no range but the last one that begins at most at it. A scatter by "
    "addition is the sum over all numbers whose index is the range's.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    t, i, last, j = z3.Real("t"), z3.Int("i"), z3.Int("last"), z3.Int("j")
    low = sequence("low")
    high = sequence("high")
    in_order = z3.Implies(i < last, high(i) <= low(last))
    known = (low(last) <= t, z3.Implies(i > last, low(i) > t))
    yield Lemma(
        z3.And(low(i) <= t, t < high(i)) == z3.And(i == last, t < high(last)),
        known if wrong else (*known, in_order),
    )
    # The order of neighbours is that of all ranges, by induction; no range begins: none has it.
    yield Lemma(
        high(i) <= low(j + 1), (high(i) <= low(j), low(j) <= high(j), high(j) <= low(j + 1))
    )
    yield Lemma(z3.Not(z3.And(low(i) <= t, t < high(i))), (low(i) > t,))
    # Halving: as many bounds as `count` are at most t; `step` of a power of two is added or not.
    begun, step, count, total = z3.Ints("begun step count total")
    at_most = z3.And(begun + step <= total, begun + step <= count)
    yield Lemma(
        z3.And(
            z3.If(at_most, begun + step, begun) <= count,
            count < z3.If(at_most, begun + step, begun) + step,
        ),
        (step >= 1, begun <= count, count <= total, count < begun + 2 * step),
    )
