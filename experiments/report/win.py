"""The aims, and how far each method is from them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from experiments.report.comparison import BETTER, Comparison, Measure
from experiments.report.generic import ratio_bars
from experiments.report.methods import details, measures_table
from experiments.report.search import equal_budgets
from experiments.report.section import (
    Cell,
    Number,
    Section,
    Table,
    over_seeds,
    share_over_seeds,
)
from experiments.study import Study


@dataclass(frozen=True)
class Aim:
    """A value that a method is to reach."""

    heading: str
    measure: Callable[[Comparison], Measure]
    by_set: Mapping[str, float]
    """The aim, by set of the corpus; no aim for sets that are not in it."""
    at_most: bool = False
    """Whether less is better."""
    share: bool = False
    """Whether it is a share, shown in per cent."""

    def reached(self, aim: float, value: float) -> bool:
        """Whether a value, as it is, is no worse than the aim."""
        return value <= aim if self.at_most else value >= aim


GPT2, DIVERSE = "gpt2-train", "diverse"
AIMS = (
    Aim("to xla-cpu", lambda c: c.count_ratio("xla-cpu"), {GPT2: 1.14, DIVERSE: 1.15}),
    Aim("to xla-cpu-unexpanded", lambda c: c.count_ratio("xla-cpu-unexpanded"), {}),
    Aim("to xla-simplify", lambda c: c.count_ratio("xla-simplify"), {GPT2: 1.0, DIVERSE: 1.01}),
    Aim(f"to {BETTER}", lambda c: c.count_ratio(BETTER), {GPT2: 1.0, DIVERSE: 1.005}),
    Aim(f"worst to {BETTER}", lambda c: c.worst(BETTER), {GPT2: 0.98}),
    Aim("count / best known", lambda c: c.distance, {GPT2: 1.01, DIVERSE: 1.01}, at_most=True),
    Aim("within 1 % of the best known", lambda c: c.within(0.01), {}, share=True),
    Aim(
        "calls / xla-simplify's",
        lambda c: c.calls_share("xla-simplify"),
        {GPT2: 0.25, DIVERSE: 0.25},
        at_most=True,
    ),
)
"""What is aimed at on held-out families; ✓ and ✗ say of the mean over seeds whether it is there."""


def sections(study: Study) -> list[Section]:
    """The table of aims first, then each group's own tables and pictures."""
    found = [Section("Aims", _explained(), table=aims_table(study))]
    for number, group in enumerate(study.groups(), 1):
        comparison = Comparison(study, group)
        overlaps = spreads(comparison)
        if overlaps:
            found.append(Section(f"Do the seeds' spreads overlap? {group}", table=overlaps))
        equal = equal_budgets(comparison)
        if equal:
            found.append(equal)
        if comparison.against():
            bars = ratio_bars(comparison, f"ratios-{number}")
            found.append(Section(f"Count ratio: {group}", ("Dots are seeds.",), bars))
        found.append(Section(f"Methods: {group}", table=measures_table(comparison)))
        found += details(comparison)
    return found


def _explained() -> tuple[str, ...]:
    return (
        "Count ratios are reference / method, geometric means over benchmarks, above 1 the method "
        "is better; then the mean over seeds, in brackets the least and the greatest. ✓ reaches "
        "the aim of its column, ✗ does not.",
    )


def _set_of(group: str) -> str | None:
    return next((name for name in (GPT2, DIVERSE) if name in group), None)


def aims_table(study: Study) -> Table:
    """A row of aims for each group, and under it a row for each method."""
    rows: list[list[Cell]] = []
    for group in study.groups():
        comparison = Comparison(study, group)
        wanted = _set_of(group)
        aims = [aim.by_set.get(wanted) if wanted else None for aim in AIMS]
        if any(value is not None for value in aims):
            rows.append([group, "aim", *map(_aim_cell, AIMS, aims)])
        for method in comparison.methods:
            cells = [
                _cell(aim, value, comparison.over_seeds(method, aim.measure(comparison)))
                for aim, value in zip(AIMS, aims, strict=True)
            ]
            rows.append([group, method, *cells])
    return Table(("benchmarks", "method", *(aim.heading for aim in AIMS)), rows)


def _aim_cell(aim: Aim, value: float | None) -> Cell:
    if value is None:
        return None
    return Number(value, f"{'≤' if aim.at_most else '≥'} {value:g}")


def _cell(aim: Aim, wanted: float | None, values: list[float]) -> Cell:
    cell = share_over_seeds(values) if aim.share else over_seeds(values)
    if cell is None or wanted is None:
        return cell
    return Number(cell.value, f"{cell.text} {'✓' if aim.reached(wanted, cell.value) else '✗'}")


def spreads(comparison: Comparison) -> Table | None:
    """Each pair of methods of several seeds: whether the least of one is above all of the other."""
    against = comparison.against()
    if not against:
        return None
    chosen = BETTER if BETTER in against else against[0]
    values = {
        m: [v for v in comparison.over_seeds(m, comparison.count_ratio(chosen)) if v == v]
        for m in comparison.methods
    }
    several = [m for m, found in values.items() if len(found) > 1]
    several.sort(key=lambda m: -math.fsum(values[m]) / len(values[m]))
    rows: list[list[Cell]] = [
        [
            better,
            other,
            over_seeds(values[better]),
            over_seeds(values[other]),
            "apart" if min(values[better]) > max(values[other]) else "they overlap",
        ]
        for place, better in enumerate(several)
        for other in several[place + 1 :]
    ]
    headings = ("better", "other", f"better, to {chosen}", "other", "spreads")
    return Table(headings, rows) if rows else None
