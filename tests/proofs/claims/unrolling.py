"""Claims of the rules for unrolled loops, and for loops in place of cumulative windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import z3

from tests.proofs.claim import claim
from tests.proofs.instructions import Computation
from tests.proofs.language import Array, Indices, array
from tests.proofs.prover import Enumeration, Equation, Lemma, Sizes, Statement
from tests.proofs.rewritten import rewritten
from tests.proofs.sums import Formula, Number, total


def _loop_text(trips: int, start: int, step: int) -> str:
    """Returns a loop whose iterations take the hyperbolic tangent of a number."""
    return f"""HloModule loops
body {{
  carried = (s32[], f32[]) parameter(0)
  count = s32[] get-tuple-element(carried), index=0
  step = s32[] constant({step})
  next = s32[] add(count, step)
  x = f32[] get-tuple-element(carried), index=1
  y = f32[] tanh(x)
  ROOT result = (s32[], f32[]) tuple(next, y)
}}

more {{
  carried = (s32[], f32[]) parameter(0)
  count = s32[] get-tuple-element(carried), index=0
  limit = s32[] constant({start + step * trips - step + 1})
  ROOT less = pred[] compare(count, limit), direction=LT
}}

ENTRY main {{
  x = f32[] parameter(0)
  start = s32[] constant({start})
  initial = (s32[], f32[]) tuple(start, x)
  ROOT loop = (s32[], f32[]) while(initial), condition=more, body=body
}}"""


def _chain(computation: Computation, opcode: str) -> int:
    """Returns how many instructions follow each other, and are all there are of an opcode.

    Raises:
        AssertionError: They are no chain.
    """
    links = computation.all(opcode)
    for one, following in pairwise(links):
        assert following.operands[0] == one.name
    return len(links)


def _unrolled_alike(rule: str, factor: int) -> str | None:
    """Returns a loop that the rule runs another number of iterations of, if there is one."""
    for trips in range(2 * factor, 4 * factor) if factor else range(1, 17):
        for start, step in ((0, 1), (3, 2)):
            program = rewritten(rule, _loop_text(trips, start, step))
            after = _chain(program.main, "tanh")
            loops = program.main.all("while")
            if not factor:
                if loops or after != trips:
                    return f"{trips} iterations become {after}"
                continue
            (loop,) = loops
            condition = program.computations[loop.attributes["condition"]]
            (limit,) = condition.all("constant")
            span = int(limit.operands[0]) - start
            inside = _chain(program.computations[loop.attributes["body"]], "tanh")
            groups = -(-span // (step * inside))
            if inside != factor or groups * inside + after != trips:
                return f"{trips} iterations become {groups} times {inside} and {after}"
    return None


def _register_unrolling(name: str, factor: int) -> None:
    @claim(
        f"unroll-loop:{name}",
        conditions="the loop counts from a constant to a constant by a constant"
        + (f"; at least {2 * factor} iterations" if factor else "; at most 16 iterations"),
        wrong="the iterations that are no whole group are left out"
        if factor
        else "one is left out",
        argument="By induction over the groups of iterations: after g groups, the state is that "
        f"after {factor} g iterations."
        if factor
        else "All iterations follow each other.",
        bounds=f"the loops that the rule builds: {2 * factor} to {4 * factor - 1} iterations"
        if factor
        else "1 to 16 iterations, all that the rule unrolls",
    )
    def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
        states = z3.DeclareSort("State")
        iterate = z3.Function("iterate", states, states)
        after = z3.Function("after", z3.IntSort(), states)
        trips, g, start, step, limit, k = z3.Ints("trips g start step limit k")

        def follow(first: Formula, count: int) -> tuple[Formula, ...]:
            """Returns that iterations follow each other from a state on."""
            return tuple(after(first + i + 1) == iterate(after(first + i)) for i in range(count))

        def iterated(state: Formula, count: int) -> Formula:
            for _ in range(count):
                state = iterate(state)
            return state

        if not factor:
            for count in range(1, 17):
                taken = count - 1 if wrong else count
                yield Lemma(iterated(after(0), taken) == after(count), follow(z3.IntVal(0), count))
        else:
            yield Lemma(
                iterated(after(factor * g), factor) == after(factor * (g + 1)),
                follow(factor * g, factor),
            )
            for rest in range(factor):
                first = factor * g
                taken = 0 if wrong else rest
                yield Lemma(
                    iterated(after(first), taken) == after(trips),
                    (
                        z3.And(g == trips / factor, trips % factor == rest, trips >= 2 * factor),
                        *follow(first, rest),
                    ),
                )
            # The loop of groups ends after the whole ones: its limit is a multiple of the step.
            groups = trips / factor
            yield Lemma(
                (start + step * (factor * g) < start + step * (groups * factor)) == (g < groups),
                (step >= 1, trips >= 0, _increases(step, factor * g, factor * groups)),
            )
        if sizes.small or wrong:
            return
        # The number of iterations of the original loop.
        rounded = (limit - start + step - 1) / step
        yield Lemma(
            (start + step * k < limit) == (k < rounded),
            (step >= 1, start < limit, _divides(limit - start + step - 1, step, k)),
        )
        yield Enumeration(lambda: _unrolled_alike(f"unroll-loop:{name}", factor))


def _increases(factor: Formula, a: Formula, b: Formula) -> Formula:
    """Returns that products by a positive factor are ordered as what is multiplied."""
    return z3.And((a < b) == (factor * a < factor * b), (a == b) == (factor * a == factor * b))


def _divides(dividend: Formula, divisor: Formula, k: Formula) -> Formula:
    """Returns what the quotient of a positive divisor is, beside an integer."""
    quotient = dividend / divisor
    rest = dividend - divisor * quotient
    return z3.And(
        rest >= 0,
        rest < divisor,
        _increases(divisor, k, quotient),
        _increases(divisor, k + 1, quotient),
    )


for _name, _factor in (("4", 4), ("8", 8), ("whole", 0)):
    _register_unrolling(_name, _factor)


@claim(
    "cumulative-by-loop",
    conditions="a sum, product, maximum or minimum of all elements up to each one, or from it on",
    wrong="the sums from an element on are those up to it",
    argument="By induction over the elements. Up to an element, both sides combine in the same "
    "order. From an element on, the loop combines from the end: that is the same as the operations "
    "are associative and commutative.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    n, b = sizes.several("n b")
    x = array("x", n=n, b=b)

    def sums(holds: Callable[[Formula, Formula], Formula]) -> Array:
        def at(q: Indices) -> Number:
            return total(n, lambda k: x.at({**q, "n": k}).where(holds(k, q["n"])))

        return Array(x.axes, at)

    # A sum of all elements up to one is the sum of those before it and the element itself.
    yield Equation(sums(lambda k, i: k <= i), sums(lambda k, i: k < i) + x, pivots=True)
    backwards = sums((lambda k, i: k < i) if wrong else (lambda k, i: k > i))
    yield Equation(sums(lambda k, i: k >= i), backwards + x, pivots=True)
    if sizes.small or wrong:
        return
    # The windows: elements in the padding are neutral.
    i, tap, length = z3.Ints("i tap length")
    for low, elements in (
        (length - 1, lambda k: z3.And(k >= 0, k <= i)),
        (z3.IntVal(0), lambda k: z3.And(k >= i, k < length)),
    ):
        place = i + tap - low
        inside = z3.And(place >= 0, place < length)
        within = (tap >= 0, tap < length, i >= 0, i < length)
        yield Lemma(inside == elements(place), within)
        k = z3.Int("k")
        bounds = (k >= 0, k < length, i >= 0, i < length, elements(k))
        yield Lemma(z3.And(k - i + low >= 0, k - i + low < length), bounds)
    yield from _folds()


def _folds() -> Iterator[Statement]:
    """Yields that windows are combined from both ends alike."""
    numbers = z3.DeclareSort("Element")
    f = z3.Function("f", numbers, numbers, numbers)
    neutral, a, b, rest, seed, window = z3.Consts("neutral a b rest seed window", numbers)
    # A window from a seed on is the seed and the window from the neutral element on: by induction
    # over its elements, of which the last is b.
    associative = f(f(seed, rest), b) == f(seed, f(rest, b))
    yield Lemma(f(window, b) == f(seed, f(rest, b)), (window == f(seed, rest), associative))
    # With a first element, it is what the loop makes of the window behind it.
    yield Lemma(
        f(f(neutral, a), rest) == f(rest, a),
        (f(neutral, a) == a, f(a, rest) == f(rest, a)),
    )
    x, y, z = z3.Reals("x y z")
    for combine in (
        lambda a, b: a + b,
        lambda a, b: a * b,
        lambda a, b: z3.If(a < b, b, a),
        lambda a, b: z3.If(b < a, b, a),
    ):
        yield Lemma(combine(combine(x, y), z) == combine(x, combine(y, z)))
        yield Lemma(combine(x, y) == combine(y, x))
