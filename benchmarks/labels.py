"""Names of rows and columns that tables and pictures look up, apart from what measures them.

Nothing here imports torch or the engine: pages are made anew without either.
"""

from __future__ import annotations

EXPONENT = "exponent"
"""Column of the exponents fitted over all sizes."""
LAST_DECADE = "last decade"
"""Column of the exponents between the two largest sizes, where no cache holds a module."""
BYTES = "bytes an instruction"
"""Row of the peak memory by instruction."""

LEARNERS = {"gnn": "GNN", "op_counts": "op counts"}
"""Names of the policies in tables, by learner."""
SECTIONS = ("pass", "featurisation", "inference", "other collecting", "update")
"""Where the time of an iteration goes. Featurisation is all of stepping but the pass; other
collecting is what the workers' clocks do not see: sending, joining, waiting for the last."""


def workers_label(label: str, workers: int) -> str:
    """Name of the row of a policy with so many workers."""
    return f"{label}, {workers} worker{'s' if workers > 1 else ''}"


def section_label(label: str, workers: int, section: str) -> str:
    """Name of the row with the time of a section."""
    return f"{workers_label(label, workers)}: {section}"
