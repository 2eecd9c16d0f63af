"""Sections of a study of no particular kind, and bars of ratios for all kinds."""

from collections.abc import Callable, Iterator

from experiments.report.bars import seed_bars
from experiments.report.comparison import Comparison, Measure, for_each_group
from experiments.report.methods import details, measures_table
from experiments.report.section import Picture, Section


def ratio_bars(
    comparison: Comparison,
    name: str = "ratios",
    measure: Callable[[str], Measure] | None = None,
    title: str = "Count ratio",
) -> Picture:
    """Draws ratios of all methods to each reference.

    Args:
        comparison: The group.
        name: Name of the picture, to which the group's number is added.
        measure: Returns the measure for a reference; None is the count ratio.
        title: Name of the measure.
    """
    measure = measure or comparison.count_ratio
    panels = {
        f"to {against}": {m: comparison.over_seeds(m, measure(against)) for m in comparison.methods}
        for against in comparison.against()
    }
    alt = f"{title} of each method to each reference on {comparison.group}"
    return seed_bars(f"{name}-{comparison.number}", alt, panels)


@for_each_group
def sections(c: Comparison) -> Iterator[Section]:
    """Yields bars of the count ratio, the table of measures, and its details."""
    if c.against():
        yield Section(c.group, (), ratio_bars(c), measures_table(c))
    yield from details(c)
