"""Claims of the rules for selections: top-k, and prefixes of sorts.

Top-k is the prefix of a stable sort in descending order. It takes floating-point numbers by their
total order, as XLA does.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.claims.sorting import (
    LONGEST_ROW,
    SHORT_FLOATS,
    SHORT_INTEGERS,
    Sort,
    by_positions,
    keyed,
    packed_keys,
    rank,
    sorted_by,
    sorts,
    stable,
)
from tests.proofs.language import Array, Indices, array, integers
from tests.proofs.prover import Equation, Lemma, Sizes, Statement
from tests.proofs.rewritten import (
    FLOATS,
    rewritten,
    total_order,
)
from tests.proofs.sums import Formula, Number, number, total


def _greater(a: Formula, b: Formula, type: str) -> Formula:
    """Returns whether top-k takes an element before another one."""
    if type in FLOATS:
        return total_order(a, type) > total_order(b, type)
    return z3.UGT(a, b) if type.startswith("u") else a > b


@claim(
    "sort-prefix-as-top-k",
    conditions="a slice of at most half of a stable sort, or of its reverse, by keys of at most 32 "
    "bits",
    wrong="of equal elements taken from the end, the first comes first",
    argument="The last elements of a sort are the first ones in its reverse order, in which equal "
    "elements have descending positions: as many elements come after an element as do not come "
    "before it.",
    bounds="all pairs of keys of each type; all sizes and slices",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, n = sizes.several("b n")
    payload = array("y", b=b, n=n)
    key = keyed("key", z3.IntSort(), "b")
    last = n.length - 1

    def greater(i: Indices, j: Formula, k: Formula) -> Formula:
        if wrong:
            return key(i, j) > key(i, k)
        return key(i, last - j) > key(i, last - k)

    def less(i: Indices, j: Formula, k: Formula) -> Formula:
        return key(i, j) < key(i, k)

    before = stable(less)

    def after(i: Indices, j: Formula, k: Formula) -> Formula:
        return before(i, k, j)

    # From the start: top-k of the keys in descending order.
    yield Equation(
        sorted_by(before, payload),
        sorted_by(stable(lambda i, j, k: -key(i, j) > -key(i, k)), payload),
    )
    # From the end: positions in the reverse, from the last one back.
    counted = rank(stable(greater), "n", n)
    from_end = rank(after, "n", n)
    yield Equation(
        Array({"b": b, "n": n}, lambda i: number(counted(i))),
        Array({"b": b, "n": n}, lambda i: number(from_end({**i, "n": last - i["n"]}))),
    )
    place = integers("place", "b", "n")

    def placed(reverse: bool) -> Array:
        def at(i: Indices) -> Number:
            def element(k: Formula) -> Number:
                here = {**i, "n": last - k if reverse else k}
                return payload.at(here).where(place(here) == i["n"])

            return total(n, element)

        return Array({"b": b, "n": n}, at)

    yield Equation(placed(False), placed(True))
    # As many come after an element as do not come before it.
    yield Equation(
        Array({"b": b, "n": n}, lambda i: _count(n, before, i) + _count(n, after, i) + number(1)),
        Array({"b": b, "n": n}, lambda i: total(n, lambda j: number(1))),
        pivots=True,
    )
    if sizes.small or wrong:
        return
    yield from _prefix_positions()
    for from_start, slice in ((True, "[0:2]"), (False, "[4:6]")):
        use = f"  ROOT slice = TYPE[8,2] slice(sort), slice={{[0:8], {slice}}}\n"
        for type in SHORT_FLOATS + SHORT_INTEGERS:
            text = {"size": 6, "use": use.replace("TYPE", type)}
            for sort in sorts("sort-prefix-as-top-k", (type,), **text):
                yield _top_k_order(sort, from_start)


def _count(n, before, i: Indices) -> Number:
    return total(n, lambda j: number(1).where(before(i, j, i["n"])))


def _top_k_order(sort: Sort, from_start: bool) -> Statement:
    (top,) = sort.after.main.all("topk")
    a, b = sort.element("a"), sort.element("b")
    one, other = (sort.value(top.operands[0], {"x": x}) for x in (a, b))
    first, second = (a, b) if from_start else (b, a)
    return Lemma(_greater(one, other, "f32") == sort.less(first, second))


def _prefix_positions() -> Iterator[Statement]:
    """Yields that the places that the rule takes are those of the slice."""
    n, start, size, stride, s = z3.Ints("n start size stride s")
    # The product of the stride and any place of the slice.
    span, at = z3.Ints("span at")
    conditions = (
        start >= 0,
        size >= 1,
        stride >= 1,
        span == (size - 1) * stride,
        at == s * stride,
        s >= 0,
        s < size,
        start + span < n,
    )
    for reverse in (False, True):
        first, last = start, start + span
        if reverse:
            first, last = n - 1 - last, n - 1 - first
        for from_end in (False, True):
            begin, end = (n - 1 - last, n - 1 - first) if from_end else (first, last)
            backwards = from_end != reverse
            # Place among those that top-k takes, whose first is the first or the last of the sort.
            rank_of = begin + (span - at if backwards else at)
            taken = n - 1 - rank_of if from_end else rank_of
            expected = n - 1 - (start + at) if reverse else start + at
            yield Lemma(taken == expected, conditions)
            yield Lemma(z3.And(rank_of >= 0, rank_of <= end, end < n), (*conditions, at <= span))
    yield Lemma(s * stride <= (size - 1) * stride, (s >= 0, s < size, stride >= 1))


def _top_k_text(type: str, count: int, length: int) -> str:
    return f"""HloModule selections
ENTRY main {{
  x = {type}[8,{length}] parameter(0)
  ROOT top = ({type}[8,{count}], s32[8,{count}]) topk(x), k={count}, largest=true
}}"""


def _top_k(rule: str, type: str, count: int, length: int) -> Sort:
    return Sort(
        type,
        False,
        lambda a, b: _greater(a, b, type),
        rewritten(rule, _top_k_text(type, count, length)),
    )


@claim(
    "top-k-by-float-keys",
    conditions="integers of at most 32 bits",
    wrong="unsigned integers are taken for signed ones",
    argument="Top-k is determined by the comparison of each pair of elements and their positions.",
    bounds="all pairs of elements of each type",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    for type in ("u32",) if wrong else SHORT_INTEGERS:
        sort = _top_k("top-k-by-float-keys", type, 2, 4)
        main = sort.after.main
        (top,) = main.all("topk")
        a, b = sort.element("a"), sort.element("b")
        one, other = (sort.value(top.operands[0], {"x": x}) for x in (a, b))
        before = a > b if wrong else sort.less(a, b)
        yield Lemma(_greater(one, other, "f32") == before)
        (values,) = [x for x in main.all("get-tuple-element") if x.attributes["index"] == "0"]
        result = main.instructions[main.root].operands[0]
        yield Lemma(sort.value(result, {values.name: one}) == a)


@claim(
    "top-k-by-packed-keys",
    conditions="elements of at most 32 bits, at most 2^30 in a row",
    wrong="of equal elements, the last comes first",
    argument="For each pair of elements, the packed integers are ordered as keys, the greatest "
    "first, and positions.",
    bounds="all pairs of elements of each type; all sizes and positions",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from by_positions(sizes, wrong, descending=True)
    if sizes.small:
        return
    for type in SHORT_FLOATS + SHORT_INTEGERS:
        sort = _top_k("top-k-by-packed-keys", type, 2, 4)
        main = sort.after.main
        (iota,), (of_packed,) = main.all("iota"), main.all("sort")
        yield from packed_keys(sort, iota.name, of_packed.operands[0])
        a, p = sort.element("a"), z3.BitVec("p", 64)
        packed = sort.value(of_packed.operands[0], {"x": a, iota.name: p})
        value, position = main.instructions[main.root].operands
        inside = (z3.And(p >= 0, p < LONGEST_ROW),)
        yield Lemma(sort.value(value, {of_packed.name: packed}) == a, inside)
        yield Lemma(sort.value(position, {of_packed.name: packed}) == z3.Extract(31, 0, p), inside)


@claim(
    "top-k-of-groups",
    conditions="at least as many groups as elements that are selected",
    wrong="of groups with equal maxima, the last comes first",
    argument="Each group that is selected has an element, its greatest, that comes before each "
    "element of the other groups. These are k elements, so that no element of the other groups is "
    "among the first k. In the selected groups, in ascending order, elements have the order of "
    "their positions; what fills the last group comes after all elements.",
    bounds="groups of 8, 16 and 32 elements, as the rule has them; any number of groups and "
    "elements, any k",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    i, m, greatest, own_maximum, own = z3.Ints("i m greatest own_maximum own")
    for width in (8, 16, 32):
        group, chosen = i / width, m / width
        earlier = chosen > group if wrong else chosen < group
        # m is the first greatest element of a group that is selected, before the group of i.
        conditions = (
            i >= 0,
            m >= 0,
            group != chosen,
            own_maximum >= own,
            z3.Or(greatest > own_maximum, z3.And(greatest == own_maximum, earlier)),
        )
        yield Lemma(z3.Or(greatest > own, z3.And(greatest == own, m < i)), conditions)
        # Places among the members of selected groups, in the order of positions.
        one, other, base, next_base = z3.Ints("one other base next_base")
        in_order = z3.If(
            one / width == other / width,
            base == next_base,
            z3.Implies(one < other, base < next_base),
        )
        yield Lemma(
            width * base + one % width < width * next_base + other % width,
            (one >= 0, one < other, base >= 0, in_order),
        )
    if wrong:
        return
    sort = _top_k("top-k-of-groups", "f32", 2, 250)
    main = sort.after.main
    maxima, members = main.all("topk")
    reduce = main.all("reduce")[0]
    (pad,), (gather, *_) = main.all("pad"), main.all("gather")
    a, b = sort.element("a"), sort.element("b")
    keys = [sort.value(reduce.operands[0], {pad.name: x}) for x in (a, b)]
    yield Lemma((keys[0] > keys[1]) == sort.less(a, b))
    one, other = z3.BitVecs("one other", 32)
    floats = [sort.value(maxima.operands[0], {reduce.name: x}) for x in (one, other)]
    yield Lemma(_greater(*floats, "f32") == (one > other))
    yield Lemma(sort.value(members.operands[0], {gather.name: a}) == a)
    filler = sort.value(pad.operands[1], {})
    yield Lemma(z3.Not(sort.less(filler, a)))
