"""Claims of the rules for loops.

A loop is determined by its initial state and by what an iteration makes of a state. A body is any
function here. What a rule moves out of a loop is an array with one more axis ``i``, of the
iterations; where it runs through rows from the end, the last iteration comes first there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.language import Array, Indices, array, dot, integers, pointwise, summed
from tests.proofs.prover import Equation, Lemma, Sizes, Statement
from tests.proofs.sums import Formula, Number, Size, number, total

Row = Callable[[Formula], Formula]
"""The row of an array that an iteration reads, by its number."""


def _stacked(x: Array, trips: Size, row: Row) -> Array:
    """Returns the rows of an array that iterations read, along the axis ``i``."""
    axes = {name: size for name, size in x.axes.items() if name != "n"} | {"i": trips}
    return Array(axes, lambda q: x.at({**q, "n": row(q["i"])}))


def _ordered(trips: Size, reverse: bool) -> Row:
    """Returns the place of an iteration, and the iteration at a place: the map inverts itself."""
    return (lambda i: trips.length - 1 - i) if reverse else (lambda i: i)


def _read_by_number(stack: Array, trips: Size, reverse: bool) -> Array:
    """Returns what iterations read of a stack."""
    place = _ordered(trips, reverse)
    return stack.indexed("i", trips, lambda q: place(q["i"]))


def _rows(trips: Size, wrong: bool) -> Iterator[tuple[Row, Row, bool]]:
    """Yields which row an iteration reads, which the batch has at a place, and whether reversed."""
    base, stride = z3.Ints("base stride")
    last = trips.length - 1
    for backwards in (False, True):
        for reverse in (False, True):
            # The slice begins at the least row. It is reversed unless it has the stack's order.
            least = base - stride * last if backwards else base
            place = _ordered(trips, backwards != reverse and not wrong)
            yield (
                (lambda i: base - stride * i) if backwards else (lambda i: base + stride * i),
                lambda i, least=least, place=place: least + stride * place(i),
                reverse,
            )


@claim(
    "hoist-projection",
    conditions="an operand of the product is the same in all iterations; the other one depends on "
    "the number of the iteration alone",
    wrong="rows that a loop reads from the end are stacked from the start",
    argument="Products are functions of their operands, so that the body computes the same with "
    "what it reads of the stack.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    trips, n, b, r, k, j = sizes.several("i n b r k j")
    p, t, c = sizes.several("p t c")
    for row, batched, reverse in _rows(trips, wrong):
        # The rows on the left, on the right, and of both operands; further axes are any.
        x = array("x", n=n, b=b, r=r, k=k)
        w = array("w", b=b, k=k, j=j)
        own, stack = _stacked(x, trips, row), _stacked(x, trips, batched)
        yield Equation(dot(own, w, "k"), _read_by_number(dot(stack, w, "k"), trips, reverse))
        # Iterations join the batch of a convolution.
        kernel, image = array("kernel", t=t, c=c, j=j), array("image", n=n, b=b, m=k, c=c)
        own, stack = _stacked(image, trips, row), _stacked(image, trips, batched)
        yield Equation(
            dot(_windows(own, p, t), kernel, "c", "t"),
            _read_by_number(dot(_windows(stack, p, t), kernel, "c", "t"), trips, reverse),
        )


def _windows(rows: Array, places: Size, taps: Size) -> Array:
    """Returns the windows of a convolution: any map of positions and taps to elements."""
    position, size = integers("position", "p", "t"), rows.axes["m"].length
    axes = {name: size for name, size in rows.axes.items() if name != "m"}

    def at(q: Indices) -> Number:
        inside = z3.And(position(q) >= 0, position(q) < size)
        return rows.at({**q, "m": position(q)}).where(inside)

    return Array({**axes, "p": places, "t": taps}, at)


@claim(
    "hoist-iterations",
    conditions="what moves depends on the number of the iteration alone",
    wrong="rows that a loop reads from the end are stacked from the start",
    argument="Each operation of the batch acts on the elements of one iteration as the body's "
    "does: pointwise operations, sums, products of two stacks, what the loop counts, and, by "
    "induction over its iterations, an inner loop.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    trips, n, k, r, j = sizes.several("i n k r j")
    x, y = array("x", n=n, r=r, k=k), array("y", n=n, k=k, j=j)
    same = array("same", k=k)
    slope, start = z3.Ints("slope start")
    for row, batched, reverse in _rows(trips, wrong):
        own, stack = _stacked(x, trips, row), _stacked(x, trips, batched)
        others, other_stack = _stacked(y, trips, row), _stacked(y, trips, batched)
        for body, outside in (
            (pointwise("f", own, same), pointwise("f", stack, same)),
            (summed(own, "k"), summed(stack, "k")),
            (dot(own, others, "k"), dot(stack, other_stack, "k")),
        ):
            yield Equation(body, _read_by_number(outside, trips, reverse))
        # What the loop counts: an iota with factor and offset, reversed as a whole.
        counts = Array({"i": trips}, lambda q: number(start + slope * q["i"]))
        stack = counts.indexed(
            "i", trips, lambda q, reverse=reverse: _ordered(trips, reverse)(q["i"])
        )
        yield Equation(counts, _read_by_number(stack, trips, reverse))


@claim(
    "hoist-rearrangement",
    conditions="no iteration changes what is rearranged; how many there are need not be known",
    wrong="an iteration may change it",
    argument="By induction over the iterations: the weights are the initial ones, and what the "
    "loop keeps is these rearranged. So the states are the same, and the condition, which is any "
    "function of them, ends both loops alike.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    states, weights, arrays = (z3.DeclareSort(name) for name in ("State", "Weights", "Array"))
    rearrange = z3.Function("rearrange", weights, arrays)
    step = z3.Function("step", states, weights, arrays, states)
    goes_on = z3.Function("goes_on", states, weights, z3.BoolSort())
    change = z3.Function("change", states, weights, weights)
    state, other = z3.Consts("state other", states)
    initial, weight, other_weight = z3.Consts("initial weight other_weight", weights)
    kept = z3.Const("kept", arrays)

    def invariant(*of: Formula) -> Formula:
        state, other, weight, other_weight, kept = of
        return z3.And(
            state == other, weight == initial, other_weight == initial, kept == rearrange(initial)
        )

    holds = invariant(state, other, weight, other_weight, kept)
    yield Lemma(invariant(state, state, initial, initial, rearrange(initial)))
    yield Lemma(goes_on(state, weight) == goes_on(other, other_weight), (holds,))
    yield Lemma(
        invariant(
            step(state, weight, rearrange(weight)),
            step(other, other_weight, kept),
            change(state, weight) if wrong else weight,
            change(other, other_weight) if wrong else other_weight,
            kept,
        ),
        (holds,),
    )


@claim(
    "sink-projection",
    conditions="iteration i writes row i, or the i-th from the end, of an array that nothing else "
    "uses; a factor of the product is the same in all iterations",
    wrong="the rows are kept in the order of the loop though it writes them from the end",
    argument="An array that a loop writes row by row has at each row what the one iteration that "
    "writes it has computed: each row is written once.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    trips, b, r, k, j = sizes.several("i b r k j")
    rows = array("rows", i=trips, b=b, r=r, k=k)  # what iterations compute
    w = array("w", b=b, k=k, j=j)
    for reverse in (False, True):
        yield Equation(
            _written(dot(rows, w, "k"), trips, reverse),
            dot(_written(rows, trips, reverse and not wrong), w, "k"),
        )
        # What follows the product, with the row that is there instead of a sum over iterations.
        yield Equation(
            _written(rows, trips, reverse), _read_by_number(rows, trips, reverse and not wrong)
        )
        yield Equation(
            _read_by_number(pointwise("f", dot(rows, w, "k")), trips, reverse),
            pointwise("f", dot(_read_by_number(rows, trips, reverse), w, "k")),
        )


def _written(computed: Array, trips: Size, reverse: bool) -> Array:
    """Returns an array of rows, each written by the iteration that has its number."""

    def at(q: Indices) -> Number:
        writer = _ordered(trips, reverse)(q["i"])
        return total(trips, lambda i: computed.at({**q, "i": i}).where(i == writer))

    return Array(computed.axes, at)


@claim(
    "sink-accumulation",
    conditions="each iteration adds a product, or what sums, slices and rearrangements make of it, "
    "to an element that nothing else uses",
    wrong="the factors are kept in different orders",
    argument="By induction over the iterations, the element is its initial value and the sum of "
    "the terms so far. A sum of products is one product that sums over the iterations, too; slices "
    "and sums of a sum are the sum of theirs.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    trips, b, r, k, j = sizes.several("i b r k j")
    x, y = array("x", i=trips, b=b, r=r, k=k), array("y", i=trips, b=b, k=k, j=j)
    terms = dot(x, y, "k")
    initial = array("initial", b=b, r=r, j=j)
    for reverse in (False, True):
        kept = _written(x, trips, reverse), _written(y, trips, reverse != wrong)
        yield Equation(initial + summed(terms, "i"), initial + dot(*kept, "i", "k"))
    # A slice or rearrangement is any map of indices.
    place, size = integers("place", "q"), sizes("q")

    def moved(array: Array) -> Array:
        axes = {name: size for name, size in array.axes.items() if name != "r"} | {"q": size}
        return Array(axes, lambda q: array.at({**q, "r": place(q)}))

    yield Equation(summed(moved(terms), "i"), moved(dot(x, y, "i", "k")))
    yield Equation(summed(summed(terms, "r"), "i"), summed(dot(x, y, "i", "k"), "r"))
    yield _next_sum(trips, terms)


def _next_sum(trips: Size, terms: Array) -> Statement:
    """Returns that the sum up to an iteration is the sum before it and the iteration's term."""

    def sums(inclusive: bool) -> Array:
        def at(q: Indices) -> Number:
            def term(i: Formula) -> Number:
                return terms.at({**q, "i": i}).where(i <= q["i"] if inclusive else i < q["i"])

            return total(trips, term)

        return Array(terms.axes, at)

    return Equation(sums(True), sums(False) + terms, pivots=True)
