"""Metrics of models on the bank, baselines, and the measurements themselves."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from experiments.cost_model.ranking import BYTES, FLOPS, Ranking, interval_of_mean, ranking
from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.networks import Predicted
from hlograph.corpus.kernel_times import KernelTimes, MeasuredKernel
from hlograph.errors import HloError
from hlograph.profiling.kernel_inputs import NUMBERS, kernel_inputs
from hlograph.profiling.kernel_seconds import LEAST_SECONDS

TOP = (1, 5, 10)
"""Numbers of the best predicted variants, of which the fastest is taken."""

# An order of two says little; variants that are level are no order.
_LEAST_VARIANTS = 3
_PERCENTILES = (50, 75, 90, 95, 99)
_SECONDS = "seconds off by a factor of, at {}"
RATES = "rates of work"
"""Name of the baseline that predicts seconds by amounts of work (``hlograph.execution.rates``)."""

GAINS = "decisions alone"
"""End of the names of predictions that see the default and the decision alone."""

# Other predictions whose numbers are no seconds.
_NO_SECONDS = ("no model", "number of instructions")


def baselines(times: KernelTimes) -> dict[str, Predicted]:
    """Returns the predictions of baselines that learn nothing, by name."""

    @cache
    def numbers_of(number: int) -> dict[str, float]:
        inputs = kernel_inputs(times.kernels[number])
        return dict(zip(NUMBERS, map(float, inputs.numbers), strict=False))

    def sums(
        of_kernel: Callable[[Mapping[str, float]], float], *, by_calls: bool = True
    ) -> Predicted:
        return [
            np.array(
                [
                    sum(
                        (k.calls if by_calls else 1.0) * of_kernel(numbers_of(k.number))
                        for k in variant.kernels
                    )
                    for variant in kernel.variants
                ]
            )
            for kernel in times.measured
        ]

    return {
        "no model": sums(lambda numbers: 0.0),
        "number of instructions": sums(
            lambda numbers: math.expm1(numbers["log_instructions"]), by_calls=False
        ),
        "roofline of XLA's cost analysis": sums(_roofline),
        RATES: sums(lambda numbers: math.exp(numbers["log_alone"])),
    }


def _roofline(numbers: Mapping[str, float]) -> float:
    flops, moved = math.expm1(numbers["log_flops"]), math.expm1(numbers["log_bytes"])
    return max(flops / FLOPS, moved / BYTES, LEAST_SECONDS)


def table(measured: Sequence[MeasuredKernel], predictions: Mapping[str, Predicted]) -> str:
    """Returns the table of models as Markdown.

    Means are over the families of kernels, each with the mean over its kernels that have three
    variants or more, slowdowns geometric means; intervals are over families. Seconds are those of
    all variants.

    Args:
        measured: The kernels that the models are compared on.
        predictions: Predictions for their variants, by the name of the model.

    Raises:
        HloError: No kernel has three variants.
    """
    if all(len(kernel.variants) < _LEAST_VARIANTS for kernel in measured):
        raise HloError(
            f"expected kernels with {_LEAST_VARIANTS} variants or more, found none: record "
            "some with more --decisions"
        )
    heads = (
        *("model", "Kendall's tau", "95 % interval", "clear pairs in order"),
        *(f"top-{number} slowdown" for number in TOP),
        *(_SECONDS.format(f"{percent} %") for percent in _PERCENTILES),
    )
    rows = [
        (*_orders(name, measured, predicted), *_factors(name, measured, predicted))
        for name, predicted in predictions.items()
    ]
    odd = "half of the measurements by the other half"
    halves = [np.array([median(v.warm[1::2]) for v in kernel.variants]) for kernel in measured]
    rows.append((*_orders(odd, measured, halves, even=True), *[""] * len(_PERCENTILES)))
    return markdown_table(heads, rows)


def _orders(
    name: str, measured: Sequence[MeasuredKernel], predicted: Predicted, even: bool = False
) -> tuple[str, ...]:
    """Returns a row of the table up to the factors, compared with all turns or the even ones."""
    taus, clear, *slowdowns = (
        of_families(measured, predicted, value, even=even)
        for value in (
            lambda ranking: ranking.tau,
            lambda ranking: ranking.clear,
            *(partial(_log_slowdown, n) for n in range(len(TOP))),
        )
    )
    low, high = interval_of_mean(taus)
    return (
        name,
        f"{fmean(taus):.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{fmean(clear):.1%}" if clear else "",
        *(f"{math.expm1(fmean(of_families)):.1%}" for of_families in slowdowns),
    )


def _log_slowdown(number: int, ranking: Ranking) -> float:
    return math.log1p(ranking.slowdown[number])


def of_families(
    measured: Sequence[MeasuredKernel],
    predicted: Predicted,
    value: Callable[[Ranking], float],
    *,
    even: bool = False,
) -> list[float]:
    """Returns the mean of a metric in each family, over kernels with three variants or more.

    Args:
        measured: The kernels.
        predicted: Predictions for their variants.
        value: Returns the metric; NaN for a kernel that does not have it.
        even: True compares with the even turns of the measurements alone.
    """
    by_family: dict[str, list[float]] = defaultdict(list)
    for kernel, numbers in zip(measured, predicted, strict=True):
        if len(kernel.variants) >= _LEAST_VARIANTS:
            turns = [variant.warm[::2] if even else variant.warm for variant in kernel.variants]
            log_seconds = np.log([median(of_variant) for of_variant in turns])
            by_family[kernel.family].append(value(ranking(numbers, log_seconds, TOP)))
    means = [np.nanmean(of) for of in by_family.values() if not np.isnan(of).all()]
    return [float(mean) for mean in means]


def _factors(
    name: str, measured: Sequence[MeasuredKernel], predicted: Predicted
) -> tuple[str, ...]:
    """Returns by which factor, at least 1, the seconds of variants are off, by percentiles."""
    if name in _NO_SECONDS or name.endswith(GAINS):
        return ("",) * len(_PERCENTILES)
    factors = np.exp(np.abs(np.concatenate(errors(measured, predicted))))
    return tuple(f"{np.percentile(factors, percent):.2f}" for percent in _PERCENTILES)


def errors(measured: Sequence[MeasuredKernel], predicted: Predicted) -> list[NDArray[np.float64]]:
    """Returns the logarithms of predicted / measured seconds of the variants of each kernel."""
    return [
        np.log(numbers / np.array([variant.seconds for variant in kernel.variants]))
        for kernel, numbers in zip(measured, predicted, strict=True)
    ]
