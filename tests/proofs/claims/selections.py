"""Claims of the rules for selections: top-k, argmax, and sorts by a permutation.

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
    Meaning,
    as_float,
    read_program,
    rewritten,
    total_order,
)
from tests.proofs.sums import Formula, Number, number, size_of, total


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


def _argmax_text(type: str, direction: str, last: bool = False) -> str:
    """Returns argmax or argmin as ``jax.lax`` writes them; of equal elements the last if wrong."""
    is_nan, better = "", "is_better"
    if type in FLOATS:
        is_nan = """
  is_nan = pred[] compare(a, a), direction=NE
  wins = pred[] or(is_better, is_nan)"""
        better = "wins"
    start = {
        "GT": "-inf" if type in FLOATS else -(2 ** (_width(type) - 1)),
        "LT": "inf" if type in FLOATS else 2 ** (_width(type) - 1) - 1,
    }
    return f"""HloModule positions
choose {{
  a = {type}[] parameter(0)
  i = s32[] parameter(1)
  b = {type}[] parameter(2)
  j = s32[] parameter(3)
  is_better = pred[] compare(a, b), direction={direction}{is_nan}
  is_equal = pred[] compare(a, b), direction=EQ
  is_first = pred[] compare(i, j), direction={"GT" if last else "LT"}
  both = pred[] and(is_equal, is_first)
  moves = pred[] or({better}, both)
  value = {type}[] select({better}, a, b)
  position = s32[] select(moves, i, j)
  ROOT best = ({type}[], s32[]) tuple(value, position)
}}

ENTRY main {{
  x = {type}[8,16] parameter(0)
  positions = s32[8,16] iota(), iota_dimension=1
  start = {type}[] constant({start[direction]})
  zero = s32[] constant(0)
  reduce = ({type}[8], s32[8]) reduce(x, positions, start, zero), dimensions={{1}}, to_apply=choose
  ROOT position = s32[8] get-tuple-element(reduce), index=1
}}"""


def _width(type: str) -> int:
    return int(type.strip("bfsu"))


@claim(
    "argmax-as-first-maximum",
    conditions="numbers of at most 64 bits, but no unsigned ones; less than 2^30 in a row; the "
    "elements are reduced in the order of their positions",
    wrong="of equal elements, the last is chosen",
    argument="By induction over the elements: what is chosen among the first ones is the first "
    "NaN if there is one, otherwise the first element that no other one exceeds. The maximum of "
    "numbers is one of them; beside NaNs it is taken for any number.",
    bounds="every number of elements, of each type, all bits",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    for type in ("f32",) if wrong else ("f16", "bf16", "f32", "f64", "s8", "s16", "s32", "s64"):
        for direction in ("GT", "LT"):
            yield from _Argmax(type, direction, wrong).statements()


class _Argmax:
    """The positions of the greatest or least elements of a row of any bits.

    Args:
        type: Type of the elements.
        direction: ``GT`` for the greatest, ``LT`` for the least.
        wrong: Whether the last of equal elements is chosen.
    """

    def __init__(self, type: str, direction: str, wrong: bool) -> None:
        self._type = type
        self._direction = direction
        source = _argmax_text(type, direction, wrong)
        self._before = read_program(source)
        self._after = rewritten("argmax-as-first-maximum", _argmax_text(type, direction)).main
        self._x = z3.Function("x", z3.BitVecSort(32), z3.BitVecSort(_width(type)))

    def statements(self) -> Iterator[Statement]:
        """Yields the step of the induction, and what follows for the result."""
        best = z3.BitVec("best", _width(self._type))
        at, count, j = z3.BitVecs("at count j", 32)
        zero = z3.BitVecVal(0, 32)
        yield Lemma(self._holds(self._start, zero, zero, j))
        choose = Meaning(
            self._before.computations["choose"],
            {"a": best, "i": at, "b": self._x(count), "j": count},
        )
        chosen, place = choose.of("value"), choose.of("position")
        # What holds for the element at j, whichever it is, and for the new one.
        assumed = (count >= 0, count < LONGEST_ROW, self._holds(best, at, count, j))
        for each in (j, count):
            yield Lemma(self._holds(chosen, place, count + 1, each), assumed)
        yield from self._result(best, at)

    @property
    def _start(self) -> Formula:
        return Meaning(self._before.main, {}).of("start")

    def _is_nan(self, value: Formula) -> Formula:
        if self._type not in FLOATS:
            return z3.BoolVal(False)
        return z3.fpIsNaN(as_float(value, self._type))

    def _exceeds(self, a: Formula, b: Formula) -> Formula:
        if self._type in FLOATS:
            a, b = as_float(a, self._type), as_float(b, self._type)
            return z3.fpGT(a, b) if self._direction == "GT" else z3.fpLT(a, b)
        return a > b if self._direction == "GT" else a < b

    def _equals(self, a: Formula, b: Formula) -> Formula:
        if self._type in FLOATS:
            return z3.fpEQ(as_float(a, self._type), as_float(b, self._type))
        return a == b

    def _holds(self, best: Formula, at: Formula, count: Formula, j: Formula) -> Formula:
        """Returns what the best of the first elements is, as far as the one at j tells."""
        element = self._x(j)
        first_nan = z3.Implies(self._is_nan(element), at <= j)
        first_best = z3.And(
            z3.Not(self._is_nan(element)),
            z3.Not(self._exceeds(element, best)),
            z3.Implies(self._equals(element, best), at <= j),
        )
        of_j = z3.If(self._is_nan(best), first_nan, first_best)
        # Zeros of both signs are equal: the position may be that of the other one.
        is_same = z3.Or(self._x(at) == best, self._equals(self._x(at), best))
        own = z3.And(at < count, is_same)
        is_start = z3.And(best == self._start, at == 0)
        return z3.And(
            at >= 0,
            z3.Or(own, is_start),
            z3.Implies(z3.And(j >= 0, j < count), of_j),
        )

    def _result(self, best: Formula, at: Formula) -> Iterator[Statement]:
        """Yields that the rule finds the position that is chosen."""
        main = self._after
        iota = main.all("iota")[0]
        minimum = main.all("reduce")[-1]
        greatest = main.all("reduce")[0]
        maximum, least = z3.BitVec("maximum", _width(self._type)), z3.BitVec("least", 32)
        count, j, m = z3.BitVecs("count j m", 32)
        # The program's size stands for any size.
        sizes = {"16": count, "32": 2 * count}
        constants = {one.name: sizes.get(one.operands[0]) for one in main.all("constant")}
        constants = {name: value for name, value in constants.items() if value is not None}

        def number(i: Formula) -> Formula:
            known = {**constants, "x": self._x(i), iota.name: i, greatest.name: maximum}
            return Meaning(main, known).of(minimum.operands[0])

        all_hold = z3.And(
            *[self._holds(best, at, count, each) for each in (j, m, at, z3.BitVecVal(0, 32))]
        )
        is_maximum = z3.And(
            maximum == self._x(m),
            *[z3.Not(self._exceeds(self._x(i), maximum)) for i in (j, at, m)],
        )
        yield Lemma(
            Meaning(main, {**constants, minimum.name: least}).root == at,
            (
                z3.And(count > 0, count < LONGEST_ROW),
                all_hold,
                *[z3.And(i >= 0, i < count) for i in (j, m, at)],
                z3.Or(self._is_nan(best), is_maximum),
                least == number(j),
                least <= number(at),
            ),
        )


@claim(
    "sort-by-permutation-as-scatter",
    conditions="an ascending sort of two arrays by the positions that another sort gives",
    wrong="a descending sort",
    argument="A permutation takes each place once. So as many elements have lesser keys as there "
    "are lesser places: the sum over all elements of what depends on their keys is the sum over "
    "all places. The sum over the places below p is p, by induction.",
    bounds="the whole for up to 5 elements; the steps for every size",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    key = keyed("key", z3.IntSort())

    def less(i: Indices, j: Formula, k: Formula) -> Formula:
        return key(i, j) > key(i, k) if wrong else key(i, j) < key(i, k)

    def scattered(payload: Array) -> Array:
        def at(i: Indices) -> Number:
            return total(
                payload.axes["n"],
                lambda k: payload.at({**i, "n": k}).where(key(i, k) == i["n"]),
            )

        return Array(payload.axes, at)

    for length in (2, 3) if sizes.small else (2, 3, 4, 5):
        payload = array("y", n=size_of(length))
        keys = [key({}, place) for place in range(length)]
        is_permutation = (z3.Distinct(*keys), *[z3.And(k >= 0, k < length) for k in keys])
        yield Equation(sorted_by(stable(less), payload), scattered(payload), is_permutation)
    if sizes.small:
        return
    # The induction over places: of those below v, so many are below p.
    v, p, counted = z3.Ints("v p counted")
    counts = counted == z3.If(v < p, v, p)
    one_more = counted + z3.If(v < p, 1, 0)
    yield Lemma(one_more == z3.If(v + 1 < p, v + 1, p), (counts, v >= 0, p >= 0))
    yield from _flat_targets()


def _flat_targets() -> Iterator[Statement]:
    """Yields that elements go to their places among those of all rows, each to another one."""
    source = """HloModule ranks
by_key {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT less = pred[] compare(a, b), direction=LT, type=TOTALORDER
}
by_position {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT less = pred[] compare(a, b), direction=LT
}
ENTRY main {
  x = f32[8,4,3] parameter(0)
  places = s32[8,4,3] iota(), iota_dimension=1
  first = (f32[8,4,3], s32[8,4,3]) sort(x, places), dimensions={1}, to_apply=by_key
  order = s32[8,4,3] get-tuple-element(first), index=1
  y = f32[8,4,3] parameter(1)
  ROOT sort = (s32[8,4,3], f32[8,4,3]) sort(order, y), dimensions={1}, to_apply=by_position
}"""
    main = rewritten("sort-by-permutation-as-scatter", source).main
    (scatter,) = main.all("scatter")
    row, key, column = z3.Ints("row key column")
    places = {"0": row, "1": z3.Int("place"), "2": column}
    known = {one.name: places[one.attributes["iota_dimension"]] for one in main.all("iota")}
    known[next(one.name for one in main.all("get-tuple-element"))] = key
    target = Meaning(main, known, real=True).of(scatter.operands[1])
    yield Lemma(target == (row * 4 + key) * 3 + column)
    # Two elements of one target are one element: for each dimension, from the last one on.
    high, low, other_high, other_low, size = z3.Ints("high low other_high other_low size")
    more = high - other_high
    yield Lemma(
        z3.And(more == 0, low == other_low),
        (
            more * size + low == other_low,
            z3.And(low >= 0, low < size, other_low >= 0, other_low < size),
            z3.Implies(more >= 1, more * size >= size),
            z3.Implies(more <= -1, more * size <= -size),
        ),
    )
    yield Lemma(z3.Implies(more >= 1, more * size >= size), (size >= 1,))
