"""Tables and amounts as text, and facts about modules in them: size, cost, fingerprint, opcodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hlograph.graph.vocabulary import OPCODES

if TYPE_CHECKING:
    from hlograph.module import Module

_TIMES = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))
_LARGE = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Returns rows as aligned columns.

    Args:
        rows: Rows of one length, the header first.
        right: Numbers of the columns that are aligned at the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Returns a time with its unit, such as ``1.23 ms``."""
    for unit, factor in _TIMES:
        if seconds * factor >= 1:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def amount(number: float, unit: str) -> str:
    """Returns a number with its unit and a decimal prefix, such as ``1.23 MB``."""
    for prefix, factor in _LARGE:
        if number >= factor:
            return f"{_three_digits(number / factor)} {prefix}{unit}"
    return f"{number:.0f} {unit}"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun, such as ``1 edge`` or ``1,204 edges``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def change(before: int, after: int) -> str:
    """Returns a difference with its sign; empty for none."""
    return f"{after - before:+,}" if after != before else ""


def _three_digits(number: float) -> str:
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def facts_of(module: Module) -> dict[str, Any]:
    """Returns name, number of instructions, cost and fingerprint of a module."""
    return {
        "name": module.name,
        "op_count": module.op_count,
        "cost": module.cost()._asdict(),
        "fingerprint": module.fingerprint(),
    }


def counts_of(module: Module) -> dict[str, int]:
    """Returns the number of instructions of each opcode that a module has."""
    counts = zip(OPCODES, module.op_counts().tolist(), strict=True)
    return {opcode: count for opcode, count in counts if count}


def facts_table(facts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Returns facts about modules side by side.

    Args:
        facts: Results of ``facts_of``.
        names: Heading of each column.
    """
    costs = [each["cost"] for each in facts]
    rows = [
        ("", *names),
        ("module", *(each["name"] for each in facts)),
        ("instructions", *(f"{each['op_count']:,}" for each in facts)),
        ("work", *(amount(cost["flops"], "flop") for cost in costs)),
        ("transcendentals", *(amount(cost["transcendentals"], "").strip() for cost in costs)),
        ("read and written", *(amount(cost["bytes_accessed"], "B") for cost in costs)),
        ("fingerprint", *(each["fingerprint"] for each in facts)),
    ]
    return table(rows if any(names) else rows[1:])


def counts_table(before: Mapping[str, int], after: Mapping[str, int], *names: str) -> str:
    """Returns the numbers of instructions of two modules by opcode, where they differ.

    Args:
        before: Result of ``counts_of``.
        after: The same of the other module.
        names: Headings of both columns.
    """
    changed = {o for o in {*before, *after} if before.get(o, 0) != after.get(o, 0)}
    opcodes = sorted(changed, key=lambda opcode: _rank(before, after, opcode))
    rows = [("opcode", *names, "change")]
    for opcode in opcodes:
        first, second = before.get(opcode, 0), after.get(opcode, 0)
        rows.append((opcode, f"{first:,}", f"{second:,}", change(first, second)))
    first, second = sum(before.values()), sum(after.values())
    rows.append(("all", f"{first:,}", f"{second:,}", change(first, second)))
    return table(rows, right=(1, 2, 3))


def _rank(before: Mapping[str, int], after: Mapping[str, int], opcode: str) -> tuple[object, ...]:
    first, second = before.get(opcode, 0), after.get(opcode, 0)
    return -abs(second - first), -max(first, second), opcode
