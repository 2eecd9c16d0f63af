"""Metrics of predictions that rank the plans of a program."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.corpus.plan_times import PlanTime

Numbers = Sequence[float] | NDArray[np.float64]

TOP = (1, 5)
"""Numbers of the best predicted plans, of which the fastest is taken."""

# Logarithms of ratios: that is clearly no noise, and that is as good as none.
_CLEAR, _NEAR = 0.05, 0.03

_DRAWS = 32


class Ranking(NamedTuple):
    """Quality of a ranking of one program's plans.

    Attributes:
        tau: Kendall's tau-b of predicted and measured seconds.
        clear: Share of the pairs in the right order, among those that differ by 5 % or more.
        slowdown: By how much the fastest of the best predicted plans is slower than the fastest
            plan, 0 for the same, for each of ``TOP``.
        needed: Number of plans to measure, the best predicted first, until one is within 3 % of the
            fastest.
    """

    tau: float
    clear: float
    slowdown: tuple[float, ...]
    needed: float


def ranking(predicted: Numbers, plans: Sequence[PlanTime]) -> Ranking:
    """Compares predictions with the measured times of one program's plans.

    Args:
        predicted: Any number for each plan that grows with its predicted seconds.
        plans: The plans.
    """
    seconds = -np.log([plan.ratio for plan in plans])
    guesses = np.asarray(predicted, np.float64)
    ordered = [seconds[order] - seconds.min() for order in _orders(guesses)]
    return Ranking(
        kendall_tau(guesses, seconds),
        _clear(guesses, seconds),
        tuple(float(np.mean([np.expm1(one[:n].min()) for one in ordered])) for n in TOP),
        float(np.mean([1 + np.argmax(one <= _NEAR) for one in ordered])),
    )


def _clear(guesses: NDArray[np.float64], seconds: NDArray[np.float64]) -> float:
    apart = np.subtract.outer(seconds, seconds)
    is_clear = apart > _CLEAR
    guessed = np.sign(np.subtract.outer(guesses, guesses))[is_clear]
    return float(np.mean((guessed + 1) / 2)) if guessed.size else float("nan")


def _orders(guesses: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Returns the order of the plans; several random ones if some predictions are equal."""
    random = np.random.default_rng(0)
    draws = _DRAWS if len(np.unique(guesses)) < len(guesses) else 1
    return [np.lexsort((random.random(len(guesses)), guesses)) for _ in range(draws)]


def kendall_tau(one: Numbers, other: Numbers) -> float:
    """Returns Kendall's tau-b of two series; 0 if one has a single value."""
    signs = [np.sign(np.subtract.outer(np.asarray(x), np.asarray(x))) for x in (one, other)]
    scale = np.sqrt(np.square(signs[0]).sum() * np.square(signs[1]).sum())
    return float((signs[0] * signs[1]).sum() / scale) if scale else 0.0


def repeated(plans: Sequence[PlanTime]) -> float:
    """Returns Kendall's tau of one half of the measured turns with the other half.

    Measurements do not agree better with themselves than this, at half their length.
    """
    first = np.array([median(plan.ratios[::2]) for plan in plans])
    return kendall_tau(first, np.array([median(plan.ratios[1::2]) for plan in plans]))
