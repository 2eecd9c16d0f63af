"""Proofs that two modules compute the same, by evaluation at random points of two fields."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hlograph import Module
from hlograph.execution.equivalence import OriginalModule
from hlograph.execution.equivalence.arrays import Array, Signature, signature_of
from tests.proofs.modular.degrees import Degree
from tests.proofs.modular.evaluation import Evaluator
from tests.proofs.modular.fields import PRIMES, DrawError, Field, Residues, UndecidedError
from tests.proofs.modular.programs import HloProgram
from tests.proofs.modular.values import Leaf, Value, flattened

# Draws that divide by zero, after which a module counts as undecided.
_ATTEMPTS = 4


Verdict = Literal["equal", "different", "undecided"]

# Points for each prime, at most.
_POINTS = 8


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


def prove(before: Module, after: Module, *, seed: int = 0, bound: float = 1e-9) -> Result:
    """Compares two modules at random points, modulo each of two primes.

    Args:
        before: A module.
        after: A module with the same parameters and results.
        seed: Seed of the points, of the functions and of the order.
        bound: Points are drawn until the bound on the error is at most this, but not more than 8
            for each prime. The bound is a product over all points.
    """
    start = time.perf_counter()
    programs = HloProgram.of(before), HloProgram.of(after)
    signature = signature_of(before)
    maker = OriginalModule(before, samples=1, seed=seed)
    reached, degree, drawn = 1.0, 0, set[str]()
    if any(spec.element_type[0] in "sup" for spec in signature.parameters):
        drawn.add("integers")

    def result(verdict: Verdict, reason: str = "") -> Result:
        seconds = time.perf_counter() - start
        return Result(verdict, reason, reached, degree, tuple(sorted(drawn)), seconds)

    for draw in range(_POINTS):
        integers = maker.inputs(draw)
        for prime in PRIMES:
            field = Field(prime, seed * _POINTS + draw)
            try:
                difference, outputs = _compared(programs, signature, integers, field)
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


def _compared(
    programs: tuple[HloProgram, HloProgram],
    signature: Signature,
    integers: list[Array],
    field: Field,
) -> tuple[str, Degree]:
    """Returns the first element that differs, and the degree of what an element of it compares.

    Conditionals that only the second program has are a choice between two ways to compute the
    same: it is evaluated by each of their branches.
    """
    before, after = programs
    ways = [None, *range(after.branches)] if after.branches and not before.branches else [None]
    for _ in range(_ATTEMPTS):
        arguments = _arguments(signature, integers, field)
        try:
            expected = flattened(Evaluator(before, field).run(arguments))
            total = Degree()
            for way in ways:
                results = flattened(Evaluator(after, field, way).run(arguments))
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
    return float(min(1.0, field.degree * pairs / field.prime))
