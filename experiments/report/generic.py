"""What is shown of a study that nothing more particular is known of."""

from collections.abc import Callable

from experiments.outcomes.study import Study
from experiments.report.bars import seed_bars
from experiments.report.comparison import Comparison, Measure
from experiments.report.methods import details, measures_table
from experiments.report.section import Picture, Section


def ratio_bars(
    comparison: Comparison,
    name: str,
    measure: Callable[[str], Measure] | None = None,
    title: str = "Count ratio",
) -> Picture:
    """Ratios of all methods against each reference.

    Args:
        comparison: The group.
        name: Name of the picture.
        measure: The measure against a reference; None is the count ratio.
        title: What the measure is called.
    """
    measure = measure or comparison.count_ratio
    panels = {
        f"to {against}": {m: comparison.over_seeds(m, measure(against)) for m in comparison.methods}
        for against in comparison.against()
    }
    alt = f"{title} of each method to each reference on {comparison.group}"
    return seed_bars(name, alt, panels)


def sections(study: Study) -> list[Section]:
    """Bars of the count ratio and the table of each group of benchmarks."""
    found = []
    for number, group in enumerate(study.groups()):
        comparison = Comparison(study, group)
        if comparison.against():
            bars = ratio_bars(comparison, f"ratios-{number + 1}")
            table = measures_table(comparison)
            found.append(Section(group, (), bars, table))
        found += details(comparison)
    return found
