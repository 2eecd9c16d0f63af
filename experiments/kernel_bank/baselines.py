"""Baselines on the bank: predictions without learning, and what measurements say of each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from experiments.cost_model.kernel_inputs import BYTES, FLOPS, NUMBERS, kernel_inputs
from experiments.cost_model.ranking import Ranking, interval_of_mean, ranking
from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.drawing import call_seconds
from hlograph.corpus.kernel_times import KernelTimes, KernelVariant, MeasuredKernel
from hlograph.profiling.kernel_seconds import LEAST_SECONDS

TOP = (1, 5, 10)
"""Numbers of the best predicted variants, of which the fastest is taken."""

# An order of two says little; variants that are level are no order.
_LEAST_VARIANTS = 3
_PERCENTILES = (50, 75, 90, 95, 99)
_SECONDS = "seconds off by a factor of, at {}"

Predict = Callable[[KernelVariant], float]
"""Function that returns a number that grows with the seconds of a variant."""


class Baselines:
    """Predictions for the variants of a data set, by name.

    Args:
        kernels: Texts of the kernels that jaxlib made.
    """

    def __init__(self, kernels: Sequence[str]) -> None:
        self._kernels = kernels
        self._numbers = cache(self._numbers_of)

    def predictions(self) -> Mapping[str, Predict]:
        """Returns the baselines by name."""
        return {
            "no model": lambda variant: 0.0,
            "number of instructions": lambda variant: self._sum(variant, _instructions),
            "roofline of XLA's cost analysis": lambda variant: self._sum(variant, _roofline),
            "predicted seconds": lambda variant: self._sum(variant, _predicted),
        }

    def _numbers_of(self, number: int) -> dict[str, float]:
        numbers = kernel_inputs(self._kernels[number]).numbers
        return dict(zip(NUMBERS, map(float, numbers), strict=True))

    def _sum(
        self, variant: KernelVariant, seconds: Callable[[Mapping[str, float]], float]
    ) -> float:
        return sum(
            kernel.calls * seconds(self._numbers(kernel.number)) for kernel in variant.kernels
        )


def _instructions(numbers: Mapping[str, float]) -> float:
    return float(np.expm1(numbers["log_instructions"]))


def _roofline(numbers: Mapping[str, float]) -> float:
    flops, moved = np.expm1(numbers["log_flops"]), np.expm1(numbers["log_bytes"])
    return max(float(flops) / FLOPS, float(moved) / BYTES, LEAST_SECONDS)


def _predicted(numbers: Mapping[str, float]) -> float:
    return max(float(np.exp(numbers["log_predicted"])) - call_seconds(), LEAST_SECONDS)


# Those of the baselines whose numbers are seconds.
_OF_SECONDS = frozenset(("roofline of XLA's cost analysis", "predicted seconds"))


def table(times: KernelTimes) -> str:
    """Returns the table of the baselines as Markdown.

    Means are over the families of kernels, each with the mean over its kernels that have three
    variants or more; intervals are over families.

    Args:
        times: The kernels that the baselines are compared on.
    """
    heads = (
        *("model", "Kendall's tau", "95 % interval", "clear pairs in order"),
        *(f"top-{number} slowdown" for number in TOP),
        *(_SECONDS.format(f"{percent} %") for percent in _PERCENTILES),
    )
    rows = [
        _row(name, times.measured, predict)
        for name, predict in Baselines(times.kernels).predictions().items()
    ]
    rows.append(_row("half of the measurements by the other half", times.measured, None))
    return markdown_table(heads, rows)


def _row(name: str, measured: Sequence[MeasuredKernel], predict: Predict | None) -> tuple[str, ...]:
    by_family: dict[str, list[Ranking]] = defaultdict(list)
    for kernel in measured:
        if len(kernel.variants) >= _LEAST_VARIANTS:
            by_family[kernel.family].append(_ranking(kernel, predict))
    taus = [fmean(each.tau for each in rankings) for rankings in by_family.values()]
    clear = [np.nanmean([each.clear for each in r]) for r in by_family.values() if _has_clear(r)]
    low, high = interval_of_mean(taus)
    slowdowns = [
        fmean(fmean(each.slowdown[n] for each in rankings) for rankings in by_family.values())
        for n in range(len(TOP))
    ]
    factors = _factors(measured, predict) if name in _OF_SECONDS and predict else None
    return (
        name,
        f"{fmean(taus):.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{fmean(map(float, clear)):.1%}" if clear else "",
        *(f"{slowdown:.1%}" for slowdown in slowdowns),
        *(
            f"{np.percentile(factors, percent):.2f}" if factors is not None else ""
            for percent in _PERCENTILES
        ),
    )


def _has_clear(rankings: Sequence[Ranking]) -> bool:
    return any(not np.isnan(each.clear) for each in rankings)


def _ranking(kernel: MeasuredKernel, predict: Predict | None) -> Ranking:
    """Returns the quality of predictions, or of the odd turns for the even ones without any."""
    if predict is not None:
        seconds = [variant.seconds for variant in kernel.variants]
        return ranking([predict(variant) for variant in kernel.variants], np.log(seconds), TOP)
    even, odd = ([median(v.warm[first::2]) for v in kernel.variants] for first in (0, 1))
    return ranking(odd, np.log(even), TOP)


def _factors(measured: Sequence[MeasuredKernel], predict: Predict) -> NDArray[np.float64]:
    """Returns by which factor, at least 1, the seconds of each variant are off."""
    ratios = [
        np.log(predict(variant) / variant.seconds)
        for kernel in measured
        for variant in kernel.variants
    ]
    return np.exp(np.abs(ratios))
