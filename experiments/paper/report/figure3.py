"""Figure 3: each method against the default, benchmark by benchmark."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.evaluate.metrics import geometric_mean, share, worst
from experiments.paper.report.comparison import BETTER, Comparison, for_each_group
from experiments.paper.report.methods import tables
from experiments.paper.report.section import (
    Cell,
    Picture,
    Section,
    Table,
    interval,
    percent,
    ratio,
)
from experiments.paper.report.style import GREY, colours, picture
from hlograph.execution.bootstrap import bootstrap_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEFAULT = "xla-cpu"
"""Default of the paper: the compiler's own order."""
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4, 8, 16, 32)
_FINE_TICKS = (0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15)


@for_each_group
def sections(c: Comparison) -> Iterator[Section]:
    """Yields sorted bars with the share of benchmarks as good as the default, and the tables."""
    for against in (DEFAULT, BETTER):
        if against in c.against():
            text = (
                f"Op count of {against} / of the method, of each benchmark, sorted for each method "
                "by itself: above 1 the method is better. Over seeds a bar is the geometric mean, "
                "the thin line the least and the greatest.",
            )
            name = f"sorted-{c.number}-{'default' if against == DEFAULT else 'better'}"
            bars, table = sorted_bars(c, against, name), share_table(c, against)
            yield Section(f"Against {against}: {c.group}", text, bars, table)
    yield from tables(c)


def by_benchmark(comparison: Comparison, method: str, against: str) -> dict[str, list[float]]:
    """Returns the ratio of each seed, by benchmark."""
    found: dict[str, list[float]] = {}
    for trial in comparison.study.of(method, comparison.group):
        for benchmark, value in comparison.ratios(trial, against).items():
            found.setdefault(benchmark, []).append(value)
    return found


def share_table(comparison: Comparison, against: str) -> Table:
    """Returns the number of benchmarks that are better, equal and worse, by the mean over seeds."""
    rows: list[Sequence[Cell]] = []
    for method in comparison.methods:
        seeds = by_benchmark(comparison, method, against)
        means = [geometric_mean(values) for values in seeds.values()]
        # A mean of equal seeds may be off by a rounding.
        counts = [sum(m > 1 + 1e-9 for m in means), sum(abs(m - 1) <= 1e-9 for m in means)]
        rows.append(
            [
                method,
                len(means),
                *counts,
                len(means) - sum(counts),
                percent(share(means, 1 - 1e-9)),
                interval(geometric_mean(means), bootstrap_interval(means)),
                ratio(worst(means)),
            ]
        )
    headings = (
        "method",
        "benchmarks",
        "better",
        "equal",
        "worse",
        "at least as good",
        "mean (95 % bootstrap interval)",
        "worst",
    )
    return Table(headings, rows)


def sorted_bars(comparison: Comparison, against: str, name: str) -> Picture:
    """Draws the sorted ratios, a panel for each method."""
    sorted_seeds = {
        method: sorted(by_benchmark(comparison, method, against).values(), key=geometric_mean)
        for method in comparison.methods
    }
    # The panels share an axis, which has to hold what all of them show.
    values = [v for seeds in sorted_seeds.values() for each in seeds for v in each]
    limits = (min([0.95, *values]) / 1.03, max([1.05, *values]) * 1.03)

    def draw(figure: "Figure") -> None:
        from matplotlib.ticker import MaxNLocator

        count = len(sorted_seeds)
        all_axes = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (method, seeds) in zip(all_axes, sorted_seeds.items(), strict=True):
            _panel(axes, seeds, colours(sorted_seeds)[method], limits)
            good = percent(share([geometric_mean(values) for values in seeds], 1 - 1e-9))
            if good:
                axes.set_title(f"{method}: at least as good on {good.text} of {len(seeds)}")
            axes.set_ylabel("ratio")
        all_axes[-1].set_xlabel("benchmarks, sorted")
        all_axes[-1].xaxis.set_major_locator(MaxNLocator(8, integer=True))

    alt = f"Sorted ratios to {against} of each benchmark of {comparison.group}, by method"
    return picture(name, alt, 0.6 + 2.1 * len(sorted_seeds), draw)


def _panel(
    axes: "Axes", seeds: Sequence[Sequence[float]], colour: str, limits: tuple[float, float]
) -> None:
    """Draws bars up and down from 1 on a logarithmic axis; those below are grey."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    places = range(1, len(seeds) + 1)
    means = [geometric_mean(values) for values in seeds]
    shades = [colour if mean >= 1 - 1e-9 else GREY for mean in means]
    heights = [mean - 1 for mean in means]
    axes.bar(places, heights, 1.0, bottom=1, color=shades, antialiased=False)
    axes.vlines(places, list(map(min, seeds)), list(map(max, seeds)), color="black", linewidth=0.6)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(*limits)
    ticks = _TICKS if limits[1] / limits[0] > 1.4 else _FINE_TICKS
    axes.set_yticks([tick for tick in ticks if limits[0] <= tick <= limits[1]])
    axes.grid(axis="y", alpha=0.3)
