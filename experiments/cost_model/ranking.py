"""Quality of predicted orders: of plans of a program, or of variants of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.execution.bootstrap import bootstrap_interval

Numbers = Sequence[float] | NDArray[np.float64]
TOP = (1, 5)
"""Numbers of the best predicted, of which the fastest is taken."""

# Logarithms of ratios: that is clearly no noise, and that is as good as none.
_CLEAR, _NEAR = 0.05, 0.03
_DRAWS = 32

FLOPS, BYTES = 5e10, 1e10
"""Operations and bytes per second of a roofline: one core with 256-bit vectors, and the memory.
What they are exactly matters little to an order."""


class Ranking(NamedTuple):
    """Quality of a ranking of one program's plans, or of one kernel's variants.

    Attributes:
        tau: Kendall's tau-b of predicted and measured seconds.
        clear: Share of the pairs in the right order, among those that differ by 5 % or more.
        slowdown: By how much the fastest of the best predicted is slower than the fastest of all, 0
            for the same, for each number of the best.
        needed: Number to measure, the best predicted first, until one is within 3 % of the fastest.
    """

    tau: float
    clear: float
    slowdown: tuple[float, ...]
    needed: float


def ranking(predicted: Numbers, log_seconds: Numbers, top: Sequence[int] = TOP) -> Ranking:
    """Compares predictions with measured times.

    Args:
        predicted: Numbers that grow with predicted seconds.
        log_seconds: Logarithms of measured seconds, of any unit.
        top: Numbers of the best predicted, of which the fastest is taken.
    """
    seconds, guesses = np.asarray(log_seconds, np.float64), np.asarray(predicted, np.float64)
    right, pairs = clear_pairs(guesses, seconds)
    ordered = [seconds[order] - seconds.min() for order in _orders(guesses)]
    return Ranking(
        kendall_tau(guesses, seconds),
        right / pairs if pairs else float("nan"),
        tuple(float(np.mean([np.expm1(slower[:n].min()) for slower in ordered])) for n in top),
        float(np.mean([1 + np.argmax(slower <= _NEAR) for slower in ordered])),
    )


def clear_pairs(
    predicted: NDArray[np.float64], measured: NDArray[np.float64], least: float = _CLEAR
) -> tuple[float, int]:
    """Returns how many of the pairs that clearly differ are in the right order, and their number.

    Args:
        predicted: float64 ``[N]``, numbers in the predicted order; equal ones count half.
        measured: float64 ``[N]``, logarithms.
        least: Difference above which two of these clearly differ.
    """
    is_clear = np.subtract.outer(measured, measured) > least
    order = np.sign(np.subtract.outer(predicted, predicted))[is_clear]
    return float(((order + 1) / 2).sum()), order.size


def _orders(guesses: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Returns the predicted order; several random ones if some predictions are equal."""
    random = np.random.default_rng(0)
    draws = _DRAWS if len(np.unique(guesses)) < len(guesses) else 1
    return [np.lexsort((random.random(len(guesses)), guesses)) for _ in range(draws)]


def kendall_tau(first: Numbers, second: Numbers) -> float:
    """Returns Kendall's tau-b of two series; 0 if one of them has a single value."""
    signs = [np.sign(np.subtract.outer(np.asarray(x), np.asarray(x))) for x in (first, second)]
    scale = np.sqrt(np.square(signs[0]).sum() * np.square(signs[1]).sum())
    return float((signs[0] * signs[1]).sum() / scale) if scale else 0.0


def interval_of_mean(values: Sequence[float]) -> tuple[float, float]:
    """Returns the 95 % bootstrap interval of a mean."""
    low, high = bootstrap_interval([float(np.exp(value)) for value in values])
    return float(np.log(low)), float(np.log(high))
