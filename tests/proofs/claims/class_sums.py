"""The claim of the rule about sums by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.language import Array, Indices, array, constant, integers, summed
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Formula


def booleans(name: str, *axes: str) -> Callable[[Indices], Formula]:
    """Returns any predicate of the indices along some axes."""
    function = z3.Function(name, *[z3.IntSort()] * len(axes), z3.BoolSort())
    return lambda i: function(*[i[axis] for axis in axes])


@claim(
    "one-hot-sum-as-scatter",
    conditions="the sum is over dimensions of the labels, not over the classes; classes have "
    "different numbers in the type of the labels",
    wrong="labels out of range are added to the first class",
    argument="A scatter by addition is the sum over all updates whose index is the element's. "
    "Values that are the same for all classes are such that do not depend on the class.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, k, n, j = sizes("b"), sizes("k"), sizes("n", 1), sizes("j")
    label, first, holds = integers("label", "b", "k"), z3.Int("first"), booleans("p", "b", "k")
    x = array("x", b=b, k=k, n=n, j=j)

    def inside(q: Indices) -> Formula:
        return z3.And(label(q) - first >= 0, label(q) - first < n.length)

    def target(q: Indices) -> Formula:
        # The index of a label that is out of range is that of no element.
        return z3.If(inside(q), label(q) - first, 0 if wrong else n.length)

    is_of = constant(1).where(lambda q: label(q) == first + q["n"], b=b, k=k, n=n)
    taken = Array(
        {"b": b, "k": k, "j": j},
        lambda q: x.at({**q, "n": z3.If(inside(q), label(q) - first, 0)}).where(holds(q)),
    )
    scattered = summed(taken.where(lambda q: target(q) == q["n"], n=n), "k")
    yield Equation(summed((is_of * x).where(holds), "k"), scattered)
