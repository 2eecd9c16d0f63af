"""Claims of the graph rules: products of sums and concatenations, scales, and pointwise operations.

The window of a convolution is any map from positions of the result and taps to positions of the
input, some of them in the padding. So these proofs hold for all strides, paddings, dilations and
reversals at once. Groups of features are a batch axis of both operands, as in a dot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import z3

from tests.proofs.claim import claim
from tests.proofs.language import (
    Array,
    Indices,
    array,
    concatenate,
    dot,
    integers,
    pointwise,
)
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Size

Product = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Operands:
    """The sizes of the axes of a product, and the product.

    Attributes:
        left: Sizes of the left operand: a batch axis ``b``, a free one ``i``, and contracted ones.
        right: Sizes of the right operand: ``b``, contracted ones, and a free one ``j``.
        multiply: The product.
    """

    left: dict[str, Size]
    right: dict[str, Size]
    multiply: Product


def dots(sizes: Sizes) -> Operands:
    """Returns a dot of any number of batch, free and contracted dimensions."""
    b, i, k, j = sizes.several("b i k j")
    return Operands({"b": b, "i": i, "k": k}, {"b": b, "k": k, "j": j}, lambda x, w: dot(x, w, "k"))


def convolutions(sizes: Sizes) -> Operands:
    """Returns a convolution of any window: ``i`` is the batch, ``j`` the output feature."""
    b, i, c, j, n, t, p = sizes.several("b i c j n t p")
    position = integers("position", "p", "t")

    def convolve(x: Array, k: Array) -> Array:
        # Positions outside of the input are padding.
        windows = Array(
            {**{axis: size for axis, size in x.axes.items() if axis != "n"}, "p": p, "t": t},
            lambda q: x.at({**q, "n": position(q)}).where(_within(position(q), n)),
        )
        return dot(windows, k, "c", "t")

    return Operands({"b": b, "i": i, "c": c, "n": n}, {"b": b, "c": c, "t": t, "j": j}, convolve)


_KINDS = {"dot": dots, "convolution": convolutions}


def _within(index: object, size: Size) -> object:
    return z3.And(index >= 0, index < size.length)


def _of_both(kind: str) -> Callable[[Sizes], Operands]:
    return _KINDS[kind]


@claim(
    "factor-products",
    wrong="the factor of one product only",
    conditions="one factor of both products is the same",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    i = sizes("i")
    a, b, c, d = (array(name, i=i) for name in "abcd")
    for sign in (1, -1):
        yield Equation(a * c + b * c * sign, (a + b * sign) * (d if wrong else c))


def _signed(x: Array, y: Array, sign: int) -> Array:
    return x + y if sign > 0 else x - y


def _register_products(kind: str) -> None:
    operands = _of_both(kind)
    plural = f"{kind}s"

    @claim(
        f"factor-{plural}",
        conditions="the products differ in one operand only",
        wrong="a difference becomes a sum",
    )
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        of = operands(sizes)
        x, y, w = array("x", **of.left), array("y", **of.left), array("w", **of.right)
        v = array("v", **of.right)
        for sign in (1, -1):
            other = 1 if wrong else sign
            terms = _signed(of.multiply(x, w), of.multiply(y, w), sign)
            yield Equation(terms, of.multiply(_signed(x, y, other), w))
            terms = _signed(of.multiply(x, w), of.multiply(x, v), sign)
            yield Equation(terms, of.multiply(x, _signed(w, v, other)))

    @claim(
        f"distribute-{kind}",
        conditions="an operand is a sum or a difference",
        wrong="the second term keeps its sign",
    )
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        of = operands(sizes)
        x, y, w = array("x", **of.left), array("y", **of.left), array("w", **of.right)
        v = array("v", **of.right)
        for sign in (1, -1):
            other = 1 if wrong else sign
            terms = _signed(of.multiply(x, w), of.multiply(y, w), other)
            yield Equation(of.multiply(_signed(x, y, sign), w), terms)
            terms = _signed(of.multiply(x, w), of.multiply(x, v), other)
            yield Equation(of.multiply(x, _signed(w, v, sign)), terms)

    def scaled(sizes: Sizes, wrong: bool) -> Iterator[tuple[Array, Array]]:
        """Yields products with a scale on the operand, and on the result."""
        of = operands(sizes)
        x, w = array("x", **of.left), array("w", **of.right)
        for axes in ({}, {"b": of.right["b"]}, {"b": of.right["b"], "j": of.right["j"]}):
            s = array("s", **axes)
            other = array("r", **axes) if wrong else s
            yield of.multiply(x, w * s), of.multiply(x, w) * other
        for axes in ({}, {"b": of.left["b"], "i": of.left["i"]}):
            s = array("s", **axes)
            other = array("r", **axes) if wrong else s
            yield of.multiply(x * s, w), of.multiply(x, w) * other

    conditions = "the scale is constant along what the product sums over"

    @claim(f"scale-operand:{kind}", conditions=conditions, wrong="another scale")
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        for operand, result in scaled(sizes, wrong):
            yield Equation(result, operand)

    @claim(f"scale-result:{kind}", conditions=conditions, wrong="another scale")
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        for operand, result in scaled(sizes, wrong):
            yield Equation(operand, result)

    def joined(sizes: Sizes, wrong: bool, left: bool) -> Iterator[tuple[Array, Array, Size, str]]:
        """Yields the concatenation of two products, and the product of the concatenation.

        Along each free axis, and along the batch axis with both operands joined nowhere else.
        """
        of = operands(sizes)
        axis = "i" if left else "j"
        more = sizes("m")
        own, rest = (of.left, of.right) if left else (of.right, of.left)
        x, y = array("x", **own), array("y", **{**own, axis: more})
        other = array("w", **rest)

        def multiply(part: Array) -> Array:
            return of.multiply(part, other) if left else of.multiply(other, part)

        parts = concatenate(axis, multiply(x), multiply(y))
        order = (y, x) if wrong else (x, y)
        yield parts, multiply(concatenate(axis, *order)), own[axis], axis

    what = {True: "the right operands are the same", False: "the left operands are the same"}

    @claim(
        f"split-{kind}",
        conditions="an operand is a concatenation along a dimension of the result",
        wrong="the parts in another order",
    )
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        for left in (True, False):
            for parts, whole, _, _ in joined(sizes, wrong, left):
                yield Equation(whole, parts)

    @claim(
        f"join-{plural}",
        conditions="the products that are concatenated differ in one operand only, along a "
        "dimension of the result",
        wrong="the parts in another order",
    )
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        for left in (True, False):
            for parts, whole, _, _ in joined(sizes, wrong, left):
                yield Equation(parts, whole)

    names = {"dot": ("rhs", "lhs"), "convolution": ("kernel", "input")}[kind]
    for name, left in zip(names, (True, False), strict=True):

        @claim(
            f"merge-{plural}:{name}",
            conditions=f"{what[left]}; neither product depends on the other",
            wrong="the slices of the other product",
        )
        def _(sizes: Sizes, wrong: bool, left: bool = left) -> Iterator[Statement]:
            for parts, whole, size, axis in joined(sizes, wrong, left):
                # Both sides are cut where the first product ends.
                yield Equation(_first(parts, axis, size), _first(whole, axis, size))
                yield Equation(_rest(parts, axis, size), _rest(whole, axis, size))


def _first(x: Array, axis: str, size: Size) -> Array:
    return x.indexed(axis, size, lambda i: i[axis])


def _rest(x: Array, axis: str, size: Size) -> Array:
    rest = Size(x.axes[axis].parts[len(size.parts) :])
    return x.indexed(axis, rest, lambda i: i[axis] + size.length)


for _kind in _KINDS:
    _register_products(_kind)


@claim(
    "join-contractions",
    conditions="the results have one shape",
    wrong="the right operands in another order",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, i, k, j = sizes.several("b i k j")
    m = k if wrong else sizes("m")
    x, y = array("x", b=b, i=i, k=k), array("y", b=b, i=i, k=m)
    v, w = array("v", b=b, k=k, j=j), array("w", b=b, k=m, j=j)
    right = (w, v) if wrong else (v, w)
    yield Equation(
        dot(x, v, "k") + dot(y, w, "k"),
        dot(concatenate("k", x, y), concatenate("k", *right), "k"),
    )


def _associated(sizes: Sizes, wrong: bool) -> tuple[Array, Array]:
    """Returns a product of three matrices, the first two, and the last two, multiplied first."""
    b, i, k, m, j = sizes.several("b i k m j")
    x, v, w = array("x", b=b, i=i, k=k), array("v", b=b, k=k, m=m), array("w", b=b, m=m, j=j)
    other = array("u", b=b, m=m, j=j) if wrong else w
    return dot(dot(x, v, "k"), w, "m"), dot(x, dot(v, other, "m"), "k")


@claim(
    "reassociate-dots:right",
    "reassociate-dots:left",
    conditions="what the dots sum over are dimensions of different operands",
    wrong="another last matrix",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield Equation(*_associated(sizes, wrong))


def _pointwise_parts(sizes: Sizes, wrong: bool) -> tuple[Array, Array]:
    """Returns a function of concatenations, and the concatenation of the functions of the parts."""
    i, n = sizes.several("i n")
    m = n if wrong else sizes("m")
    a, c = array("a", i=i, n=n), array("c", i=i, n=n)
    b, d = array("b", i=i, n=m), array("d", i=i, n=m)
    whole = pointwise("f", concatenate("n", a, b), concatenate("n", c, d))
    second, third = (d, c) if wrong else (c, d)
    return whole, concatenate("n", pointwise("f", a, second), pointwise("f", b, third))


@claim(
    "split-pointwise",
    conditions="the operands are concatenations of the same sizes, or the same everywhere",
    wrong="the parts of one operand in another order",
)
@claim(
    "join-pointwise",
    conditions="all parts are the same operation",
    wrong="the parts of one operand in another order",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield Equation(*_pointwise_parts(sizes, wrong))


def _rearranged(sizes: Sizes, wrong: bool) -> tuple[Array, Array]:
    """Returns a function of rearranged operands, and the rearranged function of the operands.

    A transpose or reshape is any map from the indices of the result to those of the operand.
    """
    i, n = sizes.several("i n")
    x, y = array("x", i=i), array("y", i=i)
    place, other = integers("place", "n"), integers("other", "n")

    def rearranged(operand: Array, places: Callable[[Indices], object]) -> Array:
        return Array({"n": n}, lambda q: operand.at({"i": places(q)}))

    operands = pointwise("f", rearranged(x, place), rearranged(y, other if wrong else place))
    return operands, rearranged(pointwise("f", x, y), place)


@claim(
    "rearrange-result",
    conditions="all operands are rearranged alike, or are the same everywhere",
    wrong="an operand that is rearranged otherwise",
)
@claim(
    "rearrange-operands",
    conditions="a transpose or reshape of a pointwise operation",
    wrong="an operand that is rearranged otherwise",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield Equation(*_rearranged(sizes, wrong))
