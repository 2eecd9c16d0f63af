"""The table of aims, and what stands behind it."""

import math

from experiments.outcomes.study import Study
from experiments.report.aims import aims_table, explained
from experiments.report.comparison import BETTER, Comparison
from experiments.report.generic import ratio_bars
from experiments.report.methods import tables
from experiments.report.search import equal_budgets
from experiments.report.section import Cell, Section, Table, over_seeds


def sections(study: Study) -> list[Section]:
    """The table of aims first, then each group's own tables and pictures."""
    found = [Section("Aims", explained(), table=aims_table(study))]
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
        found += tables(comparison, text=())
    return found


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
