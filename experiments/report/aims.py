"""The aims, and how far each method is from them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from experiments.outcomes.metrics import geometric_mean
from experiments.outcomes.study import Study
from experiments.paper.win import same_time
from experiments.report.comparison import BETTER, Comparison, Measure
from experiments.report.section import Cell, Number, Table, over_seeds, share_over_seeds

Values = Callable[[Comparison, str], Sequence[float]]
"""What is judged of a method: a value for each seed, or one of all."""


@dataclass(frozen=True)
class Aim:
    """A value that a method is to reach."""

    heading: str
    values: Values
    by_set: Mapping[str, float]
    """The aim, by set of the corpus; no aim for sets that are not in it."""
    at_most: bool = False
    """Whether less is better."""
    more: bool = False
    """Whether only more than the aim reaches it."""
    share: bool = False
    """Whether it is a share, shown in per cent."""
    least: bool = False
    """Whether the least over the seeds is shown and judged, not their mean."""

    def reached(self, aim: float, value: float) -> bool:
        """Whether a value, as it is, reaches the aim."""
        if self.more:
            return value > aim
        return value <= aim if self.at_most else value >= aim

    def shown(self, values: Sequence[float]) -> Number | None:
        """The values of a method as a cell."""
        if self.share:
            return share_over_seeds(values)
        return over_seeds([min(values)] if self.least and values else values)

    def wanted(self, aim: float) -> str:
        """The aim as text."""
        return f"{'>' if self.more else '≤' if self.at_most else '≥'} {aim:g}"


def _measured(of: Callable[[Comparison], Measure]) -> Values:
    return lambda comparison, method: comparison.over_seeds(method, of(comparison))


def _ratio(against: str) -> Values:
    return _measured(lambda comparison: comparison.count_ratio(against))


def ahead_of_random(comparison: Comparison, method: str) -> list[float]:
    """Op count of random search in the same time / of the method: geometric means, by seed."""
    searches = {t.seed: t for t in comparison.study.of(same_time(method), comparison.group)}
    found = []
    for trial in comparison.study.of(method, comparison.group):
        if trial.seed in searches:
            random = {o.benchmark: o.op_count for o in searches[trial.seed].counted()}
            own = [o for o in trial.counted() if o.benchmark in random]
            found.append(geometric_mean([random[o.benchmark] / o.op_count for o in own]))
    return found


def ahead_of_op_counts(comparison: Comparison, method: str) -> list[float]:
    """Least ratio of any seed less the greatest of the op-count agent's; above 0 they are apart.

    Both are count ratios to the better of both references. Of no method but the GNN's, and of one
    seed alone, nothing is said.
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
"""What is aimed at on held-out families; ✓ and ✗ say whether it is there."""


def explained() -> tuple[str, ...]:
    """What the table of aims is to be read by."""
    return (
        "Count ratios are reference / method, geometric means over benchmarks, above 1 the method "
        "is better; then the mean over seeds, in brackets the least and the greatest. ✓ reaches "
        "the aim of its column, ✗ does not. What is judged is the mean over seeds, but of the "
        "worst benchmark, which is that of all seeds, and of the op-count agent: all seeds of the "
        f"GNN are to be ahead of all of its, by the count ratio to {BETTER}.",
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
                _cell(aim, value, aim.values(comparison, method))
                for aim, value in zip(AIMS, aims, strict=True)
            ]
            rows.append([group, method, *cells])
    return Table(("benchmarks", "method", *(aim.heading for aim in AIMS)), rows)


def _aim_cell(aim: Aim, value: float | None) -> Cell:
    return None if value is None else Number(value, aim.wanted(value))


def _cell(aim: Aim, wanted: float | None, values: Sequence[float]) -> Cell:
    defined = [value for value in values if not math.isnan(value)]
    cell = aim.shown(defined) if defined else None
    if cell is None or wanted is None:
        return cell
    return Number(cell.value, f"{cell.text} {'✓' if aim.reached(wanted, cell.value) else '✗'}")
