"""The claims of the rules about rotations of an array."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.language import Array, array, concatenate, cut, padded
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Formula, Size


def _rotated(x: Array, n: Size, limit: Formula) -> Array:
    """Returns the elements from an index on, followed by those before it."""
    return concatenate("n", cut(x, "n", limit, n.length - limit), cut(x, "n", 0, limit))


@claim(
    "rotations-as-slices",
    conditions="two rotations of one array along one dimension, by different distances; at least "
    "1,024 elements",
    wrong="the longer array begins with its start",
    argument="What follows from equal operands is equal.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, k = sizes("n"), sizes("k")
    x = array("x", n=n, k=k)
    before, after, shift = z3.Ints("before after shift")
    longer = concatenate(
        "n",
        cut(x, "n", 0 if wrong else n.length - before, before),
        x,
        cut(x, "n", 0, after),
    )

    within = (before >= 0, after >= 0, before <= n.length, after <= n.length)
    forwards = cut(longer, "n", before - shift, n)
    yield Equation(
        _rotated(x, n, n.length - shift), forwards, (*within, shift > 0, shift <= before)
    )
    backwards = cut(longer, "n", before + shift, n)
    yield Equation(_rotated(x, n, shift), backwards, (*within, shift > 0, shift <= after))


@claim(
    "rotation-as-select",
    conditions="both parts of one array, each once; at least 1,024 elements",
    wrong="the parts are as long as each other's",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, k, limit = sizes("n"), sizes("k"), z3.Int("limit")
    x, first = array("x", n=n, k=k), n.length - limit
    end = padded(cut(x, "n", limit, first), "n", 0, limit)
    start = padded(cut(x, "n", 0, limit), "n", first, 0)
    bound = limit if wrong else first
    chosen = end.where(lambda i: i["n"] < bound) + start.where(lambda i: i["n"] >= bound)
    yield Equation(_rotated(x, n, limit), chosen, (limit > 0, limit < n.length))
