"""Programs on both sides of the conditions of claims, to ask the rules themselves.

A condition in a claim and the code of the rule, in C++, are two texts. Each ``Boundary`` names a
clause of a claim's conditions and writes a program on each side of it: where the clause has a
number, such as "at most 80 taps", the numbers are read from the clause, the last that fulfils it
and the first that does not. A rule that is offered where its clause does not hold goes beyond its
claim. One that is not offered where it holds is narrower, as a rule may be that would not pay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import hlograph
from benchmarks.speed_rules.lowering import lowered, shapes
from tests.proofs.claim import claims

_NUMBER = r"[\d,]*\d"
_RANGE = re.compile(rf"\b({_NUMBER}) to ({_NUMBER})\b")
_BOUND = re.compile(rf"\b(at most|at least|^)\s?({_NUMBER})\b(?!\^)")

MakeProgram = Callable[[int], str]
"""Function that writes the HLO text of a program of a number; of 1 or 0 for a clause without."""


@dataclass(frozen=True)
class Boundary:
    """A clause of the conditions of a rule's claim, and programs on both sides of it.

    Attributes:
        rule: Name of the rule.
        clause: Part of the conditions, word by word.
        program: Writes a program where only this clause decides.
        step: Distance of a second number that fulfils the clause from its limit.
    """

    rule: str
    clause: str
    program: MakeProgram
    step: int = 1

    def sides(self) -> Iterator[tuple[int, bool]]:
        """Yields numbers next to the limits of the clause, and whether they fulfil it.

        A clause without a number is fulfilled by the program of 1, and not by that of 0.
        """
        clause = self.clause
        if match := _RANGE.search(clause):
            low, high = (int(each.replace(",", "")) for each in match.groups())
            yield from ((low - 1, False), (low, True), (high, True), (high + 1, False))
        elif match := _BOUND.search(clause):
            limit = int(match[2].replace(",", ""))
            sign = 1 if match[1] == "at least" else -1
            yield from ((limit, True), (limit + sign * self.step, True), (limit - sign, False))
        else:
            yield from ((1, True), (0, False))


@dataclass(frozen=True)
class Side:
    """Holds what a rule does on one side of a boundary.

    Attributes:
        boundary: The boundary.
        number: Number of the program.
        holds: True where the clause holds.
        offered: True if the rule is offered.
    """

    boundary: Boundary
    number: int
    holds: bool
    offered: bool

    @property
    def is_unsafe(self) -> bool:
        """True if the rule goes beyond its claim."""
        return self.offered and not self.holds

    @property
    def is_narrower(self) -> bool:
        """True if the claim goes beyond the rule."""
        return self.holds and not self.offered


def sides_of(boundary: Boundary) -> list[Side]:
    """Asks a rule on both sides of a boundary.

    Raises:
        ValueError: The claim of the rule has no such clause.
        HloError: A program is not valid.
    """
    conditions = claims()[boundary.rule].conditions
    if boundary.clause not in conditions:
        raise ValueError(f"expected a clause of {conditions!r}, got {boundary.clause!r}")
    return [
        Side(boundary, number, holds, _is_offered(boundary.rule, boundary.program(number)))
        for number, holds in boundary.sides()
    ]


@dataclass(frozen=True)
class BoundaryRow:
    """Holds what a rule does next to the conditions of its claim.

    Attributes:
        rule: Name of the rule.
        clauses: Number of clauses of the conditions.
        asked: Those of them that the rule was asked about.
        programs: Number of programs.
        unsafe: Clauses beyond which the rule is offered, with the numbers of the programs.
        narrower: Clauses that hold for a program where it is not offered.
        seconds: Duration.
    """

    rule: str
    clauses: int
    asked: tuple[str, ...]
    programs: int
    unsafe: tuple[str, ...]
    narrower: tuple[str, ...]
    seconds: float


def boundary_row(rule: str, boundaries: Iterable[Boundary]) -> BoundaryRow:
    """Asks a rule on both sides of all of its boundaries.

    Args:
        rule: Name of the rule.
        boundaries: Boundaries, those of other rules among them.
    """
    begun = time.perf_counter()
    sides = [side for each in boundaries if each.rule == rule for side in sides_of(each)]
    clauses = clauses_of(rule)
    parts = {side.boundary.clause for side in sides}
    return BoundaryRow(
        rule,
        len(clauses),
        tuple(clause for clause in clauses if any(part in clause for part in parts)),
        len(sides),
        tuple(f"{side.boundary.clause} ({side.number})" for side in sides if side.is_unsafe),
        tuple(f"{side.boundary.clause} ({side.number})" for side in sides if side.is_narrower),
        time.perf_counter() - begun,
    )


def _is_offered(rule: str, text: str) -> bool:
    module = hlograph.Module.from_text(text)
    module.verify()
    return bool(module.rewrites([rule]))


def clauses_of(rule: str) -> list[str]:
    """Returns the clauses of the conditions of a rule's claim."""
    return [clause for clause in claims()[rule].conditions.split("; ") if clause]


def shaped(function: Callable[..., Any], arguments: str) -> MakeProgram:
    """Returns programs of arrays, in whose shapes ``n`` stands for the number."""
    return lambda n: lowered(function, *shapes(arguments.replace("n", str(n))))


def either(holds: Callable[[], str], fails: Callable[[], str]) -> MakeProgram:
    """Returns a program where a clause holds, and one where it does not."""
    return lambda n: holds() if n else fails()


def of(function: Callable[..., Any], arguments: str) -> Callable[[], str]:
    """Returns a function that lowers a function of JAX, for such shapes, when it is called."""
    return lambda: lowered(function, *shapes(arguments))


def factors(n: int) -> tuple[int, int]:
    """Returns two factors of a number, the lesser one of 2, 3 or 5 if it has one of these."""
    small = next((k for k in (2, 3, 5) if n % k == 0), 1)
    return small, n // small
