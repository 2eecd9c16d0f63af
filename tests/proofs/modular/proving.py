"""Proofs that two modules compute the same, by evaluation at random points of two fields."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hlograph import Module
from hlograph.execution.equivalence import OriginalModule
from hlograph.execution.equivalence.arrays import Array, Signature, signature_of
from tests.proofs.modular.angles import ANGLE_PRIMES, AngleField
from tests.proofs.modular.degrees import Degree
from tests.proofs.modular.evaluation import Evaluator
from tests.proofs.modular.fields import PRIMES, DrawError, Field, Residues, UndecidedError
from tests.proofs.modular.programs import HloProgram
from tests.proofs.modular.reals import RootField, SumField
from tests.proofs.modular.values import Leaf, Value, flattened

# Draws that divide by zero, after which a module counts as undecided.
_ATTEMPTS = 4


Verdict = Literal["equal", "different", "undecided"]

# Points for each prime, at most.
_POINTS = 16


@dataclass(frozen=True)
class Result:
    """Outcome of a proof.

    Attributes:
        verdict: Whether the modules are equal.
        reason: The first element that differs, or why nothing was decided.
        bound: Upper bound on the probability that "equal" is wrong, but for what is drawn.
        degree: Greatest degree of the polynomials that were compared.
        drawn: What was tried for drawn values alone: an order, integers.
        seconds: Wall time.
    """

    verdict: Verdict
    reason: str
    bound: float
    degree: int
    drawn: tuple[str, ...]
    seconds: float


Fields = Callable[[int, int], Field]
"""Makes a field of the number of its prime and of a seed."""

_ROOTS = frozenset({"abs", "clamp", "compare", "maximum", "minimum", "power", "rsqrt", "sqrt"})
_TURNS = frozenset({"cosine", "sine"})


def prove(before: Module, after: Module, *, seed: int = 0, bound: float = 1e-9) -> Result:
    """Compares two modules at random points, modulo each of two primes.

    Functions are uninterpreted at first. If the modules differ then and have roots, an order, or
    sines, they are compared again by the laws of these.

    Args:
        before: A module.
        after: A module with the same parameters and results.
        seed: Seed of the points, of the functions and of the order.
        bound: Points are drawn until the bound on the error is at most this, but not more than
            16 for each prime. The bound is a product over all points.
    """
    start = time.perf_counter()
    pair = _Pair(before, after, seed)
    results = []
    for fields in pair.fields():
        results.append(_result(pair, fields, seed, bound))
        if results[-1].verdict == "equal":
            break
    verdicts: tuple[Verdict, ...] = ("equal", "different", "undecided")
    best = min(results, key=lambda result: verdicts.index(result.verdict))
    return replace(best, seconds=time.perf_counter() - start)


class _Pair:
    """Two modules that are compared, and their integers."""

    def __init__(self, before: Module, after: Module, seed: int) -> None:
        self.before, self.after = HloProgram.of(before), HloProgram.of(after)
        self.signature = signature_of(before)
        self._maker = OriginalModule(before, samples=1, seed=seed)
        self._opcodes = {*before.opcodes(), *after.opcodes()}
        kinds = {spec.element_type[0] for spec in self.signature.parameters}
        self.has_integers = bool(kinds & {"s", "u", "p"})

    def fields(self) -> Iterator[Fields]:
        """Yields kinds of fields: with ever more laws."""
        yield lambda number, seed: Field(PRIMES[number], seed)
        if self._opcodes & _ROOTS:
            yield lambda number, seed: SumField(PRIMES[number], seed)
            yield lambda number, seed: RootField(PRIMES[number], seed)
        if self._opcodes & _TURNS:
            yield lambda number, seed: AngleField(*ANGLE_PRIMES[number], seed)

    def integers(self, draw: int) -> list[Array]:
        """Returns parameters of one draw, of which only integers are used."""
        return self._maker.inputs(draw)


def _result(pair: _Pair, fields: Fields, seed: int, bound: float) -> Result:
    reached, degree = 1.0, 0
    drawn = {"integers"} if pair.has_integers else set[str]()

    def result(verdict: Verdict, reason: str = "") -> Result:
        return Result(verdict, reason, reached, degree, tuple(sorted(drawn)), 0.0)

    for draw in range(_POINTS):
        for number in range(len(PRIMES)):
            field = fields(number, seed * _POINTS + draw)
            try:
                difference, outputs = _compared(pair, pair.integers(draw), field)
            except UndecidedError as error:
                return result("undecided", str(error))
            degree = max(degree, field.degree)
            drawn |= {"order"} if field.has_order else set()
            if difference:
                return result("different", difference)
            reached *= _bound(field, outputs)
        if reached <= bound:
            break
    return result("equal")


def _compared(pair: _Pair, integers: list[Array], field: Field) -> tuple[str, Degree]:
    """Returns the first element that differs, and the degree of what an element of it compares.

    Conditionals that only the second program has are a choice between two ways to compute the
    same: it is evaluated by each of their branches.
    """
    branches = 0 if pair.before.branches else pair.after.branches
    ways = [None, *range(branches)]
    for _ in range(_ATTEMPTS):
        points = [_arguments(pair.signature, integers, stage) for stage in field.stages]
        try:
            expected = _outputs(pair.before, field, None, points)
            total = Degree()
            for way in ways:
                results = _outputs(pair.after, field, way, points)
                difference, degree = _first_difference(field, expected, results)
                if difference and way is not None:
                    raise UndecidedError(f"branch {way} of a conditional computes something else")
                if difference:
                    return difference, degree
                total = total.either(degree)
            return "", total
        except DrawError:
            continue
    raise UndecidedError("each drawn point divides by zero")


def _outputs(
    program: HloProgram, field: Field, way: int | None, points: list[list[Value]]
) -> list[Leaf]:
    results = [
        Evaluator(program, stage, way).run(point)
        for stage, point in zip(field.stages, points, strict=True)
    ]
    return flattened(results[-1])


def _first_difference(
    field: Field, expected: list[Leaf], results: list[Leaf]
) -> tuple[str, Degree]:
    total = Degree()
    for number, (first, second) in enumerate(zip(expected, results, strict=True)):
        if difference := _difference(first, second):
            return f"output {number}{difference}", total
        for leaf in (first, second):
            if isinstance(leaf, Residues):
                field.degree = max(field.degree, leaf.degree.of_difference)
        if isinstance(first, Residues) and isinstance(second, Residues):
            total = total.either(Degree(calls=first.degree.calls + second.degree.calls))
    return "", total


def _arguments(signature: Signature, integers: list[Array], field: Field) -> list[Value]:
    """Returns parameters: residues for floating-point and complex numbers, integers as given."""
    parameters: dict[int, list[tuple[tuple[int, ...], Leaf]]] = {}
    for spec, array in zip(signature.parameters, integers, strict=True):
        value = field.draw(spec.dims) if spec.element_type[0] in "fbc" else array
        parameters.setdefault(spec.path[0], []).append((spec.path[1:], value))
    return [_nested(parameters[number]) for number in sorted(parameters)]


def _nested(leaves: list[tuple[tuple[int, ...], Leaf]]) -> Value:
    if leaves[0][0] == ():
        return leaves[0][1]
    parts: dict[int, list[tuple[tuple[int, ...], Leaf]]] = {}
    for path, value in leaves:
        parts.setdefault(path[0], []).append((path[1:], value))
    return tuple(_nested(parts[number]) for number in sorted(parts))


def _difference(first: Leaf, second: Leaf) -> str:
    """Returns the position of the first element that differs; empty if none does."""
    if isinstance(first, Residues) and isinstance(second, Residues):
        is_different = first.data != second.data
    else:
        assert isinstance(first, np.ndarray), "expected integers in both results"
        assert isinstance(second, np.ndarray), "expected integers in both results"
        is_different = first != second
    places = np.argwhere(is_different)
    if not len(places):
        return ""
    return f"[{','.join(map(str, places[0]))}], {len(places)} of {is_different.size} elements"


def _bound(field: Field, outputs: Degree) -> float:
    """Returns the bound on the error of one evaluation.

    An element that differs is not noticed if its two terms have one residue by chance, or two
    applications of a function in them, or two elements that are ordered.
    """
    calls = min(outputs.calls, field.functions)
    pairs = 1 + calls * (calls - 1) // 2 + field.comparisons
    error = field.degree * pairs * field.growth(calls) / field.points
    return float(min(1.0, error + 0.5 * field.has_gaps))
