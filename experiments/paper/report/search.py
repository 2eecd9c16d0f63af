"""Searches at equal budgets of pass calls and of seconds."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.picture import Picture
from experiments.evaluate.study import Study, Trial
from experiments.paper.report.comparison import BEST_KNOWN, Comparison, for_each_group
from experiments.paper.report.document import Cell, Section, Summary, Table, over_seeds
from experiments.paper.report.methods import tables
from experiments.paper.report.pictures import Line, Panel, line_panels
from experiments.paper.report.summary import best, pass_calls, ratio_to

BudgetKind = Literal["pass calls", "seconds"]
_COLUMN: dict[BudgetKind, Literal[0, 1]] = {"pass calls": 0, "seconds": 1}
_POINTS = 120  # of a line
_PER_DECADE = (1, 2, 5)


@for_each_group
def sections(c: Comparison) -> Iterator[Section]:
    """Yields anytime curves, tables at fixed budgets, and the common tables."""
    against = reference(c)
    if against and any(trial.curves for trial in c.trials()):
        text = (
            f"Op count of {against} / least op count found so far, geometric mean over benchmarks; "
            "the band lies between the seeds. A method without a curve has a diamond at its mean "
            "cost and its result.",
        )
        yield Section(f"At any time: {c.group}", text, anytime_curves(c, against))
        for budget in _COLUMN:
            title = f"Ratio to {against} by budget of {budget}: {c.group}"
            text = ("A policy's episode has values where it had ended on every benchmark.",)
            yield Section(title, text, table=budget_table(c, against, budget))
    yield from equal_budgets(c)
    yield from tables(c)


def summary(study: Study) -> Summary:
    """Returns the searches that found the fewest instructions within each budget."""
    columns = [
        (f"{BEST_KNOWN} / found", ratio_to(BEST_KNOWN)),
        ("to xla-simplify", ratio_to("xla-simplify")),
        ("pass calls", pass_calls),
    ]
    ratio = "best known op count / found"
    return best(study, ratio, lambda c: ratio_to(reference(c) or "xla-cpu"), columns)


def reference(comparison: Comparison) -> str | None:
    """Returns the best known if all benchmarks have it, or else a pipeline that all have."""
    names = {o.benchmark for t in comparison.trials() for o in t.outcomes}
    for against in (BEST_KNOWN, "xla-simplify", "xla-cpu"):
        if names and all(comparison.reference(n, against) is not None for n in names):
            return against
    return None


def count_at(trial: Trial, benchmark: str, start: int, budget: BudgetKind, spent: float) -> int:
    """Returns the least op count that a search had found on a benchmark within a budget."""
    column = _COLUMN[budget]
    counts = [point[2] for point in trial.curves.get(benchmark, ()) if point[column] <= spent]
    return min([start, *counts])


def ratio_at(
    comparison: Comparison, trial: Trial, against: str, budget: BudgetKind, spent: float
) -> float:
    """Returns the geometric mean of reference / op count found within a budget."""
    values = []
    for outcome in trial.counted():
        known_count = comparison.reference(outcome.benchmark, against)
        if known_count is not None:
            count = count_at(trial, outcome.benchmark, outcome.start, budget, spent)
            # A result that failed its check counts at no time.
            values.append(known_count / max(count, outcome.op_count))
    return geometric_mean(values)


def _spent(trial: Trial, budget: BudgetKind) -> list[float]:
    """Returns the pass calls or seconds spent on each benchmark."""
    if budget == "pass calls":
        return [float(outcome.calls) for outcome in trial.outcomes]
    ends = [max((point[1] for point in c), default=0.0) for c in trial.curves.values()]
    return list(trial.seconds) or ends


def _average(trial: Trial, budget: BudgetKind) -> float:
    spent = _spent(trial, budget)
    return sum(spent) / len(spent) if spent else math.nan


def anytime_curves(comparison: Comparison, against: str) -> Picture:
    """Draws a panel for each kind of budget, with a line for each method with curves."""
    panels = []
    for budget in _COLUMN:
        lines, points = {}, {}
        for method in comparison.methods:
            trials = comparison.study.of(method, comparison.group)
            if any(trial.curves for trial in trials):
                lines[method] = _line(comparison, trials, against, budget)
            else:
                value = comparison.count_ratio(against)
                spent = [(_average(t, budget), value(t)) for t in trials]
                defined = [(x, y) for x, y in spent if x > 0 and not math.isnan(y)]
                points |= {method: defined} if defined else {}
        label = f"{budget} on each benchmark"
        panels.append(Panel("", label, lines, points, log_x=True))
    alt = f"Ratio to {against} on {comparison.group} against pass calls and against seconds"
    return line_panels(f"anytime-{comparison.number}", alt, panels, f"ratio to {against}")


def _line(
    comparison: Comparison, trials: Sequence[Trial], against: str, budget: BudgetKind
) -> Line:
    """Returns the ratio at points that are evenly spread over a logarithmic axis."""
    column = _COLUMN[budget]
    times = [p[column] for t in trials for curve in t.curves.values() for p in curve]
    first = min((time for time in times if time > 0), default=1.0)
    last = max([*times, *(s for t in trials for s in _spent(t, budget)), first])
    x = np.geomspace(first, last, _POINTS).tolist()
    x[-1] = last  # not a rounding below it
    return Line(x, [[ratio_at(comparison, t, against, budget, s) for s in x] for t in trials])


def _budgets(comparison: Comparison, budget: BudgetKind) -> list[float]:
    """Returns budgets 1, 2, 5, 10 … up to the largest that a search spent."""
    spent = [s for t in comparison.trials() if t.curves for s in _spent(t, budget) if s > 0]
    if not spent:
        return []
    decades = range(math.floor(math.log10(min(spent))) - 1, math.ceil(math.log10(max(spent))) + 1)
    least = 10 if budget == "pass calls" else 0.01
    steps = [step * 10.0**decade for decade in decades for step in _PER_DECADE]
    return [step for step in steps if least <= step <= max(spent) * 1.001]


def budget_table(comparison: Comparison, against: str, budget: BudgetKind) -> Table:
    """Returns the ratio at fixed budgets.

    A cell is empty beyond the end of a search, and before the end of a policy's episode.
    """
    budgets = _budgets(comparison, budget)
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        trials = comparison.study.of(method, comparison.group)
        searches = [trial for trial in trials if trial.curves]
        spent = [s for trial in searches or trials for s in _spent(trial, budget)]
        if not spent:
            continue
        if searches:
            cells = [
                over_seeds([ratio_at(comparison, t, against, budget, limit) for t in searches])
                if limit <= max(spent) * 1.001
                else None
                for limit in budgets
            ]
        else:
            ratio = over_seeds([comparison.count_ratio(against)(trial) for trial in trials])
            cells = [ratio if limit >= max(spent) else None for limit in budgets]
        rows.append([method, *cells])
    return Table(("method", *(f"{limit:,g}" for limit in budgets)), rows)


def equal_budgets(comparison: Comparison) -> Iterator[Section]:
    """Yields a comparison of policies with searches that spend the same, if there are any."""
    methods = {m: comparison.study.of(m, comparison.group) for m in comparison.methods}
    policies = [m for m, t in methods.items() if not any(x.curves for x in t) and t[0].seconds]
    searches = {m: t for m, t in methods.items() if all(x.curves for x in t)}
    rows: list[list[Cell]] = []
    for policy in policies:
        for search, trials in searches.items():
            cells: list[Cell] = []
            for budget in _COLUMN:
                values = [
                    _at_the_same(own, other, budget) for own in methods[policy] for other in trials
                ]
                cells.append(over_seeds(values))
            rows.append([policy, search, *cells])
    if not rows:
        return
    text = (
        "Op count of the search / of the policy, when the search has spent the same on each "
        "benchmark as the policy: above 1 the policy is better. Least and greatest are over pairs "
        "of seeds.",
    )
    headings = ("policy", "search", *(f"at the same {budget}" for budget in _COLUMN))
    title = f"At equal budgets: {comparison.group}"
    yield Section(title, text, table=Table(headings, rows))


def _at_the_same(policy: Trial, search: Trial, budget: BudgetKind) -> float:
    spent = dict(zip((o.benchmark for o in policy.outcomes), _spent(policy, budget), strict=False))
    own = {o.benchmark: o for o in policy.counted()}
    values = []
    for other in search.counted():
        name = other.benchmark
        if name in own and name in spent:
            count = count_at(search, name, other.start, budget, spent[name])
            values.append(max(count, other.op_count) / own[name].op_count)
    return geometric_mean(values)
