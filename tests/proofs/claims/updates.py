"""Claims of the rules about chosen updates, and scatters to known positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.claims.class_sums import booleans
from tests.proofs.claims.indexing import between
from tests.proofs.language import Array, Indices, array, chosen, integers, pointwise, summed
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Formula


@claim(
    "update-of-select",
    conditions="the predicate is the same for all elements of a slice that is updated, except "
    "along dimensions of which the slice has all elements",
    wrong="the old elements are read where the update begins before it is clamped",
    argument="For one update; a chain of them is an induction. A scatter by another operation "
    "than addition also depends only on the updates whose index is the element's.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, n, w = sizes("b"), sizes("n", 3), sizes("w", 1)
    holds = booleans("p", "b")
    x, y = array("x", b=b, n=n), array("y", b=b, w=w)
    index = z3.Int("index")
    start = between(index, 0, n.length - w.length)
    fits = (w.length <= n.length,)

    def updated(slice: Array) -> Array:
        def inside(q: Indices) -> Formula:
            return z3.And(start <= q["n"], q["n"] < start + w.length)

        own = Array({"b": b, "n": n}, lambda q: slice.at({"b": q["b"], "w": q["n"] - start}))
        return chosen(inside, own, x)

    old = Array(
        {"b": b, "w": w},
        lambda q: x.at({"b": q["b"], "n": (index if wrong else start) + q["w"]}),
    )
    yield Equation(chosen(holds, updated(y), x), updated(chosen(holds, y, old)), where=fits)
    if wrong:
        return
    k = sizes("k")
    added, place = array("z", b=b, k=k), integers("place", "b", "k")
    nowhere = z3.IntVal(-(2**31))

    def scattered(index: Callable[[Indices], Formula]) -> Array:
        return x + summed(added.where(lambda q: index(q) == q["n"], n=n), "k")

    yield Equation(
        chosen(holds, scattered(place), x),
        scattered(lambda q: z3.If(holds(q), place(q), nowhere)),
    )


@claim(
    "scatter-as-gather",
    "scatter-as-gather:add",
    conditions="known positions, each at most once; updates replace what there is, or are added",
    wrong="elements that get no update are set to zero",
    argument="An element of the result depends on what there is and on the updates whose position "
    "is its own: at most one, which the inverse of the positions names. The rule computes that "
    "inverse of known integers, and refuses positions that occur twice.",
    bounds="1 to 3 updates of any positions",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, j = sizes("n", 3), sizes("j")
    x = array("x", n=n, j=j)
    for count in (2,) if sizes.small else (1, 2, 3):
        places = [z3.Int(f"place{k}") for k in range(count)]
        updates = [array(f"y{k}", j=j) for k in range(count)]

        def gets(k: int, places: list[Formula] = places) -> Callable[[Indices], Formula]:
            return lambda q: places[k] == q["n"]

        result = x  # one update after the other, as a scatter applies them
        for k, update in enumerate(updates):
            result = chosen(gets(k), pointwise("f", result, update), result, n=n)
        gathered = x.where(
            lambda q, gets=gets, count=count: z3.And(
                not wrong, *[z3.Not(gets(k)(q)) for k in range(count)]
            )
        )
        for k, update in enumerate(updates):
            gathered = gathered + pointwise("f", x, update).where(gets(k), n=n)
        yield Equation(result, gathered, where=(z3.Distinct(*places),) if count > 1 else ())
