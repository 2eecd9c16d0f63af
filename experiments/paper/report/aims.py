"""The page of the aims: the distance of each method from them, and the tables behind it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.study import Study
from experiments.paper.report.comparison import BETTER, Comparison, TrialMeasure, for_each_group
from experiments.paper.report.document import (
    Cell,
    Number,
    Section,
    Summary,
    Table,
    over_seeds,
    share_over_seeds,
)
from experiments.paper.report.methods import ratio_bars, tables
from experiments.paper.report.search import equal_budgets
from experiments.paper.report.summary import TO_BETTER, best, ratio_to
from experiments.paper.settings import same_time

Values = Callable[[Comparison, str], Sequence[float]]
"""Function that returns the judged values of a method: one for each seed, or one for all."""


@dataclass(frozen=True)
class Aim:
    """A value that a method should reach."""

    heading: str
    values: Values
    by_set: Mapping[str, float]
    """The aim by set of the corpus; other sets have no aim."""
    at_most: bool = False
    """True if less is better."""
    more: bool = False
    """True if only a value above the aim reaches it."""
    share: bool = False
    """True for a share, which is shown in per cent."""
    least: bool = False
    """True to show and judge the least over the seeds instead of their mean."""

    def reached(self, aim: float, value: float) -> bool:
        """Returns True if a value reaches the aim."""
        if self.more:
            return value > aim
        return value <= aim if self.at_most else value >= aim

    def shown(self, values: Sequence[float]) -> Number | None:
        """Returns the values of a method as a cell."""
        if self.share:
            return share_over_seeds(values)
        return over_seeds([min(values)] if self.least and values else values)

    def wanted(self, aim: float) -> str:
        """Returns the aim as text."""
        return f"{'>' if self.more else '≤' if self.at_most else '≥'} {aim:g}"


def _measured(of: Callable[[Comparison], TrialMeasure]) -> Values:
    return lambda comparison, method: comparison.over_seeds(method, of(comparison))


def _ratio(against: str) -> Values:
    return _measured(lambda comparison: comparison.count_ratio(against))


def ahead_of_random(comparison: Comparison, method: str) -> list[float]:
    """Returns op count of random search in the same time / of the method, by seed.

    Each is the geometric mean over benchmarks.
    """
    searches = {t.seed: t for t in comparison.study.of(same_time(method), comparison.group)}
    values = []
    for trial in comparison.study.of(method, comparison.group):
        if trial.seed in searches:
            random = {o.benchmark: o.op_count for o in searches[trial.seed].counted()}
            own = [o for o in trial.counted() if o.benchmark in random]
            values.append(geometric_mean([random[o.benchmark] / o.op_count for o in own]))
    return values


def ahead_of_op_counts(comparison: Comparison, method: str) -> list[float]:
    """Returns the least ratio of any seed minus the greatest of the op-count agent's.

    Both are count ratios to the better of both references; above 0 the seeds do not overlap.
    Returns nothing for methods without a GNN, and for a single seed.
    """
    if "GNN" not in method or method.startswith(same_time("")):
        return []
    other = method.replace("GNN", "op counts")
    own, theirs = (
        [v for v in comparison.over_seeds(m, comparison.count_ratio(BETTER)) if not math.isnan(v)]
        for m in (method, other)
    )
    return [min(own) - max(theirs)] if min(len(own), len(theirs)) > 1 else []


GPT2, DIVERSE = "gpt2-train", "diverse"
AIMS = (
    Aim("to xla-cpu", _ratio("xla-cpu"), {GPT2: 1.14, DIVERSE: 1.15}),
    Aim("to xla-cpu-unexpanded", _ratio("xla-cpu-unexpanded"), {}),
    Aim("to xla-simplify", _ratio("xla-simplify"), {GPT2: 1.0, DIVERSE: 1.01}),
    Aim(f"to {BETTER}", _ratio(BETTER), {GPT2: 1.0, DIVERSE: 1.005}),
    Aim(
        f"worst to {BETTER}, of all seeds",
        _measured(lambda c: c.worst(BETTER)),
        {GPT2: 0.98},
        least=True,
    ),
    Aim(
        "random search in the same time / method",
        ahead_of_random,
        {GPT2: 1.0, DIVERSE: 1.0},
        more=True,
    ),
    Aim(
        "least seed - op counts' greatest",
        ahead_of_op_counts,
        {GPT2: 0.0, DIVERSE: 0.0},
        more=True,
    ),
    Aim(
        "count / best known",
        _measured(lambda c: c.distance),
        {GPT2: 1.01, DIVERSE: 1.01},
        at_most=True,
    ),
    Aim("within 1 % of the best known", _measured(lambda c: c.within(0.01)), {}, share=True),
    Aim(
        "calls / xla-simplify's",
        _measured(lambda c: c.calls_share("xla-simplify")),
        {GPT2: 0.25, DIVERSE: 0.25},
        at_most=True,
    ),
)
"""Aims on held-out families; ✓ and ✗ in the table show if they are reached."""


EXPLAINED = (
    "Count ratios are reference / method, geometric means over benchmarks: above 1 the method is "
    "better. A cell has the mean over seeds, and in brackets the least and the greatest. ✓ reaches "
    "the aim of its column, ✗ does not. Judged is the mean over seeds, with two exceptions: the "
    "worst benchmark is that of all seeds, and all seeds of the GNN should be ahead of all seeds "
    f"of the op-count agent, by the count ratio to {BETTER}."
)
"""Text above the table of aims."""


def aims_reached(comparison: Comparison, method: str) -> str:
    """Returns how many aims a method reaches, as text."""
    verdicts = [c.text[-1] for c in _cells(comparison, method) if isinstance(c, Number)]
    return f"{verdicts.count('✓')} of {sum(verdict in '✓✗' for verdict in verdicts)}"


def _aims_of(group: str) -> list[float | None]:
    """Returns the aims of a group of benchmarks; None where it has none."""
    of_set = next((name for name in (GPT2, DIVERSE) if name in group), "")
    return [aim.by_set.get(of_set) for aim in AIMS]


def _cells(comparison: Comparison, method: str) -> list[Cell]:
    return [
        _cell(aim, wanted, aim.values(comparison, method))
        for aim, wanted in zip(AIMS, _aims_of(comparison.group), strict=True)
    ]


def aims_table(study: Study) -> Table:
    """Returns a row of aims for each group, and under it a row for each method."""
    rows: list[list[Cell]] = []
    for group in study.groups():
        comparison = Comparison(study, group)
        aims = _aims_of(group)
        if any(value is not None for value in aims):
            rows.append([group, "aim", *map(_aim_cell, AIMS, aims)])
        rows += [[group, method, *_cells(comparison, method)] for method in comparison.methods]
    return Table(("benchmarks", "method", *(aim.heading for aim in AIMS)), rows)


def _aim_cell(aim: Aim, value: float | None) -> Cell:
    return None if value is None else Number(value, aim.wanted(value))


def _cell(aim: Aim, wanted: float | None, values: Sequence[float]) -> Cell:
    defined = [value for value in values if not math.isnan(value)]
    cell = aim.shown(defined) if defined else None
    if cell is None or wanted is None:
        return cell
    return Number(cell.value, f"{cell.text} {'✓' if aim.reached(wanted, cell.value) else '✗'}")


def sections(study: Study) -> list[Section]:
    """Returns the table of aims, then each group's own tables and pictures."""
    return [Section("Aims", (EXPLAINED,), table=aims_table(study)), *_groups(study)]


@for_each_group
def _groups(c: Comparison) -> Iterator[Section]:
    overlaps = spreads(c)
    if overlaps:
        yield Section(f"Overlap of the seeds' ranges: {c.group}", table=overlaps)
    yield from equal_budgets(c)
    if c.against():
        yield Section(f"Count ratio: {c.group}", ("Dots are seeds.",), ratio_bars(c))
    yield from tables(c, text=())


def summary(study: Study) -> Summary:
    """Returns the best methods of each group, and how many aims each of them reaches."""
    columns = [(f"to {name}", ratio_to(name)) for name in ("xla-cpu", "xla-simplify", BETTER)]
    return best(
        study,
        TO_BETTER,
        lambda comparison: ratio_to(BETTER),
        [*columns, ("aims reached", aims_reached)],
        shown=lambda method: not method.startswith(same_time("")),
    )


def spreads(comparison: Comparison) -> Table | None:
    """Returns a row for each pair of methods of several seeds, and if their spreads overlap."""
    against = comparison.against()
    if not against:
        return None
    chosen = BETTER if BETTER in against else against[0]
    measured = comparison.by_method(comparison.count_ratio(chosen))
    values = {m: [v for v in seeds if not math.isnan(v)] for m, seeds in measured.items()}
    several = [m for m, seeds in values.items() if len(seeds) > 1]
    several.sort(key=lambda m: -math.fsum(values[m]) / len(values[m]))
    rows: list[list[Cell]] = [
        [
            better,
            other,
            over_seeds(values[better]),
            over_seeds(values[other]),
            "apart" if min(values[better]) > max(values[other]) else "overlap",
        ]
        for place, better in enumerate(several)
        for other in several[place + 1 :]
    ]
    headings = ("better", "other", f"better, to {chosen}", "other", "ranges")
    return Table(headings, rows) if rows else None
