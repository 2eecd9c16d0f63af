"""Claims of the rules about reductions, cumulative reductions and windows.

Sums stand for products, maxima and minima, too: these proofs use no more of addition than that it
is associative, commutative and has a neutral element. An equation between sums of the same elements
holds in each such monoid if it holds in the integers.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.claims.convolutions import windows
from tests.proofs.language import Array, array, concatenate, constant, cut, dot, summed
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Formula, Size, size_of

_MONOID = "Products, maxima and minima are commutative monoids, as sums are."


@claim(
    "short-reduction-as-sum",
    conditions="over one dimension of 2 to 16 elements",
    wrong="the last element is lost",
    argument=_MONOID,
    bounds="2 to 16 elements",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i = sizes("i")
    for count in range(2, 17):
        x = array("x", i=i, k=size_of(count))
        total = x.without("k", 0)
        for number in range(1, count - wrong):
            total = total + x.without("k", number)
        yield Equation(summed(x, "k"), total)


@claim(
    "narrow-reduction-by-slices",
    conditions="the minor dimension is kept, and has 2 to 4 elements",
    wrong="the slices in another order",
    argument=_MONOID,
    bounds="2 to 4 elements of the minor dimension",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i, k = sizes.several("i k")
    for count in (2, 3, 4):
        x = array("x", i=i, k=k, n=size_of(count))
        parts = [summed(cut(x, "n", number, 1), "k") for number in range(count)]
        yield Equation(summed(x, "k"), concatenate("n", *(parts[::-1] if wrong else parts)))


@claim(
    "major-sum-as-dot",
    conditions="over the major dimensions",
    wrong="one of the ones is lost",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i, k = sizes("i", 1), sizes("k")
    x = array("x", i=i, k=k)
    ones = constant(1).where(lambda q: q["i"] > 0 if wrong else True, i=i)
    yield Equation(summed(x, "i"), dot(ones, x, "i"))


@claim(
    "major-reduction-by-halves",
    conditions="over the major dimensions, 8 to 1,024 elements in all",
    wrong="the odd row is lost",
    argument="One step halves the rows; the claim follows by induction. " + _MONOID,
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    half, k = sizes.several("half k")
    for odd in (0, 1):
        x = array("x", i=2 * half + odd, k=k)
        rows = summed(cut(x, "i", 0, half) + cut(x, "i", half.length, half), "i")
        last = x.without("i", 2 * half.length)
        yield Equation(summed(x, "i"), rows + last if odd and not wrong else rows)


def _cumulative(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    blocks, j = sizes("blocks", 1), sizes("j")
    size = blocks.blocks_of(8)
    for back in (False, True):
        x = array("x", j=j, i=size)

        def comes_first(other: Formula, own: Formula, back: bool = back) -> Formula:
            return other > own if back else other < own

        def up_to(x: Array, axis: str, size: Size, strict: bool, back: bool = back) -> Array:
            """Returns the sums up to each index along an axis, without it if strict."""
            other = x.renamed(**{axis: "other"})

            def holds(q: dict[str, Formula]) -> Formula:
                before = comes_first(q["other"], q[axis])
                return before if strict else z3.Or(before, q["other"] == q[axis])

            return summed(other.where(holds, **{axis: size}), "other")

        split = Array(
            {"j": j, "q": blocks, "r": size_of(8)},
            lambda n, x=x: x.at({**n, "i": n["q"] * 8 + n["r"]}),
        )
        within = up_to(split, "r", size_of(8), strict=False)
        before = up_to(summed(split, "r"), "q", blocks, strict=not wrong)
        both = within + before
        joined = Array(
            {"j": j, "i": size}, lambda n, b=both: b.at({**n, "q": n["i"] / 8, "r": n["i"] % 8})
        )
        yield Equation(up_to(x, "i", size, strict=False), joined, pivots=True)


@claim(
    "cumulative-sum-in-blocks",
    conditions="windows of all elements up to each one, or from it on",
    wrong="a block is added to itself",
    argument="Elements that fill up the last block are neutral. The sums of the blocks are "
    "computed likewise: by induction.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from _cumulative(sizes, wrong)


@claim(
    "cumulative-in-blocks",
    conditions="windows of all elements up to each one, or from it on",
    wrong="a block is combined with itself",
    argument="Elements that fill up the last block are neutral. The blocks are combined likewise: "
    "by induction. " + _MONOID,
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from _cumulative(sizes, wrong)


@claim(
    "window-as-slices",
    conditions="windows of at most 64 elements along an axis, without gaps in the input",
    wrong="the second part begins one element later",
    argument="Axes are combined one after the other. " + _MONOID,
    bounds="1 to 64 elements of a window along an axis",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, m, p, u, t = sizes.several("n m p u t")
    stride, dilation = z3.Int("stride"), z3.Int("dilation")
    x = array("x", n=n, m=m)
    # Two axes: the second one is combined after the first.
    first = summed(windows(x, p, t, stride, dilation), "t").renamed(m="n", p="o")
    second = summed(windows(first, u, t, stride, dilation), "t")
    seen = windows(x, p, t, stride, dilation).renamed(m="n", p="o", t="s")
    yield Equation(summed(windows(seen, u, t, stride, dilation), "s", "t"), second)
    x = array("y", n=n)
    for taps in range(1, 65):
        seen = windows(x, p, size_of(taps), stride, dilation)
        yield Equation(summed(seen, "t"), _by_slices(x, p, taps, stride, dilation, wrong))


def _by_slices(
    x: Array, positions: Size, taps: int, stride: Formula, dilation: Formula, wrong: bool
) -> Array:
    """Returns the sums of windows by slices: of 1, 2, 4, ... elements if there are more than 8."""

    def part(of: Array, offset: int) -> Array:
        return cut(of, "n", (offset + wrong if offset else 0) * dilation, positions, stride)

    if taps <= 8:
        total = part(x, 0)
        for tap in range(1, taps):
            total = total + part(x, tap)
        return total.renamed(n="p")
    powers = [x]
    while 2 ** len(powers) <= taps:
        half, count = powers[-1], 2 ** (len(powers) - 1)
        shifted = half.indexed("n", half.axes["n"], lambda i, c=count: i["n"] + c * dilation)
        powers.append(half + shifted)
    total, done = None, 0
    for number in reversed(range(len(powers))):
        count = 2**number
        if done + count > taps:
            continue
        piece = part(powers[number], done)
        total = piece if total is None else total + piece
        done += count
    assert total is not None
    return total.renamed(n="p")
