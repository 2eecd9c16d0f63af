"""Claim of the rule for the gradient of the maxima of windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

import z3

from tests.proofs.claim import claim
from tests.proofs.instructions import Computation
from tests.proofs.language import Array, Indices, array, integers, padded, spread
from tests.proofs.prover import Enumeration, Equation, Lemma, Sizes, Statement
from tests.proofs.rewritten import Meaning, as_float, rewritten
from tests.proofs.sums import Formula, Number, size_of, total

_Chosen = Callable[[Indices], Formula]


@claim(
    "window-gradient-by-comparison",
    conditions="windows of at most 16 elements without padding or dilation; the greatest element "
    "is the first that is no less than those after it",
    wrong="of equal elements of a window, the last is chosen",
    argument="Both sides choose the element of a window by the same comparisons in the same order, "
    "those with NaNs too. What a window passes on goes to the element that it has chosen: the sum "
    "over the windows is one over the places in a window.",
    bounds="windows of 2 by 1, 3 by 2 and 4 by 3 elements with strides 1 to 3, and of 2 by 1, 2 by "
    "2 and 3 by 2 side by side, any number of them; the programs of windows of 3 by 3 elements",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    program = _program(3, 1)
    numbers = [z3.BitVec(f"x{tap}", 32) for tap in range(9)]
    known = {one.name: x for one, x in zip(program.all("slice"), numbers, strict=True)}
    (barrier,) = program.all("opt-barrier")
    yield Lemma(Meaning(program, known).of(barrier.name) == _first_greatest(numbers, wrong))
    if wrong:
        return
    for (rows, columns), stride in product(((2, 1), (3, 2), (4, 3)), (1, 2, 3)):
        yield _scattered(sizes, rows, columns, stride, overlap=True)
    for rows, columns in ((2, 1), (2, 2), (3, 2)):
        yield _scattered(sizes, rows, columns, None, overlap=False)
    if sizes.small:
        return
    place, tap, element = z3.Ints("place tap element")
    for stride in (1, 2, 3, 4):
        here = place * stride + tap == element
        solved = z3.And(place == (element - tap) / stride, (element - tap) % stride == 0)
        yield Lemma(here == solved)
    yield Enumeration(_wrong_place)


def _program(size: int, stride: int) -> Computation:
    count = (8 - size) // stride + 1
    text = f"""HloModule pooling
at_least {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT result = pred[] compare(a, b), direction=GE
}}

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT result = f32[] add(a, b)
}}

ENTRY main {{
  x = f32[8,8] parameter(0)
  g = f32[{count},{count}] parameter(1)
  zero = f32[] constant(0)
  ROOT result = f32[8,8] select-and-scatter(x, g, zero), window={{size={size}x{size} \
stride={stride}x{stride}}}, select=at_least, scatter=add
}}"""
    return rewritten("window-gradient-by-comparison", text).main


def _first_greatest(numbers: list[Formula], wrong: bool) -> Formula:
    """Returns the number of the element that ``select-and-scatter`` selects."""
    best, at = numbers[0], z3.BitVecVal(0, 32)
    for tap, x in enumerate(numbers[1:], 1):
        sides = as_float(best, "f32"), as_float(x, "f32")
        keeps = z3.fpGT(*sides) if wrong else z3.fpGEQ(*sides)
        best, at = z3.If(keeps, best, x), z3.If(keeps, at, z3.BitVecVal(tap, 32))
    return at


def _wrong_place() -> str | None:
    """Returns an instruction of the rule that is at another place than its number of a tap says."""
    for stride in (1, 2):
        program = _program(3, stride)
        last = (8 - 3) // stride * stride
        for tap, one in enumerate(program.all("slice")):
            starts = [int(start) for start in re.findall(r"\[(\d+):", one.attributes["slice"])]
            if starts != [tap // 3, tap % 3]:
                return f"slice {tap} starts at {starts}"
        gap = f"_{stride - 1}" if stride > 1 else ""
        for tap, one in enumerate(program.all("pad")):
            lows = [tap // 3, tap % 3]
            expected = "x".join(f"{low}_{8 - low - last - 1}{gap}" for low in lows)
            if one.attributes["padding"] != expected:
                return f"pad {tap} is {one.attributes['padding']}, not {expected}"
            select = program.instructions[one.operands[0]]
            compare = program.instructions[select.operands[0]]
            number = program.instructions[compare.operands[1]].operands[0]
            if program.instructions[number].operands[0] != str(tap):
                return f"pad {tap} compares another number"
    return None


def _scattered(
    sizes: Sizes, rows: int, columns: int, stride: int | None, overlap: bool
) -> Statement:
    """Returns that both forms pass on the same to each element of an array of two dimensions.

    Args:
        sizes: The sizes, of the batch and the numbers of windows.
        rows: Size of a window along the first dimension.
        columns: Size along the second dimension.
        stride: Distance of windows along both; None for windows side by side.
        overlap: Whether the rule adds what each place in a window passes on.
    """
    b, p, q = sizes.several("b p q", least=1)
    steps = (stride or rows, stride or columns)
    counts = (p, q)
    ends = [
        (count.length - 1) * step + size
        for count, step, size in zip(counts, steps, (rows, columns), strict=True)
    ]
    gradient = array("g", b=b, p=p, q=q)
    chosen = integers("chosen", "b", "p", "q")
    scattered = _by_windows(gradient, chosen, columns, steps, ends, rows * columns, sizes)
    if overlap:
        terms = [
            _passed_on(gradient, chosen, row * columns + column, (row, column), steps, ends)
            for row, column in product(range(rows), range(columns))
        ]
        result = terms[0]
        for term in terms[1:]:
            result = result + term
    else:
        result = _side_by_side(gradient, chosen, rows, columns, ends)
    where: list[Formula] = []
    if sizes.small:
        # Windows choose one of their elements.
        for at in product(*[range(int(size.length)) for size in (b, p, q)]):
            number = chosen(dict(zip("bpq", at, strict=True)))
            where += [number >= 0, number < rows * columns]
    return Equation(scattered, result, tuple(where))


def _by_windows(
    gradient: Array,
    chosen: _Chosen,
    columns: int,
    steps: tuple[int, int],
    ends: list[Formula],
    taps: int,
    sizes: Sizes,
) -> Array:
    """Returns for each element the sum of what the windows pass on that have chosen it."""
    b, p, q = (gradient.axes[name] for name in "bpq")

    def at(i: Indices) -> Number:
        def of_window(row: Formula, column: Formula) -> Number:
            here = {"b": i["b"], "p": row, "q": column}
            value, number = gradient.at(here), chosen(here)
            if sizes.small:
                rows_match = row * steps[0] + number / columns == i["p"]
                columns_match = column * steps[1] + number % columns == i["q"]
                return value.where(z3.And(rows_match, columns_match))
            result = Number(())
            for tap in range(taps):
                # The same, with the window as a function of element and place in the window.
                first, second = i["p"] - tap // columns, i["q"] - tap % columns
                result = result + value.where(
                    z3.And(
                        row == first / steps[0],
                        column == second / steps[1],
                        first % steps[0] == 0,
                        second % steps[1] == 0,
                        number == tap,
                    )
                )
            return result

        return total(p, lambda row: total(q, lambda column: of_window(row, column)))

    return Array({"b": b, "p": size_of(ends[0]), "q": size_of(ends[1])}, at)


def _passed_on(
    gradient: Array,
    chosen: _Chosen,
    number: int,
    tap: tuple[int, int],
    steps: tuple[int, int],
    ends: list[Formula],
) -> Array:
    """Returns what windows pass on to one place in them, at its elements."""
    placed = gradient.where(lambda i: chosen(i) == number)
    for axis, low, step, end in zip("pq", tap, steps, ends, strict=True):
        placed = spread(placed, axis, step)
        placed = padded(placed, axis, low, end - low - placed.axes[axis].length)
    return placed


def _side_by_side(
    gradient: Array, chosen: _Chosen, rows: int, columns: int, ends: list[Formula]
) -> Array:
    """Returns for each element what its window passes on if it has chosen the element's place."""
    b = gradient.axes["b"]

    def at(i: Indices) -> Number:
        window = {**i, "p": i["p"] / rows, "q": i["q"] / columns}
        place = (i["p"] % rows) * columns + i["q"] % columns
        return gradient.at(window).where(chosen(window) == place)

    return Array({"b": b, "p": size_of(ends[0]), "q": size_of(ends[1])}, at)
