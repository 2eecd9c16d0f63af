"""Names the rows and columns that tables and pictures look up.

Nothing here imports torch or the engine: pages are written without either.
"""

from __future__ import annotations

from typing import Literal

EXPONENT = "exponent"
"""Column of the exponents fitted over all sizes."""
BYTES = "bytes an instruction"
"""Row of the peak memory per instruction."""

PassPolicy = Literal["gnn", "op_counts"]
"""Policies that are measured here: those that order passes."""
LEARNERS: dict[PassPolicy, str] = {"gnn": "GNN", "op_counts": "op counts"}
"""Name of each policy in tables."""
SECTIONS = ("pass", "featurisation", "inference", "other collecting", "update")
"""Parts of an iteration's time. Featurisation is all of stepping but the pass; other
collecting is what the workers' clocks do not see: sending, joining, waiting for the last."""


def workers_label(label: str, workers: int) -> str:
    """Returns the name of the row of a policy with a number of workers."""
    return f"{label}, {workers} worker{'s' if workers > 1 else ''}"


def section_label(label: str, workers: int, section: str) -> str:
    """Returns the name of the row with the time of a section."""
    return f"{workers_label(label, workers)}: {section}"
