"""Claims of the rules about chosen updates, and scatters to known positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.claims.class_sums import booleans
from tests.proofs.claims.indexing import between
from tests.proofs.language import Array, Indices, array, chosen, integers, pointwise, summed
from tests.proofs.prover import Equation, Lemma, Sizes, Statement
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
    "read-before-update",
    conditions="an update by one element, and a read of one element; a scatter sets it, or adds to "
    "it, multiplies it, or takes a maximum or minimum",
    wrong="the index of a scatter is clamped",
    argument="For one update; a chain of them is an induction. Places of arrays of more dimensions "
    "are equal if their indices along each are.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n = sizes("n")
    x, y = array("x", n=n), array("y")
    index, k = z3.Int("index"), z3.Int("k")
    clamped = between(index, 0, n.length - 1)
    read = between(k, 0, n.length - 1)
    for place, compared in ((clamped, clamped), (index, clamped if wrong else index)):
        updated = chosen(lambda q, place=place: place == q["n"], pointwise("f", x, y), x, n=n)
        old = x.without("n", read)
        yield Equation(
            updated.without("n", read),
            chosen(lambda _, compared=compared: compared == read, pointwise("f", old, y), old),
        )


@claim(
    "carried-element",
    conditions="all iterations update one element at the same place, and read single elements; the "
    "condition of the loop does not read the array",
    wrong="the array is updated after the loop although the place is outside of it",
    argument="By induction over the iterations: elements of the array are the carried one at the "
    "place and those of the array before the loop elsewhere. So all that is read is the same, and "
    "what an iteration computes of it. Where the place is outside, no element is the carried one.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    values = z3.DeclareSort("Value")
    updated = z3.Function("updated", values, values, values)
    before, array_now = (z3.Array(name, z3.IntSort(), values) for name in ("before", "now"))
    element, added = z3.Consts("element added", values)
    size, index, read, k = z3.Ints("size index read k")
    clamped = between(index, 0, size - 1)
    inside = clamped == index

    def is_like(array: Formula, element: Formula, k: Formula) -> Formula:
        return array[k] == z3.If(k == index, element, before[k])

    def is_place(k: Formula) -> Formula:
        return z3.And(k >= 0, k < size)

    def set_at(array: Formula, value: Formula) -> Formula:
        return z3.If(inside, z3.Store(array, index, value), array)

    holds = is_like(array_now, element, k)
    yield Lemma(  # the loop begins with what was updated before it at the same place
        is_like(
            set_at(before, updated(before[clamped], added)), updated(before[clamped], added), k
        ),
        (is_place(k),),
    )
    place = between(read, 0, size - 1)
    yield Lemma(
        array_now[place] == z3.If(index == place, element, before[place]),
        (size >= 1, is_like(array_now, element, place)),
    )
    yield Lemma(
        is_like(set_at(array_now, updated(array_now[index], added)), updated(element, added), k),
        (is_place(k), holds, z3.Implies(inside, is_like(array_now, element, index))),
    )
    written = element if wrong else z3.If(inside, element, before[clamped])
    after = z3.Store(before, clamped, written)
    yield Lemma(array_now[k] == z3.Select(after, k), (is_place(k), holds))


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
