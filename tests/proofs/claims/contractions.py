"""The claim of the rule about sums of products of three arrays."""

from __future__ import annotations

from collections.abc import Iterator

from tests.proofs.claim import claim
from tests.proofs.language import array, summed
from tests.proofs.prover import Equation, Sizes, Statement


@claim(
    "contraction-order",
    conditions="one of the first two arrays has all of an index that is summed with the third",
    wrong="an index of both is summed in each of them",
    argument="Each axis stands for all indices that occur in the same arrays and in the result.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    # Axes by the arrays that have them: all, two of them, or one; summed or kept.
    a, c, k, n = sizes.several("a c k n")
    i, j, f, m = sizes.several("i j f m")
    x = array("x", a=a, c=c, n=n, i=i, m=m)
    y = array("y", a=a, c=c, k=k, j=j, m=m)
    w = array("w", a=a, k=k, n=n, f=f, m=m)
    product = summed(x * y, "c")
    before = summed(w * product, "a", "k", "n")
    first = summed(w, "n") * summed(x, "n") if wrong else summed(w * x, "n")
    yield Equation(before, summed(first * y, "a", "k", "c"))
