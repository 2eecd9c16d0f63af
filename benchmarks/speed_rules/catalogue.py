"""All cases, by topic."""

from __future__ import annotations

from benchmarks.speed_rules import (
    convolutions,
    distances,
    dots,
    indexing,
    loops,
    pointwise,
    reductions,
    scans,
    sorting,
)
from benchmarks.speed_rules.case import Case

CASES: tuple[Case, ...] = (
    *convolutions.CASES,
    *sorting.CASES,
    *distances.CASES,
    *indexing.CASES,
    *dots.CASES,
    *loops.CASES,
    *scans.CASES,
    *reductions.CASES,
    *pointwise.CASES,
)
