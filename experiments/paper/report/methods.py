"""Tables and bars of every comparison of methods: measures, checks, costs and raw counts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from experiments.evaluate.picture import Picture
from experiments.evaluate.study import Trial
from experiments.paper.report.comparison import (
    BEST_KNOWN,
    BETTER,
    Comparison,
    TrialMeasure,
    for_each_group,
    median_calls,
    median_milliseconds,
    median_passes,
)
from experiments.paper.report.document import (
    Cell,
    Column,
    Section,
    Table,
    mean_over_seeds,
    of_columns,
    over_seeds,
    plain,
    share_over_seeds,
)
from experiments.paper.report.pictures import seed_bars

VERDICTS = ("equal", "close", "not comparable", "not compared")
OVER_SEEDS = "Means over seeds, in brackets the least and the greatest."
"""Text above a table of measures."""
_CHOSEN = "xla-simplify"  # whose costs stand beside a method's


def measures_table(comparison: Comparison) -> Table:
    """Returns both ratios, distance from the best known and costs, a row for each method."""
    c = comparison
    columns: list[Column] = [("seeds", lambda m: len(c.study.of(m, c.group)))]
    for against in c.against():
        columns.append((f"count ratio to {against}", _seeds(c, c.count_ratio(against))))
    for against in c.against():
        columns.append((f"reduction ratio to {against}", _seeds(c, c.reduction_ratio(against))))
    columns += [
        ("count / best known", _seeds(c, c.distance)),
        (
            "as good as xla-cpu",
            lambda m: share_over_seeds(c.over_seeds(m, c.share_at_least("xla-cpu"))),
        ),
        *_spent(c),
    ]
    return of_columns("method", c.methods, columns)


def _seeds(comparison: Comparison, measure: Callable[[Trial], float]) -> Callable[[str], Cell]:
    return lambda method: over_seeds(comparison.over_seeds(method, measure))


def _spent(comparison: Comparison) -> list[Column]:
    def mean(measure: Callable[[Trial], float]) -> Callable[[str], Cell]:
        return lambda method: mean_over_seeds(comparison.over_seeds(method, measure))

    return [("pass calls", mean(median_calls)), ("ms", mean(median_milliseconds))]


def checks_table(comparison: Comparison) -> Table | None:
    """Returns the numbers of checked results, over all seeds; None if none was checked."""
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        trials = comparison.study.of(method, comparison.group)
        checks = [check for trial in trials for check in trial.checks]
        good = [check for check in checks if not check.problem]
        verdicts = Counter(check.verdict for check in good)
        counts = [len(checks), len(good), *map(verdicts.__getitem__, VERDICTS)]
        if checks:
            rows.append([method, *counts, len(checks) - len(good)])
    headings = ("method", "checked", "verified", *VERDICTS, "failed, not counted")
    return Table(headings, rows) if rows else None


def notes(comparison: Comparison) -> Iterator[str]:
    """Yields notes on benchmarks that means leave out or hide."""
    trials = comparison.trials()
    for against in comparison.against():
        names = sorted(
            {n for t in trials for n in comparison.reduction(t, against).not_reduced_by_reference}
        )
        if names:
            yield f"{against} does not reduce {_listed(names)}: no reduction ratio."
    for trial in trials:
        names = comparison.reduction(trial, "xla-cpu").not_reduced_by_agent
        if names:
            yield (
                f"{trial.method}, seed {trial.seed}, does not reduce {_listed(names)}: its "
                "reduction ratio is 0."
            )
        for outcome, check in zip(trial.outcomes, trial.checks, strict=False):
            if check.problem:
                yield (
                    f"Not counted: {trial.method}, seed {trial.seed}, on {outcome.benchmark}: "
                    f"{check.problem}"
                )
    partly = {a: _count(comparison, a) for a in (*comparison.against(), BEST_KNOWN)}
    total = _count(comparison, None)
    for against, number in partly.items():
        if 0 < number < total:
            yield f"{against} is known for {number} of {total} benchmarks."


def _listed(names: Sequence[str]) -> str:
    """Returns names as text, at most six of them."""
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def _benchmarks(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(o.benchmark for t in comparison.trials() for o in t.outcomes))


def _count(comparison: Comparison, against: str | None) -> int:
    names = _benchmarks(comparison)
    return sum(against is None or comparison.reference(n, against) is not None for n in names)


def costs_table(comparison: Comparison) -> Table | None:
    """Returns passes, calls and milliseconds, beside those of the reference pipelines.

    None if no pipeline was run on these benchmarks.
    """
    study, names = comparison.study, _benchmarks(comparison)
    rows: list[list[Cell]] = []
    for pipeline in comparison.against():
        references = [study.references[name] for name in names]
        calls = [r.calls[pipeline] for r in references if pipeline in r.calls]
        seconds = [r.seconds[pipeline] for r in references if pipeline in r.seconds]
        if calls:
            spent = plain(1e3 * median(seconds)) if seconds else None
            rows.append([pipeline, None, plain(median(calls)), spent, None])
    if not rows:
        return None
    rows += [[method, *_costs(comparison, method)] for method in comparison.methods]
    headings = ("method", "passes that changed something", "pass calls", "ms")
    return Table((*headings, f"calls / {_CHOSEN}'s"), rows)


def _costs(comparison: Comparison, method: str) -> list[Cell]:
    measures = (median_passes, median_calls, median_milliseconds)
    values = [comparison.over_seeds(method, measure) for measure in measures]
    share = comparison.over_seeds(method, comparison.calls_share(_CHOSEN))
    return [*map(mean_over_seeds, values), over_seeds(share)]


def counts_table(comparison: Comparison) -> Table:
    """Returns op counts of every benchmark; of several seeds the mean, least and greatest."""
    study, against = comparison.study, comparison.against()
    pipelines = [name for name in against if name != BETTER]
    beside = [*pipelines, *([BEST_KNOWN] if _count(comparison, BEST_KNOWN) else [])]
    counts: dict[tuple[str, str], list[float]] = {}
    for trial in comparison.trials():
        for outcome in trial.counted():
            counts.setdefault((outcome.benchmark, trial.method), []).append(outcome.op_count)
    rows: list[list[Cell]] = [
        [
            name,
            study.references[name].start,
            *(comparison.reference(name, a) for a in beside),
            *(over_seeds(counts.get((name, m), ()), decimals=0) for m in comparison.methods),
        ]
        for name in _benchmarks(comparison)
    ]
    headings = ("benchmark", "start", *beside, *comparison.methods)
    return Table(headings, rows, folded=True)


def details(comparison: Comparison) -> Iterator[Section]:
    """Yields costs, checks and raw counts of a group, which follow its main table."""
    group = comparison.group
    left_out = list(notes(comparison))
    if left_out:
        table = Table(("note",), [[note] for note in left_out], folded=len(left_out) > 8)
        yield Section(f"Notes on the means: {group}", table=table)
    costs, checks = costs_table(comparison), checks_table(comparison)
    if costs:
        text = "Medians over benchmarks; the last column is a geometric mean of shares."
        yield Section(f"Costs: {group}", (text,), table=costs)
    if checks:
        yield Section(f"Checks: {group}", table=checks)
    yield Section(f"Op counts: {group}", table=counts_table(comparison))


def tables(comparison: Comparison, text: Sequence[str] = (OVER_SEEDS,)) -> Iterator[Section]:
    """Yields a group's main table, with a row for each method, and its details.

    Args:
        comparison: The group.
        text: Text above the main table.
    """
    yield Section(f"Methods: {comparison.group}", text, table=measures_table(comparison))
    yield from details(comparison)


def ratio_bars(
    comparison: Comparison,
    name: str = "ratios",
    measure: Callable[[str], TrialMeasure] | None = None,
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
    panels = {f"to {a}": comparison.by_method(measure(a)) for a in comparison.against()}
    alt = f"{title} of each method to each reference on {comparison.group}"
    return seed_bars(f"{name}-{comparison.number}", alt, panels)


@for_each_group
def common_sections(c: Comparison) -> Iterator[Section]:
    """Yields bars of the count ratio, the table of measures, and its details."""
    if c.against():
        yield Section(c.group, (), ratio_bars(c), measures_table(c))
    yield from details(c)
