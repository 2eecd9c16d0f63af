"""The table of aims, and the tables behind it."""

import math
from collections.abc import Iterator

from experiments.evaluate.study import Study
from experiments.paper.report.aims import EXPLAINED, aims_reached, aims_table
from experiments.paper.report.comparison import BETTER, Comparison, for_each_group
from experiments.paper.report.methods import ratio_bars, tables
from experiments.paper.report.search import equal_budgets
from experiments.paper.report.section import Cell, Section, Summary, Table, over_seeds
from experiments.paper.report.summary import TO_BETTER, best, ratio_to
from experiments.paper.settings import same_time


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
            "apart" if min(values[better]) > max(values[other]) else "overlap",
        ]
        for place, better in enumerate(several)
        for other in several[place + 1 :]
    ]
    headings = ("better", "other", f"better, to {chosen}", "other", "ranges")
    return Table(headings, rows) if rows else None
