"""Compares predicted with measured run times: how well predictions order programs.

    python -m benchmarks.ranking
    python -m benchmarks.ranking --rates default --worst 20
    python -m benchmarks.ranking --fit hlograph/execution/default_rates.json
    python -m benchmarks.ranking --rates default --errors hlograph/execution/default_errors.json
    python -m benchmarks.ranking --rates default --by trees --errors runs/trees_errors.json

Kendall's tau is 1 where the order is the same, 0 where it says nothing. The measured times of the
speed set are those of ``datasets/speed/times.csv``, and hold for the machine they were taken on.
On that machine, the third command fits the rates that come with hlograph: to the small programs of
``hlograph calibrate`` and to the training programs of the speed set. The others are held out.

``--errors`` measures by how much ``hlograph.predict`` is off, on the validation programs of the
speed set, and checks how many programs of the data set of plan times are within that. No program of
a test split takes part.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import tyro
from numpy.typing import NDArray
from tqdm import tqdm

from experiments.cost_model.ranking import kendall_tau
from hlograph import corpus
from hlograph._native import native
from hlograph.corpus import plan_times
from hlograph.corpus.shipped import Split
from hlograph.errors import HloError
from hlograph.execution.prediction_errors import PredictionErrors
from hlograph.execution.rates import Rates, current_rates, default_rates
from hlograph.optimization.predicting import optimized_by_default
from hlograph.plans import Program
from hlograph.profiling.kernel_modules import KernelModule, kernel_modules
from hlograph.profiling.kernel_seconds import PredictTime, RatedKernels
from hlograph.profiling.kernel_trees import KernelTrees

if TYPE_CHECKING:
    from hlograph.profiling.calibrating import CalibrationSample

TIMES = Path("datasets/speed/times.csv")
TRAINING: tuple[Split, ...] = ("train",)
HELD_OUT: tuple[Split, ...] = ("validation", "test")
CHECKED: tuple[plan_times.Split, ...] = ("train", "validation", "small")
"""Splits of the data set of plan times that an interval is checked on."""


@dataclass(frozen=True)
class RankingConfig:
    """Settings of the comparison."""

    times: Path = TIMES
    """Measured times of the speed set, as CSV with the columns name and ms."""
    rates: Literal["machine", "default"] = "machine"
    """The rates measured here, if any, or those that come with hlograph."""
    worst: int = 10
    """Number of programs to list, those whose predictions are furthest off."""
    fit: Path | None = None
    """Fit rates first, which takes minutes, and write them to this file."""
    errors: Path | None = None
    """Measure by how much predictions kernel by kernel are off, and write that to this file."""
    by: Literal["rates", "trees"] = "rates"
    """With --errors: predict kernels by their work and the rates, or by the trees that come with
    hlograph."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The predicted and the measured seconds of a program."""

    name: str
    group: str
    predicted: float
    measured: float

    @property
    def factor(self) -> float:
        """The factor by which the prediction is off, at least 1."""
        ratio = max(self.predicted, 1e-12) / self.measured
        return max(ratio, 1 / ratio)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares and prints; returns the exit status."""
    config = tyro.cli(
        RankingConfig, args=arguments, prog="python -m benchmarks.ranking", description=__doc__
    )
    try:
        rates = _rates(config)
        print(f"rates of {rates.machine}")
        times = read_times(config.times)
        if config.errors is not None:
            of_rates = config.by == "rates"
            predict = RatedKernels(rates, alone=True) if of_rates else KernelTrees.load()
            pairs = kernel_pairs(times, predict)
            errors = measured_errors(pairs, rates)
            errors.save(config.errors)
            print(report(pairs, config.worst))
            print(errors_report(errors, recorded_defaults(predict, *CHECKED)))
            return 0
        for splits in (TRAINING, HELD_OUT):
            print(f"\n{' and '.join(splits)}:")
            print(report(program_pairs(times, rates, splits), config.worst))
    except (HloError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _rates(config: RankingConfig) -> Rates:
    if config.fit is None:
        return current_rates() if config.rates == "machine" else default_rates()
    from hlograph.profiling.calibrating import calibrate, fit

    _, points = calibrate()
    rates = fit([*points, *_points(read_times(config.times), TRAINING)])
    rates.save(config.fit)
    return rates


def read_times(path: Path) -> dict[str, float]:
    """Returns the measured seconds of programs; those that failed are left out."""
    with path.open(newline="") as file:
        return {
            row["name"]: float(row["ms"]) / 1e3 for row in csv.DictReader(file) if row.get("ms")
        }


def program_pairs(times: dict[str, float], rates: Rates, splits: Iterable[Split]) -> list[Pair]:
    """Returns the pairs of the programs of the speed set, in seconds."""
    return [
        Pair(point.name, point.name.partition("/")[0], rates.predict(point.work), point.seconds)
        for point in _points(times, splits)
    ]


def kernel_pairs(times: Mapping[str, float], predict: PredictTime) -> list[Pair]:
    """Returns the pairs of the validation programs of the speed set, predicted by kernels."""
    pairs = []
    for of in tqdm([b for b in corpus.load("speed", split="validation") if b.name in times]):
        kernels = kernel_modules(optimized_by_default(Program.of(of.load())))
        pairs.append(Pair(of.name, of.family, predict(kernels, {}).seconds, times[of.name]))
    return pairs


class RecordedDefault(NamedTuple):
    """A default of the data set of plan times.

    Attributes:
        pair: Predicted and measured seconds of a run, with the split as the group.
        kernels: Predicted and measured seconds of each kernel that was measured.
    """

    pair: Pair
    kernels: list[tuple[float, float]]


def recorded_defaults(predict: PredictTime, *splits: plan_times.Split) -> list[RecordedDefault]:
    """Returns the defaults in splits of the data set of plan times."""
    found = []
    for split in splits:
        recorded = plan_times.load(split)
        for plan in recorded.plans:
            if plan.decisions or plan.flags:
                continue
            texts = (recorded.kernels[each.number] for each in plan.kernels)
            calls = (each.calls for each in plan.kernels)
            time = predict([KernelModule("", *each) for each in zip(texts, calls, strict=True)], {})
            both = zip(time.kernels, (each.seconds for each in plan.kernels), strict=True)
            kernels = [(predicted, measured) for predicted, measured in both if measured]
            pair = Pair(plan.program, split, time.seconds, plan.seconds)
            found.append(RecordedDefault(pair, kernels))
    return found


def measured_errors(pairs: Sequence[Pair], rates: Rates) -> PredictionErrors:
    """Returns by how much predictions are off."""
    return PredictionErrors.of(
        rates.machine,
        [pair.group for pair in pairs],
        [pair.predicted for pair in pairs],
        [pair.measured for pair in pairs],
    )


def errors_report(errors: PredictionErrors, defaults: Sequence[RecordedDefault]) -> str:
    """Returns the errors of predictions as text, and how far other programs agree with them."""
    factors = f"{errors.low:g}, {errors.median:g} and {errors.high:g}"
    lines = [f"measured / predicted at 5, 50 and 95 %: {factors}"]
    groups: dict[str, list[RecordedDefault]] = defaultdict(list)
    for default in defaults:
        groups[default.pair.group].append(default)
    for split, of_split in groups.items():
        inside = [_is_within(each.pair, errors) for each in of_split]
        predicted, measured = np.array([both for each in of_split for both in each.kernels]).T
        low, high, most = _weighted_quantiles(measured / predicted, measured, (0.25, 0.75, 0.95))
        lines.append(
            f"{split}: {np.mean(inside):.1%} of {len(inside)} defaults are within; half of the "
            f"time is in kernels that took {low:.2f} to {high:.2f} times as long as predicted, a "
            f"twentieth in those that took more than {most:.2f} times"
        )
    return "\n".join(lines)


def _is_within(pair: Pair, errors: PredictionErrors) -> bool:
    low, high = errors.interval(pair.predicted)
    return low <= pair.measured <= high


def _weighted_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], levels: Sequence[float]
) -> list[float]:
    order = np.argsort(values)
    places = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), levels)
    return [float(values[order][place]) for place in places]


def _points(times: dict[str, float], splits: Iterable[Split]) -> list[CalibrationSample]:
    from hlograph.profiling.calibrating import CalibrationSample

    return [
        CalibrationSample(
            "program", of.name, tuple(native().work(of.load()._native)), times[of.name]
        )
        for split in splits
        for of in corpus.load("speed", split=split)
        if of.name in times
    ]


def report(pairs: Sequence[Pair], worst: int) -> str:
    """Returns what the pairs say as text."""
    if not pairs:
        return "nothing was measured"
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.group].append(pair)
    within = [_tau(group) for group in groups.values() if len(group) > 2]
    factors = [pair.factor for pair in pairs]
    lines = [
        f"{len(pairs)} measured: tau {_tau(pairs):.3f}",
        f"within groups of more than 2: mean tau {np.mean(within):.3f} of {len(within)}"
        if within
        else "no group has more than 2",
        f"off by a factor of {np.median(factors):.2f} in the median, "
        f"{np.quantile(factors, 0.9):.2f} in nine of ten",
    ]
    for pair in sorted(pairs, key=lambda pair: -pair.factor)[:worst]:
        lines.append(
            f"  {pair.predicted:10.3g} predicted, {pair.measured:10.3g} measured  {pair.name}"
        )
    return "\n".join(lines)


def _tau(pairs: Sequence[Pair]) -> float:
    return kendall_tau([pair.predicted for pair in pairs], [pair.measured for pair in pairs])


if __name__ == "__main__":
    sys.exit(main())
