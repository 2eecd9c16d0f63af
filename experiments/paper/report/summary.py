"""Summaries of studies: the best methods of each group, and the checks of their results."""

from collections.abc import Callable, Sequence

from experiments.evaluate.benchmarks import REFERENCES
from experiments.evaluate.best_known import COMPARED
from experiments.evaluate.study import Study
from experiments.paper.report.comparison import BETTER, Comparison, median_calls
from experiments.paper.report.document import (
    Cell,
    Number,
    Summary,
    Table,
    mean_over_seeds,
    over_seeds,
    share_over_seeds,
)

TO_BETTER = f"count ratio to the better of {' and '.join(REFERENCES)} on each benchmark"

MethodCell = Callable[[Comparison, str], Cell]
"""Function that returns the cell of a method."""


def ratio_to(against: str) -> MethodCell:
    """Returns the measure of the count ratio to a reference, over seeds."""
    return lambda c, method: over_seeds(c.over_seeds(method, c.count_ratio(against)))


def pass_calls(comparison: Comparison, method: str) -> Cell:
    """Returns the median over benchmarks of the pass calls, as a mean over seeds."""
    return mean_over_seeds(comparison.over_seeds(method, median_calls))


def of_counts(study: Study) -> Summary:
    """Returns the methods with the best count ratios to the better of both references."""
    columns = [
        *((f"to {name}", ratio_to(name)) for name in (*REFERENCES, BETTER)),
        ("as good as xla-cpu", _as_good),
        ("pass calls", pass_calls),
    ]
    summary = best(study, TO_BETTER, lambda c: ratio_to(BETTER), columns, most=6)
    if summary.table is None or len(study.groups()) > 1:
        return summary
    comparison, leader = Comparison(study, study.groups()[0]), summary.table.rows[0][1]
    seeds = comparison.by_method(comparison.count_ratio(BETTER))
    least = min(seeds.pop(str(leader)))
    overlaps = sum(max(values) >= least for values in seeds.values())
    first, *others = summary.sentences
    text = f"{first} Its seeds overlap with those of {overlaps} of {len(seeds)} other methods."
    return Summary([text, *others], summary.table)


def _as_good(comparison: Comparison, method: str) -> Cell:
    return share_over_seeds(comparison.over_seeds(method, comparison.share_at_least(REFERENCES[0])))


def best(
    study: Study,
    measure: str,
    rank: Callable[[Comparison], MethodCell],
    columns: Sequence[tuple[str, MethodCell]],
    most: int = 4,
    shown: Callable[[str], bool] = lambda method: True,
) -> Summary:
    """Returns a summary with the best methods of each group of benchmarks.

    Args:
        study: The study.
        measure: Name of the measure that methods are ranked by.
        rank: Returns the measure for a group; greater is better.
        columns: Headings and measures of the table.
        most: Number of methods of each group in the table.
        shown: Returns True for methods that may be in the table.
    """
    rows: list[list[Cell]] = []
    leaders, count = [], 0
    for group in study.groups():
        comparison = Comparison(study, group)
        of_group = rank(comparison)
        cells = {method: of_group(comparison, method) for method in comparison.methods}
        ranked = {m: c for m, c in cells.items() if isinstance(c, Number) and shown(m)}
        order = sorted(ranked, key=lambda method: -ranked[method].value)
        count = max(count, len(order))
        leaders += [f"{method} on {group}, {ranked[method].text}" for method in order[:1]]
        rows += [
            [group, method, *(value(comparison, method) for _, value in columns)]
            for method in order[:most]
        ]
    if not rows:
        return Summary(checks(study))
    sentences = [f"Best by {measure}: {'; '.join(leaders)}."]
    if count > most:
        sentences.append(f"The table has the best {most} of up to {count} methods of each group.")
    table = Table(("benchmarks", "method", *(heading for heading, _ in columns)), rows)
    return Summary([*sentences, *checks(study)], table)


def checks(study: Study) -> list[str]:
    """Returns a sentence on the checks of all results, if there were any."""
    results = [check for trial in study.trials for check in trial.checks]
    if not results:
        return []
    compared = sum(check.verdict in COMPARED for check in results if not check.problem)
    failed = sum(bool(check.problem) for check in results)
    return [
        f"Of {len(results):,} results {len(results) - failed:,} passed their check, {compared:,} "
        f"of these by comparing outputs with the original's; {failed:,} failed and count as no "
        "passes."
    ]
