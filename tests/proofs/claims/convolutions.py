"""Claims of the rules that compute convolutions as products, dots and slices.

An axis of a convolution is a sum over taps of ``input[position * stride + tap * dilation]``, where
the input is padded, and has gaps between its elements. Where a rule pads the input as the
convolution does, the padded input is any array, so that all paddings, gaps and negative paddings
are covered.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.language import Array, array, cut, dot, reverse, summed
from tests.proofs.prover import Equation, Sizes, Statement
from tests.proofs.sums import Formula, Size, size_of


def windows(
    x: Array, positions: Size, taps: Size, stride: Formula, dilation: Formula, back: bool = False
) -> Array:
    """Returns what each tap meets at each position: axes ``p`` and ``t`` in place of ``n``.

    Args:
        x: The padded input.
        positions: Number of positions.
        taps: Number of taps.
        stride: Step between positions.
        dilation: Step between taps.
        back: True if the window is reversed.
    """
    axes = {axis: size for axis, size in x.axes.items() if axis != "n"}

    def place(p: Formula, t: Formula) -> Formula:
        tap = taps.length - 1 - t if back else t
        return p * stride + tap * dilation

    return Array(
        {**axes, "p": positions, "t": taps}, lambda i: x.at({**i, "n": place(i["p"], i["t"])})
    )


def _steps() -> tuple[Formula, Formula]:
    """Returns any stride and dilation."""
    return z3.Int("stride"), z3.Int("dilation")


def _shifted(x: Array, positions: Size, offset: object, stride: Formula) -> Array:
    """Returns the slices of the padded input that begin at the offset of each tap ``t``."""
    axes = {axis: size for axis, size in x.axes.items() if axis != "n"}
    return Array(
        {**axes, "p": positions},
        lambda i: x.at({**i, "n": offset(i["t"]) + stride * i["p"]}),
    )


def _as_products(sizes: Sizes, wrong: bool, channels: bool) -> Iterator[Statement]:
    b, g, j, n, p = sizes.several("b g j n p")
    t = sizes("t", 1)
    stride, dilation = _steps()
    more = {"c": sizes("c")} if channels else {}
    x = array("x", b=b, g=g, n=n, **more)
    k = array("k", g=g, j=j, t=t, **more)
    for back in (False, True):

        def offset(tap: Formula, back: bool = back) -> Formula:
            return (t.length - 1 - tap if back != wrong else tap) * dilation

        left = dot(windows(x, p, t, stride, dilation, back), k, "t", *more)
        yield Equation(left, summed(_shifted(x, p, offset, stride) * k, *more, "t"))


@claim(
    "depthwise-as-products",
    conditions="one channel in each group; at most 80 taps",
    wrong="the taps in reverse order",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from _as_products(sizes, wrong, channels=False)


@claim(
    "grouped-as-products",
    conditions="at most 80 taps and channels of a group, 32 if there is one group",
    wrong="the taps in reverse order",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from _as_products(sizes, wrong, channels=True)


def _kernel_gradient(sizes: Sizes, wrong: bool, channels: bool) -> tuple[Array, Array, Array]:
    """Returns a gradient, and the padded input under the window of one position, with the change.

    The batch of this convolution are the channels ``c`` of groups ``g``; it sums over images ``m``.
    """
    g, m, j, n, p, t = sizes.several("g m j n p t")
    stride, dilation = _steps()
    more = {"c": sizes("c")} if channels else {}
    x = array("x", g=g, m=m, n=n, **more)
    change = array("change", g=g, m=m, j=j, t=t)
    under = Array(
        {**more, "g": g, "m": m, "p": p, "t": t},
        lambda i: x.at({**i, "n": i["p"] * (dilation if wrong else stride) + dilation * i["t"]}),
    )
    return dot(windows(x, p, t, stride, dilation), change, "m", "t"), under, change


@claim(
    "depthwise-gradient:kernel",
    conditions="one channel in each group; the window is not reversed; at most 64 positions",
    wrong="the windows at the wrong distance",
    argument="The slices for each position are concatenated, which is an array with that axis.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    gradient, under, change = _kernel_gradient(sizes, wrong, channels=False)
    yield Equation(gradient, summed(summed(under * change, "t"), "m"))


@claim(
    "grouped-gradient:kernel",
    "convolution-gradient:kernel",
    conditions="the window is not reversed; at most 64 positions of groups, 16 of one group",
    wrong="the windows at the wrong distance",
    argument="The dots for each position are concatenated, which is an array with that axis.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    gradient, under, change = _kernel_gradient(sizes, wrong, channels=True)
    yield Equation(gradient, dot(under, change, "m", "t"))


@claim(
    "convolution-as-dot",
    conditions="no groups, no gaps; each axis has one tap, or one position and no reversal",
    wrong="the stride is lost",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, c, j, n, m, p, t = sizes.several("b c j n m p t")
    stride, dilation = _steps()
    # Along `n` the window has one tap, along `m` one position.
    x = array("x", b=b, c=c, n=n, m=m)
    k = array("k", c=c, j=j, t=t)
    seen = Array(
        {"b": b, "c": c, "p": p, "t": t},
        lambda i: x.at({**i, "n": i["p"] * stride, "m": i["t"] * dilation}),
    )
    met = cut(x.renamed(n="p", m="t"), "p", 0, p, 1 if wrong else stride)
    yield Equation(dot(seen, k, "c", "t"), dot(cut(met, "t", 0, t, dilation), k, "c", "t"))


def _spread_at(x: Array, place: Formula, gaps: int, i: dict[str, Formula]) -> object:
    """Returns the element at a place of the input with gaps, 0 in the gaps and outside."""
    size = x.axes["n"].length
    inside = z3.And(place % gaps == 0, place >= 0, place / gaps < size)
    return x.at({**i, "n": place / gaps}).where(inside)


@claim(
    "transposed-convolution-as-phases",
    conditions="no stride where there are gaps, no groups of the batch",
    wrong="a phase begins one element later",
    argument="The phases are interleaved: position `gaps * r + phase` is element r of its phase.",
    bounds="2 or 3 gaps, dilation 1 or 2, 1 or 3 taps along an axis; any sizes and padding",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, c, j, n, r = sizes.several("b c j n r")
    shift = z3.Int("shift")
    x = array("x", b=b, c=c, n=n)
    for gaps in (2, 3):
        for dilation in (1, 2):
            for taps in (1, 3):
                k = array("k", c=c, j=j, t=size_of(taps))
                for low in range(gaps):
                    for phase in range(gaps):
                        whole = _phase_of_whole(x, r, taps, gaps, dilation, low, shift, phase)
                        part = _phase(x, r, taps, gaps, dilation, low, shift, phase, wrong)
                        right = _zeros(b, j, r)
                        if part is not None:
                            step, first, seen = part
                            own = cut(k, "t", first, seen.axes["t"], step)
                            right = dot(seen, own, "c", "t")
                        yield Equation(dot(whole, k, "c", "t"), right)


def _zeros(b: Size, j: Size, r: Size) -> Array:
    from tests.proofs.language import constant

    return Array({"b": b, "j": j, "r": r}, constant(0).at)


def _phase_of_whole(
    x: Array, r: Size, taps: int, gaps: int, dilation: int, low: int, shift: Formula, phase: int
) -> Array:
    """Returns what the taps of the convolution meet at the positions of a phase."""
    axes = {axis: size for axis, size in x.axes.items() if axis != "n"}

    def at(i: dict[str, Formula]) -> object:
        place = gaps * i["r"] + phase + i["t"] * dilation - (gaps * shift + low)
        return _spread_at(x, place, gaps, i)

    return Array({**axes, "r": r, "t": size_of(taps)}, at)


def _phase(
    x: Array,
    r: Size,
    taps: int,
    gaps: int,
    dilation: int,
    low: int,
    shift: Formula,
    phase: int,
    wrong: bool,
) -> tuple[int, int, Array] | None:
    """Returns the step of the taps of a phase, the first one, and what they meet; see FindPhase."""
    from math import gcd

    common = gcd(dilation, gaps)
    step, own_dilation = gaps // common, dilation // common
    for first in range(min(step, taps)):
        place = phase + first * dilation - low
        if place % gaps:
            continue
        start = place // gaps - shift + (1 if wrong else 0)
        count = (taps - first + step - 1) // step
        axes = {axis: size for axis, size in x.axes.items() if axis != "n"}
        size = x.axes["n"].length

        def at(i: dict[str, Formula], start: Formula = start, size: Formula = size) -> object:
            index = start + i["r"] + i["t"] * own_dilation
            return x.at({**i, "n": index}).where(z3.And(index >= 0, index < size))

        seen = Array({**axes, "r": r, "t": size_of(count)}, at)
        return step, first, seen
    return None


@claim(
    "convolution-gradient:input",
    conditions="no groups, no stride; each tap meets some of the input",
    wrong="the parts shifted the other way",
    bounds="1 to 3 gaps along an axis; any sizes, padding and dilation",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    b, c, j, n, p = sizes.several("b c j n p")
    t = sizes("t", 1)
    low, dilation = z3.Int("low"), z3.Int("dilation")
    x, stored = array("x", b=b, c=c, n=n), array("k", c=c, j=j, t=t)
    for gaps in (1, 2, 3):
        for reversed_kernel in (False, True):
            k = reverse(stored, "t") if reversed_kernel else stored

            def seen(i: dict[str, Formula], gaps: int = gaps) -> object:
                return _spread_at(x, i["p"] + i["t"] * dilation - low, gaps, i)

            met = Array({"b": b, "c": c, "p": p, "t": t}, seen)
            products = dot(x, stored, "c")  # of all elements with all taps

            def placed(
                i: dict[str, Formula],
                gaps: int = gaps,
                products: Array = products,
                turned: bool = reversed_kernel,
            ) -> object:
                shift = low - i["t"] * dilation
                tap = t.length - 1 - i["t"] if turned else i["t"]
                own = products.without("t", tap)
                return _spread_at(own, i["p"] + shift if wrong else i["p"] - shift, gaps, i)

            parts = Array({"b": b, "j": j, "p": p, "t": t}, placed)
            yield Equation(dot(met, k, "c", "t"), summed(parts, "t"))
