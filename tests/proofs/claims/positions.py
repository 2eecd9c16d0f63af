"""Claims of the rules for positions: argmax, and sorts by the positions that another sort gives."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.claims.sorting import LONGEST_ROW, keyed, sorted_by, stable
from tests.proofs.instructions import Program
from tests.proofs.language import Array, Indices, array
from tests.proofs.prover import Equation, Lemma, Sizes, Statement
from tests.proofs.rewritten import FLOATS, Meaning, as_float, rewritten
from tests.proofs.sums import Formula, Number, size_of, total


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
        self._before = Program.from_text(source)
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
