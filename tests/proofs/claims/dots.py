"""Claims of the rules that compute dots otherwise, and sums over broadcasts as dots."""

from __future__ import annotations

from collections.abc import Iterator

from tests.proofs.claim import claim
from tests.proofs.claims.indexing import clamped
from tests.proofs.language import Array, array, concatenate, cut, dot, pointwise, summed
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import size_of


@claim(
    "small-dot-as-sum",
    conditions="at most 64 contracted elements and 4,096 products",
    wrong="a batch axis of one operand is lost",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, i, k, j = sizes("b", 2), *sizes.several("i k j")
    x, w = array("x", b=b, i=i, k=k), array("w", b=b, k=k, j=j)
    spread = w.indexed("b", b, lambda n: 0) if wrong else w
    yield Equation(dot(x, w, "k"), summed(x * spread, "k"))


@claim(
    "short-dot-as-slices",
    conditions="one contracted dimension of at most 8 elements",
    wrong="the last slice is lost",
    bounds="1 to 8 contracted elements",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, i, j = sizes.several("b i j")
    for count in range(1, 9):
        k = size_of(count)
        x, w = array("x", b=b, i=i, k=k), array("w", b=b, k=k, j=j)
        total = x.without("k", 0) * w.without("k", 0)
        for number in range(1, count - wrong):
            total = total + x.without("k", number) * w.without("k", number)
        yield Equation(dot(x, w, "k"), total)


@claim(
    "dot-of-few-rows-swapped",
    conditions="no batch dimensions; at most 16 rows",
    wrong="the result is not transposed back",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i, k = sizes.several("i k")
    j = i if wrong else sizes("j")
    x, w = array("x", i=i, k=k), array("w", k=k, j=j)
    swapped = dot(w, x, "k")
    yield Equation(dot(x, w, "k"), swapped.renamed(i="j", j="i") if wrong else swapped)


@claim(
    "contraction-in-parts",
    conditions="no batch dimensions; a multiple of four contracted elements, which come first",
    wrong="the parts of one operand in another order",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i, m, j = sizes.several("i m j")
    k = 4 * m
    x, y = array("x", i=i, k=k), array("y", k=k, j=j)

    def in_parts(operand: Array, back: bool = False) -> Array:
        axes = {axis: size for axis, size in operand.axes.items() if axis != "k"}
        return Array(
            {**axes, "q": size_of(4), "m": m},
            lambda n: operand.at({**n, "k": (3 - n["q"] if back else n["q"]) * m.length + n["m"]}),
        )

    parts = dot(in_parts(x), in_parts(y, back=wrong), "m")
    yield Equation(dot(x, y, "k"), summed(parts, "q"))


@claim(
    "heads-in-one-dot",
    conditions="one row for each head; no product is NaN, or the dot as it was",
    wrong="the other head",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, h, r, e = sizes("b"), sizes("h", 2), sizes("r"), sizes("e")
    stored = array("stored", b=b, r=r, h=h, e=e)

    def same(x: Array) -> Array:
        """Returns an array of heads ``h`` and ``g`` that is zero where they differ."""
        distance = 1 if wrong else 0
        return x.where(lambda n: n["h"] + distance == n["g"], h=h, g=h)

    row = array("row", b=b, h=h, e=e)
    diagonal = same(row.renamed(h="h"))
    yield Equation(dot(row, stored, "e"), dot(diagonal, stored.renamed(h="g"), "g", "e"))
    row = array("weights", b=b, h=h, r=r)
    product = dot(row, stored.renamed(h="g"), "r")
    yield Equation(dot(row, stored, "r"), summed(same(product), "g"))


@claim(
    "distances-by-dot",
    conditions="a sum of squares of differences of broadcasts, at least 4 wide",
    wrong="the products once instead of twice",
    argument="The centre is any row of numbers.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, i, j, k = sizes.several("b i j k")
    x, c = array("x", b=b, i=i, k=k), array("c", b=b, j=j, k=k)
    centre = array("centre", b=b, k=k)
    difference, own, other = x - c, x - centre, c - centre
    norms = summed(own * own, "k") + summed(other * other, "k")
    yield Equation(
        summed(difference * difference, "k"), norms - dot(own, other, "k") * (1 if wrong else 2)
    )


@claim(
    "differences-by-dot",
    conditions="a sum of products of a weight with differences of broadcasts",
    wrong="the terms with the other sign",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, i, j, k = sizes.several("b i j k")
    x, c, g = array("x", b=b, i=i, k=k), array("c", b=b, j=j, k=k), array("g", b=b, i=i, j=j)
    terms = x * summed(g, "j"), dot(g, c, "j")
    first, second = terms[::-1] if wrong else terms
    yield Equation(summed(g * (x - c), "j"), first - second)


@claim(
    "short-sum-as-slices",
    conditions="a sum, maximum or minimum over one dimension of 2 to 16 elements, of a pointwise "
    "expression of broadcasts",
    wrong="a slice of one operand is taken twice",
    argument="Maxima and minima are commutative monoids, as sums are; the proof uses no more.",
    bounds="2 to 16 elements",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i, j = sizes.several("i j")
    for count in range(2, 17):
        x, y = array("x", i=i, k=size_of(count)), array("y", j=j, k=size_of(count))
        total = None
        for number in range(count):
            other = max(number - 1, 0) if wrong else number
            term = pointwise("f", x.without("k", number), y.without("k", other))
            total = term if total is None else total + term
        assert total is not None
        yield Equation(summed(pointwise("f", x, y), "k"), total)


@claim(
    "gather-after-dot",
    conditions="rows, alone or beside other columns, times a matrix; the positions are in bounds "
    "after clamping",
    wrong="the rows of the matrix of the other part",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, i, k, j = sizes("n", 1), *sizes.several("i k j")
    m = k if wrong else sizes("m")
    x, rest = array("x", n=n, k=k), array("rest", i=i, k=m)
    w = array("w", k=k + m, j=j)
    place = clamped("place", "i", n)
    rows = Array({"i": i, "k": k}, lambda q: x.at({**q, "n": place(q)}))
    first, second = cut(w, "k", 0, k), cut(w, "k", k.length, m)
    if wrong:
        first, second = second, first
    table = dot(x, first, "k")
    gathered = Array({"i": i, "j": j}, lambda q: table.at({**q, "n": place(q)}))
    yield Equation(dot(concatenate("k", rows, rest), w, "k"), gathered + dot(rest, second, "k"))
