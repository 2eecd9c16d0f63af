"""Times of kernels within their programs, beside those of the same kernels alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.origins import digest_of
from hlograph.corpus.kernel_times import KernelTimes
from hlograph.corpus.plan_times import PlanTimes
from hlograph.plans.placing.operations import PARTITIONS

# Upper bounds of the classes of kernels, by their seconds alone, and their names.
_CLASSES: Mapping[str, float] = {
    "below 2 µs": 2e-6,
    "2 to 20 µs": 2e-5,
    "20 to 200 µs": 2e-4,
    "above 200 µs": math.inf,
}
_PERCENTILES = (10, 50, 90)
_THREADS: Mapping[bool, str] = {False: "one thread", True: "partitions"}


class InContext(NamedTuple):
    """A kernel that is the same alone and within programs.

    Attributes:
        within: Median seconds of a call within programs.
        warm: Seconds alone, with operands in the caches.
        cold: Seconds alone, after the caches were filled with other data.
        has_partitions: True if several threads compute parts of it.
    """

    within: float
    warm: float
    cold: float
    has_partitions: bool


def in_context(alone: KernelTimes, programs: PlanTimes) -> list[InContext]:
    """Returns the kernels whose text is the same alone and within programs.

    Args:
        alone: The bank.
        programs: Plans of the programs, timed on the same machine; those with flags are left out.
    """
    within: dict[str, list[float]] = defaultdict(list)
    for plan in programs.plans:
        for kernel in () if plan.flags else plan.kernels:
            if kernel.seconds:
                text = programs.kernels[kernel.number]
                within[text].append(kernel.seconds / kernel.calls)
    both = []
    for measured in alone.measured:
        default = measured.variants[0]
        texts = [alone.kernels[kernel.number] for kernel in default.kernels]
        if len(texts) == 1 and texts[0] in within and digest_of(texts[0]) == measured.origin:
            times = median(within[texts[0]]), default.seconds, default.cold_seconds
            both.append(InContext(*times, PARTITIONS in texts[0]))
    return both


def context_table(kernels: Sequence[InContext]) -> str:
    """Returns by which factor kernels take longer within programs than alone, as Markdown."""
    heads = ("kernels", "computed by", "number", *_heads("warm"), *_heads("cold"))
    rows = []
    for has_partitions, threads in _THREADS.items():
        low = 0.0
        for name, high in _CLASSES.items():
            of_class = [
                kernel
                for kernel in kernels
                if low <= kernel.warm < high and kernel.has_partitions == has_partitions
            ]
            low = high
            if of_class:
                warm = [kernel.within / kernel.warm for kernel in of_class]
                cold = [kernel.within / kernel.cold for kernel in of_class]
                number = f"{len(of_class):,}"
                rows.append((name, threads, number, *_quantiles(warm), *_quantiles(cold)))
    return markdown_table(heads, rows)


def _heads(operands: str) -> list[str]:
    return [f"within / alone, {operands}, {percent} %" for percent in _PERCENTILES]


def _quantiles(ratios: Sequence[float]) -> list[str]:
    return [f"{np.percentile(ratios, percent):.2f}" for percent in _PERCENTILES]
