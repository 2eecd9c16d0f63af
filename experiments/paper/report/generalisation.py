"""Generalisation: families seen and unseen, and modules by size."""

from dataclasses import replace

from experiments.evaluate.study import Study, Trial
from experiments.paper.report.bars import grouped_bars
from experiments.paper.report.comparison import Comparison
from experiments.paper.report.methods import tables
from experiments.paper.report.section import Cell, Picture, Section, Table, over_seeds

SIZE_CLASSES = (1_000, 3_000, 10_000)
"""Upper bounds of the size classes, in op counts at the start; the last class is above."""


def size_class(start: int) -> str:
    """Returns the name of the size class of an op count."""
    below = 0
    for limit in SIZE_CLASSES:
        if start <= limit:
            return f"{below:,} to {limit:,}" if below else f"up to {limit:,}"
        below = limit
    return f"above {below:,}"


def sections(study: Study) -> list[Section]:
    """Returns ratios by group of benchmarks, then by size, then each group's own tables."""
    comparisons = [Comparison(study, group) for group in study.groups()]
    sized = by_size(study)
    sizes = [Comparison(sized, group) for group in sized.groups()]
    found = []
    references = dict.fromkeys(a for c in comparisons for a in c.against())
    for place, against in enumerate(references, 1):
        title = f"Seen, unseen and larger: count ratio to {against}"
        bars = _bars(comparisons, against, f"groups-{place}")
        found.append(Section(title, ("Dots are seeds.",), bars, _table(comparisons, against)))
        title = f"By instructions at the start: count ratio to {against}"
        bars = _bars(sizes, against, f"sizes-{place}")
        text = ("All groups together.",)
        found.append(Section(title, text, bars, _table(sizes, against)))
    for comparison in comparisons:
        found += tables(comparison, text=())
    return found


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


def _bars(comparisons: list[Comparison], against: str, name: str) -> Picture:
    series: dict[str, dict[str, list[float]]] = {}
    for c in comparisons:
        for method in c.methods:
            values = c.over_seeds(method, c.count_ratio(against))
            series.setdefault(method, {})[c.group] = values
    alt = f"Count ratio to {against} by group of benchmarks"
    return grouped_bars(name, alt, series, f"count ratio to {against}")


def _table(comparisons: list[Comparison], against: str) -> Table:
    rows: list[list[Cell]] = []
    methods = list(dict.fromkeys(m for c in comparisons for m in c.methods))
    for c in comparisons:
        benchmarks = {o.benchmark for t in c.trials() for o in t.outcomes}
        values = [over_seeds(c.over_seeds(m, c.count_ratio(against))) for m in methods]
        rows.append([c.group, len(benchmarks), *values])
    return Table(("group", "benchmarks", *methods), rows)
