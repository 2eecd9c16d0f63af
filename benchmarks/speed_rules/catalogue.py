"""All cases, by topic."""

from __future__ import annotations

from benchmarks.speed_rules import (
    attention_dots,
    carried_loops,
    contraction_parts,
    convolutions,
    depthwise_convolutions,
    distances,
    dots,
    gathers,
    indexing,
    input_gradients,
    loops,
    pointwise,
    reductions,
    scans,
    sorting,
    stored_values,
    swapped_dots,
    windows,
)
from benchmarks.speed_rules.case import Case

CASES: tuple[Case, ...] = (
    *depthwise_convolutions.CASES,
    *convolutions.CASES,
    *sorting.CASES,
    *distances.CASES,
    *indexing.CASES,
    *dots.CASES,
    *loops.CASES,
    *scans.CASES,
    *reductions.CASES,
    *pointwise.CASES,
    *gathers.CASES,
    *stored_values.CASES,
    *windows.CASES,
    *input_gradients.CASES,
    *swapped_dots.CASES,
    *contraction_parts.CASES,
    *attention_dots.CASES,
    *carried_loops.CASES,
)
