"""Pages of the figures, the ablations and generalisation: op counts beside references."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.evaluate.metrics import geometric_mean, share, worst
from experiments.evaluate.picture import Picture
from experiments.evaluate.study import Study, Trial
from experiments.paper.report.comparison import BETTER, Comparison, for_each_group
from experiments.paper.report.document import (
    Cell,
    Column,
    Section,
    Table,
    interval,
    of_columns,
    over_seeds,
    percent,
    ratio,
)
from experiments.paper.report.methods import ratio_bars, tables
from experiments.paper.report.pictures import (
    GREY,
    Line,
    Panel,
    colours,
    grouped_bars,
    line_panels,
    seed_bars,
)
from hlograph.execution.bootstrap import bootstrap_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEARNING = (
    "Count ratio on modules of the split validation while training, greedily played; the other "
    "tables and pictures are of the group's own benchmarks, which were not used before the end."
)
_RATIO = (
    "Reference / method, geometric mean over benchmarks: above 1 the method is better. A bar is "
    "the mean over seeds, a dot one seed."
)
_REDUCTION = (
    "(start - method) / (start - reference), geometric mean over the benchmarks that the "
    "reference reduces; 0 if the method does not reduce one of them."
)
DEFAULT = "xla-cpu"
"""Default of the paper: the compiler's own order."""
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4, 8, 16, 32)
_FINE_TICKS = (0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15)
_DEPTH = re.compile(r"(?:depth|layers)\D{0,3}(\d+)|(\d+)\s*layers?\b", re.IGNORECASE)
_PARTS = re.compile(r"(.*) \((.*)\)")
SIZE_CLASSES = (1_000, 3_000, 10_000)
"""Upper bounds of the size classes, in op counts at the start; the last class is above."""


@for_each_group
def agents(c: Comparison) -> Iterator[Section]:
    """Yields bars of both ratios, learning curves and the common tables."""
    if c.against():
        yield Section(f"Count ratio: {c.group}", (_RATIO,), ratio_bars(c, "count-ratio"))
        bars = ratio_bars(c, "reduction-ratio", c.reduction_ratio, "Reduction ratio")
        yield Section(f"Reduction ratio, the paper's: {c.group}", (_REDUCTION,), bars)
    yield from learning(c)
    yield from tables(c)


def learning(c: Comparison) -> Iterator[Section]:
    """Yields a section with the learning curves, if anything was trained."""
    curves = learning_curves(c)
    if curves:
        yield Section(f"Learning: {c.group}", (_LEARNING,), curves)


def learning_curves(comparison: Comparison) -> Picture | None:
    """Draws the count ratio on validation by pass calls; returns None if nothing was trained."""
    trained = [t for t in comparison.trials() if t.training]
    references = list(dict.fromkeys(r for t in trained for _, ratios in t.training for r in ratios))
    if not references:
        return None
    panels = []
    for reference in references:
        lines = {m: _line(comparison, m, reference) for m in comparison.methods}
        kept = {m: line for m, line in lines.items() if line.x}
        panels.append(Panel(f"to {reference}", "pass calls trained on", kept, {}))
    alt = "Count ratio on validation modules against pass calls trained on"
    return line_panels(f"learning-{comparison.number}", alt, panels, "count ratio")


def _line(comparison: Comparison, method: str, reference: str) -> Line:
    """Returns the ratios of the seeds that were evaluated at each step."""
    by_step: dict[int, dict[int, float]] = defaultdict(dict)
    trials = comparison.study.of(method, comparison.group)
    for number, trial in enumerate(trials):
        for steps, ratios in trial.training:
            if reference in ratios:
                by_step[steps][number] = ratios[reference]
    steps = sorted(by_step)
    seeds = [[by_step[s].get(n, float("nan")) for s in steps] for n in range(len(trials))]
    return Line(steps, seeds)


@for_each_group
def by_benchmark_sections(c: Comparison) -> Iterator[Section]:
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
    values: dict[str, list[float]] = {}
    for trial in comparison.study.of(method, comparison.group):
        for benchmark, value in comparison.ratios(trial, against).items():
            values.setdefault(benchmark, []).append(value)
    return values


def share_table(comparison: Comparison, against: str) -> Table:
    """Returns the number of benchmarks that are better, equal and worse, by the mean over seeds."""
    means = {
        method: [geometric_mean(v) for v in by_benchmark(comparison, method, against).values()]
        for method in comparison.methods
    }
    # A mean of equal seeds may be off by a rounding.
    columns: list[Column] = [
        ("benchmarks", lambda m: len(means[m])),
        ("better", lambda m: sum(mean > 1 + 1e-9 for mean in means[m])),
        ("equal", lambda m: sum(abs(mean - 1) <= 1e-9 for mean in means[m])),
        ("worse", lambda m: sum(mean < 1 - 1e-9 for mean in means[m])),
        ("at least as good", lambda m: percent(share(means[m], 1 - 1e-9))),
        (
            "mean (95 % bootstrap interval)",
            lambda m: interval(geometric_mean(means[m]), bootstrap_interval(means[m])),
        ),
        ("worst", lambda m: ratio(worst(means[m]))),
    ]
    return of_columns("method", comparison.methods, columns)


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
            _sorted_panel(axes, seeds, colours(sorted_seeds)[method], limits)
            good = percent(share([geometric_mean(values) for values in seeds], 1 - 1e-9))
            if good:
                axes.set_title(f"{method}: at least as good on {good.text} of {len(seeds)}")
            axes.set_ylabel("ratio")
        all_axes[-1].set_xlabel("benchmarks, sorted")
        all_axes[-1].xaxis.set_major_locator(MaxNLocator(8, integer=True))

    alt = f"Sorted ratios to {against} of each benchmark of {comparison.group}, by method"
    return Picture(name, alt, 0.6 + 2.1 * len(sorted_seeds), draw)


def _sorted_panel(
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


def depth(method: str) -> int | None:
    """Returns the layers of a method whose name has "depth 3", "layers=3" or "3 layers"."""
    match = _DEPTH.search(method)
    return int(match[1] or match[2]) if match else None


@for_each_group
def ablations(c: Comparison) -> Iterator[Section]:
    """Yields the variants sorted by their mean, a line over depth, and the common tables."""
    for against in c.against()[:1]:
        text = (f"Count ratio to {against}, the best first; dots are seeds.",)
        yield Section(f"Variants: {c.group}", text, _sorted(c))
    line = _depths(c)
    if line:
        text = ("Count ratio by number of layers; the band lies between the seeds.",)
        yield Section(f"Depth: {c.group}", text, line)
    yield from tables(c)


def _mean(values: Sequence[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else -math.inf


def _sorted(comparison: Comparison) -> Picture:
    """Draws bars to the first reference and the better of both, in the first one's order."""
    against = [a for a in comparison.against() if a in (comparison.against()[0], BETTER)]
    values = {a: comparison.by_method(comparison.count_ratio(a)) for a in against}
    order = sorted(comparison.methods, key=lambda m: -_mean(values[against[0]][m]))
    panels = {f"to {a}": {m: values[a][m] for m in order} for a in against}
    alt = f"Count ratio of each variant on {comparison.group}, sorted"
    return seed_bars(f"variants-{comparison.number}", alt, panels)


def _depths(comparison: Comparison) -> Picture | None:
    """Draws a line over the methods that differ in depth; returns None for fewer than two."""
    by_depth = {d: m for m in comparison.methods if (d := depth(m)) is not None}
    if len(by_depth) < 2:
        return None
    lines = {}
    for against in comparison.against():
        columns = {
            d: comparison.over_seeds(by_depth[d], comparison.count_ratio(against))
            for d in sorted(by_depth)
        }
        count = max(map(len, columns.values()))
        seeds = [
            [column[n] if n < len(column) else math.nan for column in columns.values()]
            for n in range(count)
        ]
        lines[f"to {against}"] = Line(list(columns), seeds)
    panel = Panel("", "layers", lines, {})
    alt = f"Count ratio by number of layers on {comparison.group}"
    return line_panels(f"depth-{comparison.number}", alt, [panel], "count ratio")


def two_parts(method: str) -> tuple[str, str]:
    """Returns encoder and variant of a method such as "PPO, shaped rewards (GNN)".

    A method that names no encoder is an encoder of its own.
    """
    match = _PARTS.fullmatch(method)
    return (match[2], match[1]) if match else (method, method)


@for_each_group
def rewards(c: Comparison) -> Iterator[Section]:
    """Yields bars of the variants to each reference, learning curves, and the common tables."""
    for place, against in enumerate(c.against(), 1):
        series: dict[str, dict[str, Sequence[float]]] = {}
        for method, values in c.by_method(c.count_ratio(against)).items():
            encoder, variant = two_parts(method)
            series.setdefault(encoder, {})[variant] = values
        alt = f"Count ratio to {against} on {c.group}"
        label = f"count ratio to {against}"
        bars = grouped_bars(f"variants-{c.number}-{place}", alt, series, label)
        yield Section(f"Count ratio to {against}: {c.group}", ("Dots are seeds.",), bars)
    yield from learning(c)
    yield from tables(c)


def generalisation(study: Study) -> Iterator[Section]:
    """Yields ratios by group of benchmarks, then by size, then each group's own tables."""
    comparisons = [Comparison(study, group) for group in study.groups()]
    sized = by_size(study)
    sizes = [Comparison(sized, group) for group in sized.groups()]
    references = dict.fromkeys(a for c in comparisons for a in c.against())
    for place, against in enumerate(references, 1):
        title = f"Seen, unseen and larger: count ratio to {against}"
        bars = _group_bars(comparisons, against, f"groups-{place}")
        yield Section(title, ("Dots are seeds.",), bars, _group_table(comparisons, against))
        title = f"By instructions at the start: count ratio to {against}"
        bars = _group_bars(sizes, against, f"sizes-{place}")
        yield Section(title, ("All groups together.",), bars, _group_table(sizes, against))
    for comparison in comparisons:
        yield from tables(comparison, text=())


def size_class(start: int) -> str:
    """Returns the name of the size class of an op count."""
    below = 0
    for limit in SIZE_CLASSES:
        if start <= limit:
            return f"{below:,} to {limit:,}" if below else f"up to {limit:,}"
        below = limit
    return f"above {below:,}"


def by_size(study: Study) -> Study:
    """Returns the study with the benchmarks of all groups grouped by their size.

    The first trials of a method in all groups become one for each size, then the second ones.
    """
    groups = study.groups()
    parts: dict[tuple[str, int], list[Trial]] = {}
    for group in groups:
        for method in study.methods(group):
            for number, trial in enumerate(study.of(method, group)):
                parts.setdefault((method, number), []).append(trial)
    limits = [*SIZE_CLASSES, SIZE_CLASSES[-1] + 1]
    trials = [
        joined
        for size in map(size_class, limits)
        for mine in parts.values()
        if (joined := _joined(mine, size)).outcomes
    ]
    return replace(study, trials=trials)


def _joined(trials: list[Trial], size: str) -> Trial:
    """Returns one trial of all benchmarks of a size; one that is in two groups counts once."""
    outcomes = {o.benchmark: o for t in trials for o in t.counted() if size_class(o.start) == size}
    return Trial(trials[0].method, trials[0].seed, size, list(outcomes.values()))


def _group_bars(comparisons: list[Comparison], against: str, name: str) -> Picture:
    series: dict[str, dict[str, list[float]]] = {}
    for c in comparisons:
        for method, values in c.by_method(c.count_ratio(against)).items():
            series.setdefault(method, {})[c.group] = values
    alt = f"Count ratio to {against} by group of benchmarks"
    return grouped_bars(name, alt, series, f"count ratio to {against}")


def _group_table(comparisons: list[Comparison], against: str) -> Table:
    rows: list[list[Cell]] = []
    methods = list(dict.fromkeys(m for c in comparisons for m in c.methods))
    for c in comparisons:
        benchmarks = {o.benchmark for t in c.trials() for o in t.outcomes}
        values = [over_seeds(c.over_seeds(m, c.count_ratio(against))) for m in methods]
        rows.append([c.group, len(benchmarks), *values])
    return Table(("group", "benchmarks", *methods), rows)
