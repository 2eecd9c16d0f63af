"""Finds other forms of a program's parts by rules that terms cannot express.

A rule of ``hlograph.rules`` is applied to a copy of the program, at one place after the other. The
programs before and after differ where an instruction was replaced, and both sides of the
replacement become equal terms. So any rule can take part, those for time among them: it is XLA's
parser that reads the new form, and what is new in it is opaque. Equations do not apply to it, as
the order of its operations may have been chosen for its precision.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from experiments.search.rewriting.egraph.program import ProgramText, parse
from experiments.search.rewriting.egraph.terms import Terms
from hlograph.errors import RewriteError
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite


@dataclass(frozen=True)
class FormLimits:
    """Limits of the search for forms."""

    depth: int = 3
    """Number of rules that may apply to the results of each other."""
    programs: int = 200
    """Largest number of programs to list the rewrites of."""
    seconds: float = 10.0
    """Time after which no further rewrite is applied."""


class FormFinder:
    """Adds other forms of a program to its terms.

    Args:
        terms: The terms.
        rules: Names of the rules.
        limits: Limits of each search.
    """

    def __init__(self, terms: Terms, rules: Sequence[str], limits: FormLimits) -> None:
        self._terms, self._rules, self._limits = terms, tuple(rules), limits
        self._ends = 0.0

    def add_forms_of(self, module: Module) -> int:
        """Adds the forms of a program.

        All places of a rule are rewritten in one copy, each with a form of its own. The next rules
        apply to what is new in the copy: the e-graph combines what applies to other parts.

        Args:
            module: The program, which is equal to the program of the terms; it is not changed.

        Returns:
            The number of rewrites.
        """
        self._ends = time.perf_counter() + self._limits.seconds
        waiting: list[tuple[Module, frozenset[str]]] = [(module, frozenset())]
        applied, listed = 0, 0
        for _ in range(self._limits.depth):
            level, waiting = waiting, []
            for program, places in level:
                listed += 1
                if listed > self._limits.programs or time.perf_counter() > self._ends:
                    return applied
                rewrites = [
                    rewrite
                    for rewrite in program.rewrites(self._rules)
                    if rewrite.place not in places
                ]
                places |= {rewrite.place for rewrite in rewrites}
                for rule in dict.fromkeys(rewrite.rule for rewrite in rewrites):
                    copy = program.clone()
                    applied += self._apply(
                        copy, [rewrite for rewrite in rewrites if rewrite.rule == rule]
                    )
                    waiting.append((copy, places))
        return applied

    def _apply(self, module: Module, rewrites: Sequence[Rewrite]) -> int:
        """Applies rewrites one after the other, and adds what each makes equal."""
        before = self._parsed(module)
        applied = 0
        for rewrite in rewrites:
            if time.perf_counter() > self._ends:
                break
            try:
                module.apply(rewrite)
            except RewriteError:  # an earlier one took its place
                continue
            after = self._parsed(module)
            self._equate(before, after, rewrite)
            before = after
            applied += 1
        return applied

    def _parsed(self, module: Module) -> ProgramText:
        return self._terms.computations.add(parse(module.to_text()))

    def _equate(self, before: ProgramText, after: ProgramText, rewrite: Rewrite) -> None:
        old = self._terms.add(before, opaque=True)
        new = self._terms.add(after, opaque=True)
        for name, other in replacements(before, after, {rewrite.instruction, rewrite.other}):
            self._terms.equate(old[name], new[other])


def replacements(
    before: ProgramText, after: ProgramText, places: Collection[str | None]
) -> Iterator[tuple[str, str]]:
    """Yields what a rewrite has made of which instruction, by their names.

    A rule gives the users of its place another operand, which is equal to it. All instructions that
    are still there compute what they did, also those that were changed themselves, such as a loop
    with another body.

    Args:
        before: The program.
        after: The program after one rewrite, whose other instructions have kept their names.
        places: The instructions that the rule was applied at.
    """
    kept = {instruction.name: instruction for instruction in after.instructions}
    elements = {
        instruction.name
        for instruction in before.instructions
        if instruction.opcode == "get-tuple-element" and instruction.operands[0] in places
    }
    replaced: dict[tuple[str, str], None] = {}
    for instruction in before.instructions:
        other = kept.get(instruction.name)
        if other is None or instruction == other:
            continue
        pairs = [
            (a, b) for a, b in zip(instruction.operands, other.operands, strict=False) if a != b
        ]
        users = instruction._replace(operands=other.operands) == other
        if users and all(a in places or a in elements for a, _ in pairs):
            replaced.update(dict.fromkeys(pairs))
        else:
            replaced[instruction.name, instruction.name] = None
    if before.root not in kept:
        replaced[before.root, after.root] = None
    yield from replaced
