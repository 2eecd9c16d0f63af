"""Figure 3: each method against the default, benchmark by benchmark."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.metrics import bootstrap_interval, geometric_mean, share, worst
from experiments.report.comparison import BETTER, Comparison
from experiments.report.methods import details, measures_table
from experiments.report.section import (
    Cell,
    Picture,
    Section,
    Table,
    interval,
    percent,
    ratio,
)
from experiments.report.style import GREY, colours, picture
from experiments.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEFAULT = "xla-cpu"
"""The paper's default is the compiler's own order."""
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4, 8)


def sections(study: Study) -> list[Section]:
    """Sorted bars and the share of benchmarks at least as good as the default."""
    found = []
    for number, group in enumerate(study.groups()):
        comparison = Comparison(study, group)
        for against in (DEFAULT, BETTER):
            if against in comparison.against():
                name = f"sorted-{number + 1}-{'default' if against == DEFAULT else 'better'}"
                found.append(_section(comparison, against, name))
        text = ["Means over seeds, in brackets the least and the greatest."]
        found.append(Section(f"Methods: {group}", text, table=measures_table(comparison)))
        found += details(comparison)
    return found


def _section(comparison: Comparison, against: str, name: str) -> Section:
    text = (
        f"Op count of {against} / of the method, of each benchmark, sorted for each method by "
        "itself: above 1 the method is better. Over seeds a bar is the geometric mean, the thin "
        "line the least and the greatest.",
    )
    table = share_table(comparison, against)
    bars = sorted_bars(comparison, against, name)
    return Section(f"Against {against}: {comparison.group}", text, bars, table)


def by_benchmark(comparison: Comparison, method: str, against: str) -> dict[str, list[float]]:
    """Ratio of each seed, by benchmark."""
    found: dict[str, list[float]] = {}
    for trial in comparison.study.of(method, comparison.group):
        for benchmark, value in comparison.ratios(trial, against).items():
            found.setdefault(benchmark, []).append(value)
    return found


def share_table(comparison: Comparison, against: str) -> Table:
    """How many benchmarks are better, equal and worse, over the means of seeds."""
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
    """Ratios in order, a panel for each method."""
    methods = comparison.methods

    def draw(figure: "Figure") -> None:
        all_axes = figure.subplots(len(methods), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, method in zip(all_axes, methods, strict=True):
            seeds = sorted(by_benchmark(comparison, method, against).values(), key=geometric_mean)
            _panel(axes, seeds, colours(methods)[method])
            good = percent(share([geometric_mean(values) for values in seeds], 1 - 1e-9))
            if good:
                axes.set_title(f"{method}: at least as good on {good.text} of {len(seeds)}")
            axes.set_ylabel("ratio")
        all_axes[-1].set_xlabel("benchmarks, sorted")

    alt = f"Sorted ratios to {against} of each benchmark of {comparison.group}, by method"
    return picture(name, alt, 0.6 + 2.1 * len(methods), draw)


def _panel(axes: "Axes", seeds: Sequence[Sequence[float]], colour: str) -> None:
    """Bars up and down from 1 on a logarithmic axis; those below are grey."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    means = [geometric_mean(values) for values in seeds]
    shades = [colour if mean >= 1 - 1e-9 else GREY for mean in means]
    axes.bar(
        range(len(means)), [m - 1 for m in means], 1.0, bottom=1, color=shades, antialiased=False
    )
    lows, highs = [min(values) for values in seeds], [max(values) for values in seeds]
    axes.vlines(range(len(means)), lows, highs, color="black", linewidth=0.6)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    low, high = min([*lows, 0.95]), max([*highs, 1.05])
    axes.set_ylim(low / 1.03, high * 1.03)
    axes.set_yticks([t for t in _TICKS if low / 1.03 <= t <= high * 1.03])
    axes.grid(axis="y", alpha=0.3)
