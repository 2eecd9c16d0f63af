"""Claims of the rules about gathers, slices, one-hot arrays and stored values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.language import (
    Array,
    Indices,
    array,
    constant,
    cut,
    dot,
    integers,
    pointwise,
    reverse,
    summed,
)
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Formula, Size

Place = Callable[[Indices], Formula]


def between(value: Formula, low: Formula, high: Formula) -> Formula:
    """Returns a value that XLA has clamped: the bound that it exceeds."""
    return z3.If(value < low, low, z3.If(value > high, high, value))


def clamped(name: str, axis: str, size: Size) -> Place:
    """Returns positions in an axis of that size, as a gather clamps any integers."""
    place = integers(name, axis)
    return lambda i: between(place(i), 0, size.length - 1)


def _inside(label: Formula, size: Size) -> Formula:
    return z3.And(label >= 0, label < size.length)


def _one_hot(label: Place, **axes: Size) -> Array:
    """Returns ones where the label is the index along ``n``."""
    return constant(1).where(lambda i: label(i) == i["n"], **axes)


def _or_first(label: Formula, size: Size) -> Formula:
    """Returns the label, or 0 if there is no such class."""
    return z3.If(_inside(label, size), label, 0)


_IDENTITY = (
    "Rows gathered from an identity matrix are one-hot rows of labels clamped to the classes."
)


@claim(
    "one-hot-as-gather",
    conditions="the dot contracts the classes only",
    wrong="labels out of range take the first row",
    argument=_IDENTITY,
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, i, n, j = sizes("b"), sizes("i"), sizes("n", 1), sizes("j")
    label = integers("label", "b", "i")
    w = array("w", b=b, n=n, j=j)
    rows = Array({"b": b, "i": i, "j": j}, lambda q: w.at({**q, "n": _or_first(label(q), n)}))
    kept = rows if wrong else rows.where(lambda q: _inside(label(q), n))
    yield Equation(dot(_one_hot(label, b=b, i=i, n=n), w, "n"), kept)


@claim(
    "one-hot-as-scatter",
    conditions="the classes are the free dimension of their operand",
    wrong="labels out of range are added to the first class",
    argument="A scatter by addition is the sum over all updates whose index is the element's. "
    + _IDENTITY,
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, k, n, j = sizes("b"), sizes("k"), sizes("n", 1), sizes("j")
    label = integers("label", "b", "k")
    x = array("x", b=b, k=k, j=j)

    def target(q: Indices) -> Formula:
        # The index of a label that is out of range is that of no element.
        return z3.If(_inside(label(q), n), label(q), 0 if wrong else n.length)

    scattered = summed(x.where(lambda q: target(q) == q["n"], n=n), "k")
    yield Equation(dot(_one_hot(label, b=b, k=k, n=n), x, "k"), scattered)


@claim(
    "one-hot-sum-as-gather",
    conditions="the sum is over the classes",
    wrong="labels out of range take the first element",
    argument=_IDENTITY,
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i, n = sizes("i"), sizes("n", 1)
    label = integers("label", "i")
    x = array("x", i=i, n=n)
    taken = Array({"i": i}, lambda q: x.at({**q, "n": _or_first(label(q), n)}))
    kept = taken if wrong else taken.where(lambda q: _inside(label(q), n))
    yield Equation(summed(_one_hot(label, i=i, n=n) * x, "n"), kept)


@claim(
    "pointwise-before-gather",
    conditions="all operands are gathers of the same rows, or the same for all rows",
    wrong="operands gathered at different rows",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, i, k = sizes("n", 2), sizes("i"), sizes("k")
    x, y, z = array("x", n=n, k=k), array("y", n=n, k=k), array("z", k=k)
    place, other = clamped("place", "i", n), clamped("other", "i", n)

    def rows(table: Array, places: Place) -> Array:
        axes = {axis: size for axis, size in table.axes.items() if axis != "n"}
        return Array({**axes, "i": i}, lambda q: table.at({**q, "n": places(q)}))

    after = pointwise("f", rows(x, place), rows(y, other if wrong else place), z)
    yield Equation(after, rows(pointwise("f", x, y, z), place))


@claim(
    "gather-at-constant-as-slice",
    conditions="one position, which is known",
    wrong="the position is not clamped",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, w, k = sizes("n", 3), sizes("w", 1), sizes("k")
    start = z3.Int("start")
    x = array("x", n=n, k=k)
    fits = (w.length <= n.length,)
    known = between(start, 0, n.length - w.length)
    gathered = x.indexed("n", w, lambda i: known + i["n"])
    yield Equation(gathered, cut(x, "n", start if wrong else known, w), where=fits)


@claim(
    "gather-as-slices",
    conditions="known positions in at most 16 pieces of one step each, perhaps in a pattern that "
    "is repeated, each time so far on",
    wrong="a reversed slice that ends one element too far",
    argument="The result is the concatenation of the pieces. Positions out of bounds are clamped "
    "while they are computed.",
    bounds="1 to 4 elements of a piece in a repeated pattern; all else any numbers",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, k, count = sizes("n"), sizes("k"), sizes("count", 1)
    start, step = z3.Int("start"), z3.Int("step")
    x = array("x", n=n, k=k)
    taken = x.indexed("n", count, lambda i: start + step * i["n"])
    yield Equation(taken, cut(x, "n", start, count, step), where=(step > 0,))
    reach = (count.length - 1) * -step + (1 if wrong else 0)
    back = reverse(cut(x, "n", start - reach, count, -step), "n")
    yield Equation(taken, back, where=(step < 0,))
    one = cut(x, "n", start, 1).without("n", 0)
    yield Equation(taken, Array({"n": count, "k": k}, one.at), where=(step == 0,))
    rows = sizes("rows")
    base, width, row = z3.Int("base"), z3.Int("width"), z3.Int("row")
    in_rows = Array({"k": k}, lambda i: x.at({**i, "n": base + i["r"] * width + i["c"]}))
    for period in range(1, 5):
        pattern = x.indexed(
            "n",
            rows.blocks_of(period),
            lambda i, p=period: base + (row + i["n"] / p) * width + start + step * (i["n"] % p),
        )
        piece = Array(
            {"n": rows.blocks_of(period), "k": k},
            lambda i, p=period: in_rows.at(
                {**i, "r": row + i["n"] / p, "c": start + step * (i["n"] % p)}
            ),
        )
        yield Equation(pattern, piece)


@claim(
    "slice-of-dynamic-slice",
    conditions="the dynamic slice takes all that there is along dimensions that the slice cuts",
    wrong="along a dimension of which the dynamic slice takes a part",
    argument="What is between them is any pointwise function.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, m, k, w = sizes("n", 3), sizes("m", 1), sizes("k", 1), sizes("w", 1)
    i, j, start = z3.Int("i"), z3.Int("j"), z3.Int("start")
    x, y = array("x", n=n, k=k), array("y", m=m, k=k)
    taken = sizes("taken", 1) if wrong else k  # elements of the dynamic slice along k
    where = (m.length <= n.length, taken.length <= k.length, start >= 0)
    where = (*where, start + w.length <= taken.length)

    def read(row: Formula, column: Formula, columns: Size) -> Array:
        first = between(row, 0, n.length - m.length)
        second = between(column, 0, k.length - columns.length)
        return Array(
            {"m": m, "k": columns},
            lambda q: x.at({"n": first + q["m"], "k": second + q["k"]}),
        )

    whole = pointwise("f", read(i, j, taken), cut(y, "k", 0, taken))
    part = pointwise("f", read(i, start, w), cut(y, "k", start, w))
    yield Equation(cut(whole, "k", start, w), part, where=where)


@claim(
    "stored-gather-table",
    conditions="a pointwise operation that a gather reads",
    wrong="the value of another element",
    argument="The value is computed by a computation that is called: the same operations.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, i = sizes("n", 2), sizes("i")
    x, place = array("x", n=n), clamped("place", "i", n)
    stored = pointwise("f", x)
    table = reverse(stored, "n") if wrong else stored
    yield Equation(
        Array({"i": i}, lambda q: pointwise("f", x).at({"n": place(q)})),
        Array({"i": i}, lambda q: table.at({"n": place(q)})),
    )


@claim(
    "stored-repeated-sine",
    conditions="a sine, cosine or tangent that is broadcast",
    wrong="the value of another element",
    argument="The value is computed by a computation that is called: the same operations.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, i = sizes("n", 2), sizes("i")
    x = array("x", n=n)
    stored = pointwise("sine", reverse(x, "n") if wrong else x)
    repeated = Array({"i": i, "n": n}, x.at)
    yield Equation(pointwise("sine", repeated), Array({"i": i, "n": n}, stored.at))


@claim(
    "stored-shared-sum",
    conditions="a cheap elementwise operation that reads twelve arrays, for two users",
    wrong="the value of another element",
    argument="The value is computed by a computation that is called: the same operations.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n = sizes("n", 2)
    value = array("a", n=n)
    for name in "bcdefghijkl":
        value = value + array(name, n=n)
    stored = reverse(value, "n") if wrong else value
    yield Equation(pointwise("f", value), pointwise("f", stored))
    yield Equation(pointwise("g", value), pointwise("g", stored))
