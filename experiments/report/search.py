"""Searches at equal budgets: how good after so many pass calls, and after so many seconds."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from experiments.outcomes.metrics import geometric_mean
from experiments.outcomes.study import Study, Trial
from experiments.report.comparison import BEST_KNOWN, Comparison
from experiments.report.lines import Line, Panel, line_panels
from experiments.report.methods import tables
from experiments.report.section import Cell, Picture, Section, Table, over_seeds

Budget = Literal["pass calls", "seconds"]
_COLUMN: dict[Budget, Literal[0, 1]] = {"pass calls": 0, "seconds": 1}
_POINTS = 120  # of a line
_PER_DECADE = (1, 2, 5)


def sections(study: Study) -> list[Section]:
    """Anytime curves, tables at fixed budgets, and the common tables."""
    found = []
    for number, group in enumerate(study.groups(), 1):
        comparison = Comparison(study, group)
        against = reference(comparison)
        if against and any(trial.curves for trial in comparison.trials()):
            text = (
                f"Op count of {against} / of the best that was found so far, geometric mean over "
                "benchmarks; the band lies between the seeds. Where a method has no curve, a "
                "diamond says what it spent on an average benchmark, and what it came to.",
            )
            curves = anytime_curves(comparison, against, f"anytime-{number}")
            found.append(Section(f"At any time: {group}", text, curves))
            for budget in _COLUMN:
                table = budget_table(comparison, against, budget)
                title = f"Ratio to {against} after so many {budget}: {group}"
                text = ("A policy's own episode stands where it had ended on every benchmark.",)
                found.append(Section(title, text, table=table))
        equal = equal_budgets(comparison)
        if equal:
            found.append(equal)
        found += tables(comparison)
    return found


def reference(comparison: Comparison) -> str | None:
    """The best known where it is known of all benchmarks, or else the last pipeline that is."""
    names = {o.benchmark for t in comparison.trials() for o in t.outcomes}
    for against in (BEST_KNOWN, "xla-simplify", "xla-cpu"):
        if names and all(comparison.reference(n, against) is not None for n in names):
            return against
    return None


def count_at(trial: Trial, benchmark: str, start: int, budget: Budget, spent: float) -> int:
    """Least op count that a search had found of a benchmark when it had spent so much."""
    column = _COLUMN[budget]
    found = [point[2] for point in trial.curves.get(benchmark, ()) if point[column] <= spent]
    return min([start, *found])


def ratio_at(
    comparison: Comparison, trial: Trial, against: str, budget: Budget, spent: float
) -> float:
    """Geometric mean of reference / what was found within a budget on each benchmark."""
    values = []
    for outcome in trial.counted():
        known = comparison.reference(outcome.benchmark, against)
        if known is not None:
            count = count_at(trial, outcome.benchmark, outcome.start, budget, spent)
            # What was found and failed its check later does not count at any time.
            values.append(known / max(count, outcome.op_count))
    return geometric_mean(values)


def _spent(trial: Trial, budget: Budget) -> list[float]:
    """What was spent on each benchmark."""
    if budget == "pass calls":
        return [float(outcome.calls) for outcome in trial.outcomes]
    ends = [max((point[1] for point in c), default=0.0) for c in trial.curves.values()]
    return list(trial.seconds) or ends


def _average(trial: Trial, budget: Budget) -> float:
    spent = _spent(trial, budget)
    return sum(spent) / len(spent) if spent else math.nan


def anytime_curves(comparison: Comparison, against: str, name: str) -> Picture:
    """A panel for each kind of budget, a line for each method with curves."""
    panels = []
    for budget in _COLUMN:
        lines, points = {}, {}
        for method in comparison.methods:
            trials = comparison.study.of(method, comparison.group)
            if any(trial.curves for trial in trials):
                lines[method] = _line(comparison, trials, against, budget)
            else:
                value = comparison.count_ratio(against)
                found = [(_average(t, budget), value(t)) for t in trials]
                points[method] = [(x, y) for x, y in found if x > 0 and not math.isnan(y)]
        points = {method: found for method, found in points.items() if found}
        label = f"{budget} on each benchmark"
        panels.append(Panel("", label, lines, points, log_x=True))
    alt = f"Ratio to {against} on {comparison.group} against pass calls and against seconds"
    return line_panels(name, alt, panels, f"ratio to {against}")


def _line(comparison: Comparison, trials: Sequence[Trial], against: str, budget: Budget) -> Line:
    """The ratio at points that are evenly spread over a logarithmic axis."""
    column = _COLUMN[budget]
    times = [p[column] for t in trials for curve in t.curves.values() for p in curve]
    first = min((time for time in times if time > 0), default=1.0)
    last = max([*times, *(s for t in trials for s in _spent(t, budget)), first])
    x = np.geomspace(first, last, _POINTS).tolist()
    x[-1] = last  # not a rounding below it
    return Line(x, [[ratio_at(comparison, t, against, budget, s) for s in x] for t in trials])


def _budgets(comparison: Comparison, budget: Budget) -> list[float]:
    """1, 2, 5, 10 … up to what the largest search spent."""
    spent = [s for t in comparison.trials() if t.curves for s in _spent(t, budget) if s > 0]
    if not spent:
        return []
    decades = range(math.floor(math.log10(min(spent))) - 1, math.ceil(math.log10(max(spent))) + 1)
    least = 10 if budget == "pass calls" else 0.01
    steps = [step * 10.0**decade for decade in decades for step in _PER_DECADE]
    return [step for step in steps if least <= step <= max(spent) * 1.001]


def budget_table(comparison: Comparison, against: str, budget: Budget) -> Table:
    """The ratio at fixed budgets; empty where a search ended before, and an episode after."""
    budgets = _budgets(comparison, budget)
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        trials = comparison.study.of(method, comparison.group)
        if not any(_spent(trial, budget) for trial in trials):
            continue
        cells = _search_at if any(trial.curves for trial in trials) else _episode_at
        rows.append([method, *cells(comparison, trials, against, budget, budgets)])
    return Table(("method", *(f"{limit:,g}" for limit in budgets)), rows)


def _search_at(
    comparison: Comparison,
    trials: Sequence[Trial],
    against: str,
    budget: Budget,
    limits: Sequence[float],
) -> list[Cell]:
    """What a search had found at each budget; nothing beyond what it spent."""
    trials = [trial for trial in trials if trial.curves]
    most = max(max(_spent(t, budget), default=0.0) for t in trials) * 1.001
    return [
        over_seeds([ratio_at(comparison, t, against, budget, limit) for t in trials])
        if limit <= most
        else None
        for limit in limits
    ]


def _episode_at(
    comparison: Comparison,
    trials: Sequence[Trial],
    against: str,
    budget: Budget,
    limits: Sequence[float],
) -> list[Cell]:
    """What a policy's episode came to, at each budget that was enough for it everywhere."""
    most = max(max(_spent(t, budget), default=0.0) for t in trials)
    found = over_seeds([comparison.count_ratio(against)(trial) for trial in trials])
    return [found if limit >= most else None for limit in limits]


def equal_budgets(comparison: Comparison) -> Section | None:
    """Policies against searches that are given what the policy spent, on each benchmark."""
    methods = {m: comparison.study.of(m, comparison.group) for m in comparison.methods}
    policies = [m for m, t in methods.items() if not any(x.curves for x in t) and t[0].seconds]
    searches = {m: t for m, t in methods.items() if all(x.curves for x in t)}
    rows: list[list[Cell]] = []
    for policy in policies:
        for search, trials in searches.items():
            cells: list[Cell] = []
            for budget in _COLUMN:
                values = [
                    _at_the_same(one, other, budget) for one in methods[policy] for other in trials
                ]
                cells.append(over_seeds(values))
            rows.append([policy, search, *cells])
    if not rows:
        return None
    text = (
        "Op count of the search / of the policy, when the search has spent on each benchmark "
        "what the policy spent on it: above 1 the policy is better. Least and greatest are over "
        "pairs of seeds.",
    )
    headings = ("policy", "search", *(f"at the same {budget}" for budget in _COLUMN))
    title = f"At equal budgets: {comparison.group}"
    return Section(title, text, table=Table(headings, rows))


def _at_the_same(policy: Trial, search: Trial, budget: Budget) -> float:
    spent = dict(zip((o.benchmark for o in policy.outcomes), _spent(policy, budget), strict=False))
    own = {o.benchmark: o for o in policy.counted()}
    values = []
    for other in search.counted():
        name = other.benchmark
        if name in own and name in spent:
            count = count_at(search, name, other.start, budget, spent[name])
            values.append(max(count, other.op_count) / own[name].op_count)
    return geometric_mean(values)
