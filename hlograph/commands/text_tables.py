"""Tables as text, and numbers with units."""

from __future__ import annotations

from collections.abc import Sequence

_TIMES = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))
_LARGE = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: int = 0) -> str:
    """Returns rows as aligned columns.

    Args:
        rows: Rows of one length, the header first.
        right: Numbers of the columns that are aligned at the right.
        indent: Spaces before each row.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(" " * indent + "  ".join(cells).rstrip())
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
