"""Measures the rates of this machine: ``hlograph.execution.rates`` predicts run times with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.execution import lock
from hlograph.execution.rates import Rates, features
from hlograph.execution.runs import Run
from hlograph.execution.turns import in_turns
from hlograph.plans import Program, compile_program
from hlograph.storage.machine import machine

if TYPE_CHECKING:
    from hlograph.profiling.calibration_programs import SmallProgram

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


# Many short blocks: on a busy machine, the fastest of them was alone.
_BLOCKS = 15
_BLOCK_SECONDS, _MAX_SECONDS = 0.002, 0.5

# Programs that are measured one after the other, while everybody else waits.
_GROUP = 16


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """A measured program.

    Attributes:
        kind: The kind of its main kernel.
        name: Its name.
        work: Its work: numbers of features, and their amounts.
        seconds: Seconds of one run.
    """

    kind: str
    name: str
    work: tuple[tuple[int, float], ...]
    seconds: float


def calibrate(
    programs: Iterable[SmallProgram] | None = None,
    progress: Callable[[CalibrationSample], object] = lambda point: None,
) -> tuple[Rates, list[CalibrationSample]]:
    """Measures small programs in jaxlib, and fits the rates of this machine to their times.

    This takes about two minutes.

    Args:
        programs: The programs; None are those of ``calibration_programs``.
        progress: Function that is passed each point.

    Returns:
        The rates, and the points that they were fitted to.

    Raises:
        ImportError: jaxlib is not installed.
    """
    if programs is None:
        from hlograph.profiling.calibration_programs import small_programs

        programs = small_programs()
    points = []
    for group in _groups(programs):
        for point in measure(group):
            points.append(point)
            progress(point)
    return fit(points), points


def measure(programs: Sequence[SmallProgram]) -> list[CalibrationSample]:
    """Compiles programs, and measures one run of each, while other measurements wait."""
    with lock.compiling():
        compiled = [_compiled(program) for program in programs]
    with lock.alone():
        return [
            CalibrationSample(program.kind, program.name, work, _seconds(run))
            for program, (work, run) in zip(programs, compiled, strict=True)
        ]


def _groups(programs: Iterable[SmallProgram]) -> Iterator[list[SmallProgram]]:
    remaining = iter(programs)
    while group := list(islice(remaining, _GROUP)):
        yield group


def _compiled(program: SmallProgram) -> tuple[tuple[tuple[int, float], ...], Run]:
    """Returns the work of a program, and its executable with arguments."""
    import jax

    lowered = Program.of(jax.jit(program.function).lower(*program.arguments))
    work = tuple(native().work(lowered.module()._native))
    return work, Run(compile_program(lowered), jax.tree.leaves(program.arguments))


def _seconds(run: Run) -> float:
    """Returns the seconds of the fastest of some blocks of runs."""
    turns = in_turns(
        [run.seconds], turns=_BLOCKS, block_seconds=_BLOCK_SECONDS, max_seconds=_MAX_SECONDS
    )
    return float(turns.seconds.min())


def fit(points: Sequence[CalibrationSample]) -> Rates:
    """Fits the rates of this machine to measured programs."""
    amounts = np.zeros((len(points), len(features())))
    for row, point in zip(amounts, points, strict=True):
        for feature, amount in point.work:
            row[feature] = amount
    rates = fit_rates(amounts, np.array([point.seconds for point in points]))
    return Rates(machine(), tuple(float(f"{rate:.4g}") for rate in rates))


def errors_by_kind(rates: Rates, points: Sequence[CalibrationSample]) -> dict[str, float]:
    """Returns, for each kind, the median factor by which predictions are off, at least 1."""
    factors: dict[str, list[float]] = {}
    for point in points:
        ratio = max(rates.predict(point.work), 1e-12) / point.seconds
        factors.setdefault(point.kind, []).append(max(ratio, 1 / ratio))
    return {kind: float(np.median(values)) for kind, values in factors.items()}
