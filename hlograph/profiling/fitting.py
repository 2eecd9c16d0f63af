"""Fits rates to measured times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 30
_SWEEPS = 3000
_CONVERGED = 1e-8

# Factors, and the logarithm of a factor, from which a time counts less.
_FURTHEST, _NEAR = 100.0, 0.3

# Of two features that explain times equally well, each gets a part.
_RIDGE = 1e-6


def fit_rates(amounts: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the rates that fit measured times best, by the factors that they are off by.

    Least squares of relative errors would take half the time for as good as no time at all. So the
    squares are of ``(p - t) / sqrt(p t)`` of predictions p and times t, which are the same for a
    half and for twice the time. A time that is off by a large factor counts less: it may have been
    taken while the machine was busy.

    Args:
        amounts: Amounts of the features of each program, float64 ``[N, F]``.
        seconds: Measured seconds of each program, positive, float64 ``[N]``.

    Returns:
        Seconds per unit, at least 0, float64 ``[F]``; 0 for features that no program has.
    """
    scales = np.sqrt(np.square(amounts / seconds[:, None]).sum(axis=0))
    used = scales > 0
    columns = amounts[:, used] / scales[used]
    x = np.zeros(columns.shape[1])
    predicted, weights = seconds, np.ones(len(seconds))
    for _ in range(_ROUNDS):
        rows = weights / np.sqrt(predicted * seconds)
        x = _non_negative(columns * rows[:, None], seconds * rows, x)
        predicted = np.clip(columns @ x, seconds / _FURTHEST, seconds * _FURTHEST)
        weights = np.sqrt(_NEAR / np.maximum(np.abs(np.log(predicted / seconds)), _NEAR))
    rates = np.zeros(amounts.shape[1])
    rates[used] = x / scales[used]
    return rates


def _non_negative(
    columns: NDArray[np.float64], target: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns x of at least 0 with the least squares of ``columns @ x - target``, from a first x.

    Coordinate descent: each coordinate in turn goes to its best value, and no lower than 0.
    """
    products = columns.T @ columns
    products += _RIDGE * np.diag(np.diag(products))
    x = x.copy()
    slopes = products @ x - columns.T @ target
    for _ in range(_SWEEPS):
        moved = 0.0
        for number in range(len(x)):
            step = max(-slopes[number] / products[number, number], -x[number])
            if step != 0.0:
                x[number] += step
                slopes += step * products[number]
                moved = max(moved, abs(step))
        if moved < _CONVERGED:
            break
    return x
