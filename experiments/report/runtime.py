"""Run times of modules before and after, measured in turn (section 5.1.2 of the paper)."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.outcomes.metrics import bootstrap_interval, geometric_mean
from experiments.outcomes.study import Study
from experiments.report import generic
from experiments.report.section import (
    Cell,
    Number,
    Picture,
    Section,
    Table,
    interval,
    plain,
    ratio,
)
from experiments.report.style import colours, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDES = ("before", "after")


@dataclass(frozen=True)
class Pair:
    """One benchmark before and after a method's passes."""

    benchmark: str
    method: str
    ratios: Sequence[float]
    """Run time before / after, of each pair of runs; above 1 is faster after."""
    sides: Mapping[str, Mapping[str, Any]]
    """"before" and "after": compile_seconds, kernels, median_seconds, where known."""
    found: tuple[float, float] | None = None
    """The interval that the study holds, if it does."""

    @property
    def median(self) -> float:
        """Median over the pairs of runs."""
        return statistics.median(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of the median: the one that was found when it was measured."""
        return self.found or bootstrap_interval(self.ratios, statistic="median")

    def over(self, key: str) -> float | None:
        """What is measured before / after; None where one of them is not known or 0."""
        before, after = (self.sides[side].get(key) for side in _SIDES)
        return before / after if before and after else None


def pairs_of(study: Study) -> list[Pair]:
    """The pairs that were measured; those without any run are left out."""
    return [_pair(content) for content in study.measurements.get("pairs", ()) if content["ratios"]]


def _pair(content: Mapping[str, Any]) -> Pair:
    sides = {side: content.get(side) or {} for side in _SIDES}
    known = "low" in content and "high" in content
    found = (content["low"], content["high"]) if known else None
    return Pair(content["benchmark"], content["method"], content["ratios"], sides, found)


def sections(study: Study) -> list[Section]:
    """Histograms, the table over benchmarks, and that of each benchmark."""
    pairs = pairs_of(study)
    if not pairs:
        return generic.sections(study)
    text = (
        "Time of a run before the passes / after them, both compiled by XLA:CPU in its own way "
        "and run in turn in one process: above 1 is faster after. Of each benchmark the median "
        "over pairs of runs. Compile times are medians of several compilations of both, in turn. "
        "What the control shows (a module and itself) is noise, of run and of compile times.",
    )
    summary = Section("Run time", text, _histograms(pairs), summary_table(pairs))
    each = Section("Run time, benchmark by benchmark", table=benchmark_table(pairs))
    return [summary, each, *generic.sections(study)]


def _by_method(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    return {m: [p for p in pairs if p.method == m] for m in dict.fromkeys(p.method for p in pairs)}


def summary_table(pairs: Sequence[Pair]) -> Table:
    """A row for each method: statistics over the benchmarks' medians."""
    rows: list[list[Cell]] = []
    for method, mine in _by_method(pairs).items():
        medians = [pair.median for pair in mine]
        mean = geometric_mean(medians)
        intervals = [pair.interval for pair in mine]
        rows.append(
            [
                method,
                len(mine),
                interval(mean, bootstrap_interval(medians)),
                ratio(statistics.fmean(medians)),
                ratio(statistics.stdev(medians)) if len(medians) > 1 else None,
                ratio(statistics.median(medians)),
                ratio(min(medians)),
                ratio(max(medians)),
                sum(low > 1 for low, _ in intervals),
                sum(high < 1 for _, high in intervals),
                *(_mean_over(mine, key) for key in ("kernels", "compile_seconds")),
            ]
        )
    headings = (
        "method",
        "benchmarks",
        "geometric mean (95 % bootstrap interval)",
        "arithmetic mean",
        "standard deviation",
        "median",
        "least",
        "greatest",
        "faster for certain",
        "slower for certain",
        "kernels before / after",
        "compile time before / after",
    )
    return Table(headings, rows)


def _mean_over(pairs: Sequence[Pair], key: str) -> Number | None:
    return ratio(geometric_mean([v for p in pairs if (v := p.over(key)) is not None]))


def benchmark_table(pairs: Sequence[Pair]) -> Table:
    """A row for each pair: its ratio, and what was measured before and after."""
    rows: list[list[Cell]] = []
    for pair in pairs:
        median = pair.median
        deviation = statistics.stdev(pair.ratios) if len(pair.ratios) > 1 else None
        rows.append(
            [
                pair.benchmark,
                pair.method,
                interval(median, pair.interval),
                ratio(statistics.fmean(pair.ratios)),
                None if deviation is None else ratio(deviation),
                ratio(max(pair.ratios)),
                *(
                    _cell(pair.sides[side].get(key), scale)
                    for key, scale in (
                        ("median_seconds", 1e3),
                        ("kernels", 1),
                        ("compile_seconds", 1e3),
                    )
                    for side in _SIDES
                ),
            ]
        )
    headings = (
        "benchmark",
        "method",
        "median (95 % bootstrap interval)",
        "mean",
        "standard deviation",
        "greatest",
        *(f"{what} {side}" for what in ("run ms", "kernels", "compile ms") for side in _SIDES),
    )
    return Table(headings, rows, folded=len(rows) > 30)


def _cell(value: float | None, scale: float) -> Number | None:
    return None if value is None else plain(scale * value)


def _histograms(pairs: Sequence[Pair]) -> Picture:
    """How many benchmarks have which median, a panel for each method."""
    methods = _by_method(pairs)
    everything = [pair.median for pair in pairs]
    low, high = min([0.95, *everything]), max([1.05, *everything])

    def draw(figure: "Figure") -> None:
        import numpy as np
        from matplotlib.ticker import MaxNLocator

        # An edge at 1, so that no bin holds both faster and slower ones.
        step = np.log(high / low) / 30
        below, above = np.ceil(-np.log(low) / step), np.ceil(np.log(high) / step)
        bins = np.exp(step * np.arange(-below, above + 1))
        all_axes = figure.subplots(len(methods), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (method, mine) in zip(all_axes, methods.items(), strict=True):
            medians = [pair.median for pair in mine]
            axes.hist(medians, bins=bins.tolist(), color=colours(methods)[method])
            mean = geometric_mean(medians)
            axes.axvline(1, color="black", linewidth=0.8)
            axes.axvline(mean, color="black", linewidth=1.2, linestyle="--")
            axes.set_title(f"{method}: geometric mean {mean:.3f} (dashed)")
            axes.set_ylabel("benchmarks")
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.grid(axis="y", alpha=0.3)
        all_axes[-1].set_xlabel("run time before / after, median over pairs of runs")

    alt = "Histogram of the run time before / after, by method"
    return picture("run-time", alt, 0.8 + 1.9 * len(methods), draw)
