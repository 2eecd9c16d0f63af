"""Claims of the rules for sorts.

A stable sort by a comparator puts the element at place r that has r elements before it: lesser
ones, and equal ones of lower positions. So two sorts are the same if they agree on each pair of
elements. Elements are bits here, and hold for all floating-point numbers: NaNs, infinities and both
zeros. A payload is any number that goes with an element, a function of its bits among them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import z3

from tests.proofs.claim import claim
from tests.proofs.instructions import Computation, Program
from tests.proofs.language import Array, Indices, array, opaque
from tests.proofs.prover import Enumeration, Equation, Lemma, Sizes, Statement
from tests.proofs.rewritten import (
    FLOATS,
    Meaning,
    as_float,
    meaning_of,
    rewritten,
)
from tests.proofs.sums import Formula, Number, Size, number, total

Before = Callable[[Indices, Formula, Formula], Formula]
"""Whether one position comes before another one, both along the axis that is sorted."""


def rank(before: Before, axis: str, size: Size) -> Callable[[Indices], Formula]:
    """Returns the number of elements that come before the one at indices."""

    def at(i: Indices) -> Formula:
        n = size.length

        def counted(j: Formula) -> Number:
            inside = z3.And(i[axis] >= 0, i[axis] < n)
            return number(1).where(z3.And(before(i, j, i[axis]), inside))

        return opaque(total(size, counted))

    return at


def sorted_by(before: Before, payload: Array, axis: str = "n") -> Array:
    """Returns the payload in the order of a sort along an axis."""
    size = payload.axes[axis]
    rank_of = rank(before, axis, size)

    def at(i: Indices) -> Number:
        def element(k: Formula) -> Number:
            here = {**i, axis: k}
            return payload.at(here).where(rank_of(here) == z3.ToReal(_integer(i[axis])))

        return total(size, element)

    return Array(payload.axes, at)


def _integer(value: Formula) -> Formula:
    return z3.IntVal(value) if isinstance(value, int) else value


def stable(less: Callable[[Indices, Formula, Formula], Formula], wrong: bool = False) -> Before:
    """Returns the order of a stable sort, of an unstable one if that is the error."""

    def before(i: Indices, j: Formula, k: Formula) -> Formula:
        earlier = j > k if wrong else j < k
        return z3.Or(less(i, j, k), z3.And(z3.Not(less(i, k, j)), earlier))

    return before


def keyed(name: str, sort: Formula, *axes: str) -> Callable[[Indices, Formula], Formula]:
    """Returns any keys of elements, of a sort of z3."""
    function = z3.Function(name, *[z3.IntSort()] * (len(axes) + 1), sort)
    return lambda i, k: function(*[_integer(i[axis]) for axis in axes], _integer(k))


# Programs.


def _less(type: str, direction: str, canonical: bool, payload: bool) -> str:
    """Returns a comparator of ``jax.lax.sort``; canonical, all zeros and all NaNs are equal."""
    rest = "\n  c = f64[] parameter(2)\n  d = f64[] parameter(3)" if payload else ""
    order = ", type=TOTALORDER" if type in FLOATS else ""
    sides, a, b = "", "a", "b"
    if canonical:
        a, b = "side.a", "side.b"
        sides = f"""
  zero = {type}[] constant(0)
  usual_nan = {type}[] constant(nan)""" + "".join(
            f"""
  is_nan.{x} = pred[] compare({x}, {x}), direction=NE
  is_zero.{x} = pred[] compare({x}, zero), direction=EQ
  number.{x} = {type}[] select(is_zero.{x}, zero, {x})
  side.{x} = {type}[] select(is_nan.{x}, usual_nan, number.{x})"""
            for x in "ab"
        )
    return f"""less {{
  a = {type}[] parameter(0)
  b = {type}[] parameter(1){rest}{sides}
  ROOT less = pred[] compare({a}, {b}), direction={direction}{order}
}}"""


def _sort_text(
    type: str, direction: str, canonical: bool, size: int = 4, payload: bool = False, use: str = ""
) -> str:
    operands, result, y = "x", f"{type}[8,{size}]", ""
    if payload:
        operands, result = "x, y", f"({type}[8,{size}], f64[8,{size}])"
        y = f"\n  y = f64[8,{size}] parameter(1)"
    root = "" if use else "ROOT "
    return f"""HloModule sorts
{_less(type, direction, canonical, payload)}

ENTRY main {{
  x = {type}[8,{size}] parameter(0){y}
  {root}sort = {result} sort({operands}), dimensions={{1}}, is_stable=true, to_apply=less
{use}}}"""


@dataclass(frozen=True)
class Sort:
    """A sort of one program, and what a rule makes of the program.

    Attributes:
        type: Type of the keys.
        canonical: Whether all zeros and all NaNs are equal.
        less: The comparator of two elements, given as bits.
        after: The computation after the rule.
    """

    type: str
    canonical: bool
    less: Callable[[Formula, Formula], Formula]
    after: Program

    def element(self, name: str) -> Formula:
        """Returns the bits of any element."""
        return z3.BitVec(name, int(self.type.strip("bfsu")))

    def value(self, name: str, known: dict[str, Formula]) -> Formula:
        """Returns the bits that an instruction has for an element."""
        return Meaning(self.after.main, known, _PASS_ON).of(name)

    def are_same(self, a: Formula, b: Formula) -> Formula:
        """Returns whether two elements are the same value: the same bits unless canonical."""
        if not self.canonical:
            return a == b
        x, y = as_float(a, self.type), as_float(b, self.type)
        return z3.Or(z3.fpEQ(x, y), z3.And(z3.fpIsNaN(x), z3.fpIsNaN(y)))


_PASS_ON: dict[str, Callable[..., Formula]] = {
    name: lambda operand, *_: operand for name in ("reverse", "slice", "pad", "gather")
}


def sorts(rule: str, types: Sequence[str], **text: Any) -> Iterator[Sort]:
    """Yields sorts of all types, both directions and both treatments of zeros and NaNs."""
    for type in types:
        for canonical in (False, True) if type in FLOATS else (False,):
            for direction in ("LT", "GT"):
                source = _sort_text(type, direction, canonical, **text)
                computation = Program.from_text(source).computations["less"]
                others = [z3.BitVecVal(0, 64)] * (2 if text.get("payload") else 0)

                def less(
                    a: Formula,
                    b: Formula,
                    computation: Computation = computation,
                    others: list[Formula] = others,
                ) -> Formula:
                    return meaning_of(computation, a, b, *others)

                yield Sort(type, canonical, less, rewritten(rule, source))


_FLOATS = ("f16", "bf16", "f32", "f64")
SHORT_FLOATS = ("f16", "bf16", "f32")
_INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
SHORT_INTEGERS = ("s8", "s16", "s32", "u8", "u16", "u32")


@claim(
    "sort-by-integer-keys",
    conditions="floating-point numbers by their total order, or with all zeros equal, and all NaNs "
    "equal and last",
    wrong="the bits of negative numbers are not inverted",
    argument="What is before in the order of the comparator has a lesser key. So the sequence of "
    "keys is sorted by the comparator, too; two sorted sequences of the same elements have at each "
    "place elements of which neither is before the other, and those are the same values.",
    bounds="all pairs of elements of each type",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    for sort in sorts("sort-by-integer-keys", _FLOATS[2:3] if wrong else _FLOATS):
        (of_keys,) = sort.after.main.all("sort")
        yield from _keys(sort, of_keys.operands[0], of_keys.name, sort.after.main.root, wrong)


def _keys(sort: Sort, name: str, sorted: str, result: str, wrong: bool) -> Iterator[Statement]:
    """Yields what keys need to be sorted instead of elements.

    Args:
        sort: The sort.
        name: The keys' instruction.
        sorted: The instruction of sorted keys.
        result: The instruction of sorted elements.
        wrong: Whether to take the bits for the keys.
    """
    a, b = sort.element("a"), sort.element("b")
    key_a, key_b = (x if wrong else sort.value(name, {"x": x}) for x in (a, b))
    neither = z3.And(z3.Not(sort.less(a, b)), z3.Not(sort.less(b, a)))
    yield Lemma(z3.Implies(sort.less(a, b), key_a < key_b))
    yield Lemma(z3.Implies(neither, sort.are_same(a, b)))
    yield Lemma(sort.are_same(sort.value(result, {sorted: key_a}), a))


@claim(
    "sort-as-network",
    conditions="at most 32 elements along the dimension; integers or floating-point numbers as for "
    "sort-by-integer-keys",
    wrong="the last exchange is left out",
    argument="The keys are those of sort-by-integer-keys. A network of minima and maxima sorts all "
    "numbers if it sorts all zeros and ones (Knuth, The Art of Computer Programming, 5.3.4). All "
    "states that zeros and ones can be in are followed through the network, those of wires that "
    "have not met apart from each other.",
    bounds="2 to 32 elements, all networks; all pairs of elements of each type",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return

    def failure() -> str | None:
        for size in range(2, 33):
            text = _sort_text("f32", "LT", False, size)
            state = _unsorted(rewritten("sort-as-network", text).main, wrong)
            if state is not None:
                return f"{size} elements end up as {state}"
        return None

    yield Enumeration(failure)
    if wrong:
        return
    for sort in sorts("sort-as-network", (*_FLOATS, *_INTEGERS), size=2):
        main = sort.after.main
        minimum = main.all("minimum")[0]
        first = main.instructions[main.root].operands[0]
        yield from _keys(sort, minimum.operands[0], minimum.name, first, False)


def _unsorted(network: Computation, wrong: bool) -> str | None:
    """Returns how zeros and ones come out of a network where they are not sorted."""
    pairs: dict[tuple[str, ...], dict[str, str]] = {}
    for one in network.instructions.values():
        if one.opcode in ("minimum", "maximum"):
            pairs.setdefault(one.operands, {})[one.opcode] = one.name
    made = {name for results in pairs.values() for name in results.values()}
    groups = [((name,), _WIRE) for name in {name for pair in pairs for name in pair} - made]
    for remaining in range(len(pairs), 0, -1):
        # Exchanges of wires that have met come first, as they leave fewer states.
        own = {name: group for group in groups for name in group[0]}
        ready = [pair for pair in pairs if own.keys() >= set(pair)]
        pair = min(ready, key=lambda pair: len({name for x in pair for name in own[x][0]}))
        met = [group for group in groups if set(group[0]) & set(pair)]
        names, cases = met[0] if len(met) == 1 else _together(*met)
        places = [names.index(name) for name in pair]
        if not (wrong and remaining == 1):
            cases[:, places] = np.sort(cases[:, places], axis=1)
        results = pairs.pop(pair)
        renamed = dict(zip(pair, (results["minimum"], results["maximum"]), strict=True))
        names = tuple(renamed.get(name, name) for name in names)
        groups = [group for group in groups if all(group is not other for other in met)]
        groups.append((names, np.unique(cases, axis=0)))
    ((names, cases),) = groups
    order = [_wire(network, name, names) for name in network.instructions[network.root].operands]
    results = cases[:, [names.index(name) for name in order]]
    failures = results[(results[:, 1:] < results[:, :-1]).any(axis=1)]
    return str(failures[0].tolist()) if len(failures) else None


def _together(one: _Group, other: _Group) -> _Group:
    """Returns two groups of wires as one, in all pairs of their states."""
    cases = [
        np.repeat(one[1], len(other[1]), axis=0),
        np.tile(other[1], (len(one[1]), 1)),
    ]
    return (*one[0], *other[0]), np.hstack(cases)


_Group = tuple[tuple[str, ...], Any]
"""Names of wires, and the states that they can be in together, of shape [states, wires]."""

_WIRE = np.array([[0], [1]], np.uint8)


def _wire(network: Computation, name: str, wires: Container[str]) -> str:
    """Returns the wire that an element of the result is made of."""
    while name not in wires:
        # A wire is the last operand of a select, or of what inverts its bits.
        name = network.instructions[name].operands[-1]
    return name


@claim(
    "sort-along-minor",
    conditions="any number of arrays, which one comparator sorts",
    wrong="the elements are sorted along the other dimension",
    argument="The comparator sees the same elements, so that the order is the same also if it is "
    "not stable.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, n, m = sizes.several("b n m")
    key = keyed("key", z3.IntSort(), "b", "m")
    payload = array("y", b=b, n=n, m=m)

    def less(i: Indices, j: Formula, k: Formula) -> Formula:
        return key(i, j) < key(i, k)

    moved = payload.renamed(n="minor", m="major")

    def moved_less(i: Indices, j: Formula, k: Formula) -> Formula:
        if wrong:
            return key({**i, "m": j}, i["minor"]) < key({**i, "m": k}, i["minor"])
        return less({**i, "m": i["major"]}, j, k)

    result = sorted_by(stable(moved_less), moved, "major" if wrong else "minor")
    yield Equation(sorted_by(stable(less), payload), result.renamed(minor="n", major="m"))


def packed_keys(sort: Sort, iota: str, packed: str, wrong: bool = False) -> Iterator[Statement]:
    """Yields that packed integers are ordered as keys and positions, and hold the positions."""
    a, b = sort.element("a"), sort.element("b")
    p, q = z3.BitVecs("p q", 64)
    ranges = tuple(z3.And(position >= 0, position < LONGEST_ROW) for position in (p, q))
    one = sort.value(packed, {"x": a, iota: p})
    other = sort.value(packed, {"x": b, iota: q})
    earlier = p > q if wrong else p < q
    before = z3.Or(sort.less(a, b), z3.And(z3.Not(sort.less(b, a)), earlier))
    yield Lemma(before == (one < other), ranges)


LONGEST_ROW = 1 << 30


@claim(
    "sort-by-packed-keys",
    conditions="a stable sort of several arrays along the last dimension, of at most 2^30 "
    "elements, by keys of at most 32 bits",
    wrong="of equal elements, the last comes first",
    argument="For each pair of elements, the packed integers are ordered as keys and positions. "
    "No two are equal, so that the order is the only one.",
    bounds="all pairs of keys of each type; all sizes and positions",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from by_positions(sizes, wrong)
    if sizes.small:
        return
    for sort in sorts("sort-by-packed-keys", SHORT_FLOATS + SHORT_INTEGERS, payload=True):
        main = sort.after.main
        (iota,), (of_packed,) = main.all("iota"), main.all("sort")
        yield from packed_keys(sort, iota.name, of_packed.operands[0])
        a, p = sort.element("a"), z3.BitVec("p", 64)
        known = {
            of_packed.name: sort.value(of_packed.operands[0], {"x": a, iota.name: p}),
            "x": a,
        }
        inside = (z3.And(p >= 0, p < LONGEST_ROW),)
        for gather in main.all("gather"):
            yield Lemma(sort.value(gather.operands[1], known) == z3.Extract(31, 0, p), inside)
        if not sort.canonical:
            own = main.instructions[main.root].operands[0]
            yield Lemma(sort.value(own, known) == a, inside)


def by_positions(sizes: Sizes, wrong: bool, descending: bool = False) -> Iterator[Statement]:
    """Yields that a stable sort is one by keys and positions together."""
    b, n = sizes.several("b n")
    key = keyed("key", z3.IntSort(), "b")
    payload = array("y", b=b, n=n)

    def less(i: Indices, j: Formula, k: Formula) -> Formula:
        return key(i, j) > key(i, k) if descending else key(i, j) < key(i, k)

    def packed(i: Indices, j: Formula, k: Formula) -> Formula:
        first, second = (-key(i, x) if descending else key(i, x) for x in (j, k))
        return first * 2**32 + j < second * 2**32 + k

    yield Equation(
        sorted_by(stable(less, wrong), payload),
        sorted_by(packed, payload),
        (n.length <= LONGEST_ROW,) if not sizes.small else (),
    )
