"""Run times of modules before and after, measured in turn (section 5.1.2 of the paper)."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.picture import Picture
from experiments.evaluate.study import Study
from experiments.paper.paired_timing import SpeedupSummary, TimedPair, summaries
from experiments.paper.report.document import (
    Cell,
    Column,
    Section,
    Summary,
    Table,
    interval,
    of_columns,
    plain,
    ratio,
)
from experiments.paper.report.methods import common_sections
from experiments.paper.report.pictures import colours
from experiments.paper.report.summary import checks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEAN = "geometric mean (95 % bootstrap interval)"
_RUN_TIME = (
    "Time of a run before the passes / after them, both compiled by XLA:CPU with its own "
    "passes and run in turn in one process: above 1 is faster after. The value of a "
    "benchmark is the median over pairs of runs. Compile times are medians of several "
    "compilations of both, in turn. The control (a module against itself) shows the noise of "
    "run and compile times."
)


def pairs_of(study: Study) -> list[TimedPair]:
    """Returns the pairs that were measured; those without any run are left out."""
    pairs = study.measurements.get("pairs", ())
    return [TimedPair.from_json(content) for content in pairs if content["ratios"]]


def sections(study: Study) -> Iterator[Section]:
    """Yields histograms, the statistics of each method, and the table of all benchmarks."""
    pairs = pairs_of(study)
    if pairs:
        bars, table = _histograms(pairs), summary_table(pairs)
        yield Section("Run time", (_RUN_TIME,), bars, table)
        yield Section("Run time, benchmark by benchmark", table=benchmark_table(pairs))
    yield from common_sections(study)


def summary(study: Study) -> Summary:
    """Returns the mean ratio of each method, and if its interval excludes 1."""
    pairs = pairs_of(study)
    if not pairs:
        return Summary(checks(study))
    table = summary_table(pairs)
    kept = [table.headings.index(name) for name in ("method", "benchmarks", _MEAN)]
    kept += [n for n, name in enumerate(table.headings) if "(interval" in name]
    methods = summaries(pairs)
    apart = [name for name, s in methods.items() if s.low > 1 or s.high < 1]
    means = ", ".join(f"{name} {s.geometric_mean:.3f}" for name, s in methods.items())
    sentence = (
        f"Run time before / after, geometric mean: {means}. The 95 % interval excludes 1 for "
        f"{', '.join(apart) or 'no method'}."
    )
    rows = [[row[n] for n in kept] for row in table.rows]
    return Summary([sentence, *checks(study)], Table([table.headings[n] for n in kept], rows))


def summary_table(pairs: Sequence[TimedPair]) -> Table:
    """Returns a row for each method: statistics over the benchmarks' medians."""
    by_method = summaries(pairs)

    def of(value: Callable[[SpeedupSummary], Cell]) -> Callable[[str], Cell]:
        return lambda method: value(by_method[method])

    columns: list[Column] = [
        ("benchmarks", of(lambda s: s.benchmarks)),
        (_MEAN, of(lambda s: interval(s.geometric_mean, (s.low, s.high)))),
        ("arithmetic mean", of(lambda s: ratio(s.mean))),
        ("standard deviation", of(lambda s: None if s.sd is None else ratio(s.sd))),
        ("median", lambda m: ratio(statistics.median(p.median for p in pairs if p.method == m))),
        ("least", of(lambda s: ratio(s.min))),
        ("greatest", of(lambda s: ratio(s.max))),
        ("faster (interval above 1)", of(lambda s: s.faster)),
        ("slower (interval below 1)", of(lambda s: s.slower)),
        ("kernels before / after", of(lambda s: ratio(s.kernels))),
        ("compile time before / after", of(lambda s: ratio(s.compile))),
    ]
    return of_columns("method", list(by_method), columns)


def benchmark_table(pairs: Sequence[TimedPair]) -> Table:
    """Returns a row for each pair: its ratio, and the measurements before and after."""
    rows: list[list[Cell]] = [
        [
            pair.benchmark,
            pair.method,
            interval(pair.median, (pair.low, pair.high)),
            ratio(statistics.fmean(pair.ratios)),
            ratio(statistics.stdev(pair.ratios)) if len(pair.ratios) > 1 else None,
            ratio(max(pair.ratios)),
            *(plain(1e3 * side.median_seconds) for side in (pair.before, pair.after)),
            *(plain(side.kernels) for side in (pair.before, pair.after)),
            *(plain(1e3 * side.compile_seconds) for side in (pair.before, pair.after)),
        ]
        for pair in pairs
    ]
    measured = ("run ms", "kernels", "compile ms")
    headings = (
        "benchmark",
        "method",
        "median (95 % bootstrap interval)",
        "mean",
        "standard deviation",
        "greatest",
        *(f"{name} {side}" for name in measured for side in ("before", "after")),
    )
    return Table(headings, rows, folded=len(rows) > 30)


def _histograms(pairs: Sequence[TimedPair]) -> Picture:
    """Draws histograms of the benchmarks' medians, a panel for each method."""
    methods = {m: [p.median for p in pairs if p.method == m] for m in summaries(pairs)}
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
        for axes, (method, medians) in zip(all_axes, methods.items(), strict=True):
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
    return Picture("run-time", alt, 0.8 + 1.9 * len(methods), draw)
