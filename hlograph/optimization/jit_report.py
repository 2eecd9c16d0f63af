"""The report of ``hlograph.jit``: a line for each signature."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlograph.optimization.report import Report

_ENDS = 3  # arrays that are shown at each end: the last ones are often the batch


@dataclass(frozen=True)
class JitReport:
    """The plans and searches of a function of ``hlograph.jit``; prints a line for each signature.

    Attributes:
        name: Name of the function.
        reports: The report of each signature that has a plan or a search, by its text.
        refused: Reasons why signatures run as ``jax.jit`` compiles them, by their text.
        traced: Number of calls inside transformations of jax.
    """

    name: str
    reports: dict[str, Report]
    refused: dict[str, str]
    traced: int

    def __str__(self) -> str:
        """Returns a line for each signature."""
        lines = [
            f"{self.name}({text}): {report.conclusion}" for text, report in self.reports.items()
        ]
        lines += [f"{self.name}({text}): as jax.jit: {why}" for text, why in self.refused.items()]
        if self.traced:
            lines.append(
                f"{self.name}: {self.traced} calls inside transformations of jax, as jax.jit: "
                "decorate the outermost function"
            )
        return "\n".join(lines) or f"{self.name}: not called yet"


def signature_text(lowered: Any, static: tuple[Sequence[Any], dict[str, Any]]) -> str:
    """Returns the types of a lowering's arrays, in the order of leaves, and its static values.

    Args:
        lowered: A ``jax.stages.Lowered``.
        static: Static arguments by position, and those by name.
    """
    import jax

    shown = [aval.str_short(short_dtypes=True) for aval in jax.tree.leaves(lowered.in_avals)]
    if len(shown) > 2 * _ENDS + 1:
        shown[_ENDS:-_ENDS] = [f"{len(shown) - 2 * _ENDS} more"]
    shown += [reprlib.repr(value) for value in static[0]]
    shown += [f"{name}={reprlib.repr(value)}" for name, value in static[1].items()]
    return ", ".join(shown)
