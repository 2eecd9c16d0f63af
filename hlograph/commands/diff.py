"""``hlograph diff``: what differs between two modules, or two plans.

Passes rename, number and move instructions. So an instruction counts as the same if its shape,
opcode and attributes are, and the shapes and opcodes of its operands. Two modules may have the same
instructions in this sense and still connect them differently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import tyro

from hlograph.commands.command import Answer
from hlograph.commands.sources import SourceCommand, is_function
from hlograph.commands.text_tables import counts_of, counts_table, facts_of, facts_table, table
from hlograph.errors import HloError
from hlograph.reading.hlo_text import InstructionText, read_module

if TYPE_CHECKING:
    from hlograph.execution.equivalence import Equivalence
    from hlograph.plans import Plan

# A computation may have the name of an attribute, as in body=body.
_NAME = re.compile(r"[\w.\-]+(?![\w.\-]|=)")
_CONSTANT = re.compile(r"constant\((.{60}).+\)")
_LONGEST = 160


class Differences(NamedTuple):
    """Instructions of two modules that differ.

    Attributes:
        removed: Those that only the first module has, in its order.
        added: Those that only the second module has, in its order.
    """

    removed: list[str]
    added: list[str]


def differences_of(first: str, second: str) -> Differences:
    """Returns the instructions that differ between two HLO texts, of ``Module.to_text``."""
    mine, theirs = list(_instructions(first)), list(_instructions(second))
    return Differences(_without(mine, theirs), _without(theirs, mine))


def _without(
    some: list[tuple[Hashable, InstructionText]], others: list[tuple[Hashable, InstructionText]]
) -> list[str]:
    """Returns the lines of instructions that are more often among some than among others."""
    unmatched = Counter(key for key, _ in others)
    lines = []
    for key, instruction in some:
        if unmatched[key]:
            unmatched[key] -= 1
        else:
            lines.append(_short(str(instruction)))
    return lines


def _instructions(text: str) -> Iterator[tuple[Hashable, InstructionText]]:
    """Yields a key without names of each instruction, and the instruction."""
    _, computations = read_module(text)
    called = {computation.name: "computation" for computation in computations}
    for computation in computations:
        operations: dict[str, str] = {}  # names of instructions are unique in a computation alone

        def nameless(word: re.Match[str], operations: dict[str, str] = operations) -> str:
            return operations.get(word[0]) or called.get(word[0], word[0])

        for each in computation.instructions:
            operation = f"{each.shape} {each.opcode}"
            operands = tuple(operations.get(name, name) for name in each.operands)
            has_names = each.calls or "control-predecessors=" in each.tail
            attributes = _NAME.sub(nameless, each.tail) if has_names else each.tail
            yield (each.is_root, operation, operands, each.argument, attributes), each
            operations[each.name] = operation


def _short(line: str) -> str:
    line = _CONSTANT.sub(r"constant(\1...)", line)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


@dataclass(frozen=True, kw_only=True)
class Diff(SourceCommand):
    """Compares two modules, or two plans; the files' content decides which they are."""

    first: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="A")]
    """A plan, a file with HLO or StableHLO, or package.module:function."""
    second: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="B")]
    """Plan or module to compare it with."""
    run_both: Annotated[bool, tyro.conf.arg(name="run", help_behavior_hint="")] = False
    """Run both modules on random inputs, and compare the results."""
    limit: int = 40
    """Largest number of changed instructions to show of each module."""

    def run(self) -> Answer:
        """Compares them; see the class."""
        plans = [_plan_of(name) for name in (self.first, self.second)]
        if plans[0] is not None and plans[1] is not None:
            return _of_plans(plans[0], plans[1])
        if plans[0] is not None or plans[1] is not None:
            raise HloError("expected two modules or two plans, got a module and a plan")
        return self._of_modules()

    def _check_file(self, source: str) -> None:
        # Arguments are for the one that is a function, if only one is.
        if not (is_function(self.first) or is_function(self.second)):
            super()._check_file(source)

    def _of_modules(self) -> Answer:
        first, second = self.module_of(self.first), self.module_of(self.second)
        facts = [facts_of(module) for module in (first, second)]
        same = facts[0]["fingerprint"] == facts[1]["fingerprint"]
        counts = [counts_of(module) for module in (first, second)]
        differences = differences_of(first.to_text(), second.to_text())
        compared = first.equivalent_to(second) if self.run_both else None
        parts = [
            facts_table(facts, ["A", "B"]),
            counts_table(counts[0], counts[1], "A", "B"),
            _verdict(compared),
            "equal modules: they have the same fingerprint"
            if same
            else _shown(differences, self.limit),
        ]
        content = {
            "kind": "modules",
            "same": same,
            "modules": [f | {"op_counts": c} for f, c in zip(facts, counts, strict=True)],
            "removed": differences.removed,
            "added": differences.added,
            "equivalence": None if compared is None else _equivalence(compared),
        }
        return Answer("\n\n".join(filter(None, parts)), content)


def _plan_of(name: str) -> Plan | None:
    """Returns the plan in a file; None if it holds none."""
    path = Path(name)
    try:
        with path.open("rb") as file:
            if not file.read(1024).lstrip().startswith(b"{"):
                return None
    except OSError:  # a function, a URL, or a file whose absence the next reader reports
        return None
    from hlograph.plans import Plan

    return Plan.load(path)


def _of_plans(first: Plan, second: Plan) -> Answer:
    mine, theirs = _fields_of(first), _fields_of(second)
    rows = [("", "A", "B"), *((name, mine[name], theirs[name]) for name in mine)]
    changed = [row for row in rows[1:] if row[1] != row[2]]
    lines = _differing_lines(first, second)
    same = not changed and not lines
    parts = [
        table(rows),
        "\n".join(lines) if lines else "what they do: the same",
    ]
    content = {
        "kind": "plans",
        "same": same,
        "fields": {name: {"a": a, "b": b} for name, a, b in changed},
        "removed": [line[2:] for line in lines if line.startswith("-")],
        "added": [line[2:] for line in lines if line.startswith("+")],
    }
    return Answer("\n\n".join(parts), content)


def _shown(differences: Differences, limit: int) -> str:
    if not differences.removed and not differences.added:
        return "the same instructions, with other operands among their like"
    lines = ["changed instructions (- only in A, + only in B):"]
    for sign, changed in (("-", differences.removed), ("+", differences.added)):
        lines += [f"{sign} {line}" for line in changed[:limit]]
        if len(changed) > limit:
            lines.append(f"{sign} and {len(changed) - limit:,} more")
    return "\n".join(lines)


def _verdict(compared: Equivalence | None) -> str:
    return "" if compared is None else f"results: {compared}"


def _equivalence(compared: Equivalence) -> dict[str, Any]:
    return {
        "verdict": compared.verdict,
        "reason": compared.reason,
        "findings": [asdict(finding) for finding in compared.findings],
    }


def _fields_of(plan: Plan) -> dict[str, str]:
    """Returns what a plan is about and how fast it was, as text by name."""
    return {
        "program": plan.program or "-",
        "fingerprint": plan.fingerprint or "-",
        "numerics": plan.numerics,
        "method": plan.method or "-",
        "measured": str(plan.measured) if plan.measured else "-",
        "machine": str(plan.machine) if plan.machine else "-",
    }


def _differing_lines(first: Plan, second: Plan) -> list[str]:
    """Returns what only one of two plans does, as lines that begin with a sign.

    Steps are shown in their order, all of both plans, if they differ: their order matters.
    """
    mine = [] if first.is_empty else first.describe()
    theirs = [] if second.is_empty else second.describe()
    removed = [f"- {line}" for line in mine if line not in theirs]
    added = [f"+ {line}" for line in theirs if line not in mine]
    if first.steps != second.steps:
        steps = [[f"step {step}" for step in plan.steps] for plan in (first, second)]
        removed = [f"- {s}" for s in steps[0]] + [s for s in removed if s[2:] not in steps[0]]
        added = [f"+ {s}" for s in steps[1]] + [s for s in added if s[2:] not in steps[1]]
    return removed + added
