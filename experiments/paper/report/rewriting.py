"""Rewriting methods: instructions, estimated cost, run time and search time side by side."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from experiments.evaluate.best_known import COMPARED
from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.picture import Picture
from experiments.evaluate.study import Study, Trial
from experiments.paper.report import runtime
from experiments.paper.report.comparison import Comparison, median_calls
from experiments.paper.report.document import (
    TO,
    Cell,
    Column,
    Section,
    Summary,
    Table,
    interval,
    mean_over_seeds,
    of_columns,
    over_seeds,
)
from experiments.paper.report.methods import details
from experiments.paper.report.pictures import seed_bars
from experiments.paper.report.summary import MethodCell, best, ratio_to
from hlograph.execution.bootstrap import bootstrap_interval

_SIMPLIFY = "xla-simplify"
_AGAINST = ("xla-cpu", _SIMPLIFY)
_TEXT = (
    "Ratios are before / after, above 1 is better: of op counts XLA's order / the method. Means "
    "over seeds, in brackets the least and the greatest; of run times the 95 % bootstrap interval "
    "over benchmarks of the trials that were timed."
)


def sections(study: Study) -> Iterator[Section]:
    """Yields each group's bars and table, then run times, benchmarks by training, and details."""
    comparisons = [Comparison(study, group) for group in study.groups()]
    pairs = runtime.pairs_of(study)
    for comparison in comparisons:
        if comparison.against():
            bars = _bars(comparison, pairs)
            text = (_TEXT, *_control(comparison, pairs))
            yield Section(comparison.group, text, bars, _table(comparison, pairs))
    if pairs:
        text = (
            "Time of the original / time of the result, both compiled by XLA:CPU and run in turn; "
            "the control is the original against itself. Names include the objective and the seed "
            "of a trial.",
        )
        yield Section("Run times", text, table=runtime.summary_table(pairs))
        yield Section("Run times by benchmark", table=runtime.benchmark_table(pairs))
    training = study.measurements.get("training")
    if training:
        yield _seen(study, training)
    for comparison in comparisons:
        yield from details(comparison)


def summary(study: Study) -> Summary:
    """Returns the best methods of each group by its objective."""
    pairs = runtime.pairs_of(study)

    def rank(comparison: Comparison) -> MethodCell:
        return ratio_to(_SIMPLIFY) if comparison.group.endswith("op-count") else _estimates

    columns: list[tuple[str, MethodCell]] = [
        (f"op count, to {_SIMPLIFY}", ratio_to(_SIMPLIFY)),
        ("estimated cost", _estimates),
        ("run time", lambda c, method: _run_time(c, pairs, method)),
        ("search s", lambda c, m: mean_over_seeds(c.over_seeds(m, _mean_seconds))),
    ]
    return best(study, "the group's objective, before / after", rank, columns, most=3)


def _estimates(comparison: Comparison, method: str) -> Cell:
    return over_seeds(comparison.over_seeds(method, lambda trial: _estimate(comparison, trial)))


def _estimate(comparison: Comparison, trial: Trial) -> float:
    """Returns the geometric mean of estimated cost before / after; nan without estimates."""
    ratios = comparison.study.measurements.get("cost_ratios", {}).get(trial.key, {})
    return geometric_mean(list(ratios.values())) if ratios else float("nan")


def _medians(
    comparison: Comparison, pairs: Sequence[runtime.TimedPair], method: str
) -> list[float]:
    """Returns run time before / after of each benchmark, the mean of the trials that were timed."""
    trials = comparison.study.of(method, comparison.group)
    timed: Mapping[str, str] = comparison.study.measurements.get("timed", {})
    labels = {timed[trial.key] for trial in trials if trial.key in timed}
    names = {outcome.benchmark for trial in trials for outcome in trial.outcomes}
    medians: dict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        if pair.method in labels and pair.benchmark in names:
            medians[pair.benchmark].append(pair.median)
    return [geometric_mean(of_benchmark) for of_benchmark in medians.values()]


def _run_time(comparison: Comparison, pairs: Sequence[runtime.TimedPair], method: str) -> Cell:
    medians = _medians(comparison, pairs, method)
    return interval(geometric_mean(medians), bootstrap_interval(medians)) if medians else None


def _control(comparison: Comparison, pairs: Sequence[runtime.TimedPair]) -> list[str]:
    """Returns a sentence on the run times of the originals compared with themselves."""
    control = comparison.study.measurements.get("control")
    names = {outcome.benchmark for trial in comparison.trials() for outcome in trial.outcomes}
    medians = [p.median for p in pairs if p.method == control and p.benchmark in names]
    if not medians:
        return []
    low, high = bootstrap_interval(medians)
    return [
        f"The originals, timed against themselves: {geometric_mean(medians):.3f} "
        f"({low:.3f}{TO}{high:.3f}), which shows the noise of run times."
    ]


def _bars(comparison: Comparison, pairs: Sequence[runtime.TimedPair]) -> Picture:
    c = comparison
    panels = {}
    if _SIMPLIFY in c.against():
        panels[f"op count, to {_SIMPLIFY}"] = c.by_method(c.count_ratio(_SIMPLIFY))
    panels["estimated cost"] = c.by_method(lambda trial: _estimate(c, trial))
    times = {m: _medians(c, pairs, m) for m in c.methods}
    panels["run time"] = {m: [geometric_mean(medians)] for m, medians in times.items() if medians}
    alt = f"Op counts, estimated cost and run time by method on {c.group}, before / after"
    shown = {title: bars for title, bars in panels.items() if bars}
    return seed_bars(f"ratios-{c.number}", alt, shown)


def _table(comparison: Comparison, pairs: Sequence[runtime.TimedPair]) -> Table:
    c = comparison

    def of(method: str) -> list[Trial]:
        return c.study.of(method, c.group)

    columns: list[Column] = [("seeds", lambda m: len(of(m)))]
    for against in (name for name in c.against() if name in _AGAINST):
        columns.append((f"op count, to {against}", lambda m, a=against: ratio_to(a)(c, m)))
    columns += [
        ("estimated cost", lambda m: _estimates(c, m)),
        ("run time", lambda m: _run_time(c, pairs, m)),
        ("results equal or close", lambda m: _alike(of(m))),
        ("rewrites or passes tried", lambda m: mean_over_seeds(c.over_seeds(m, median_calls))),
        ("search s", lambda m: mean_over_seeds(c.over_seeds(m, _mean_seconds))),
    ]
    return of_columns("method", c.methods, columns)


def _alike(trials: Sequence[Trial]) -> Cell:
    checks = [check for trial in trials for check in trial.checks]
    if not checks:
        return None
    alike = sum(not check.problem and check.verdict in COMPARED for check in checks)
    return f"{alike} of {len(checks)}"


def _mean_seconds(trial: Trial) -> float:
    return sum(trial.seconds) / len(trial.seconds) if trial.seconds else float("nan")


def _seen(study: Study, training: Mapping[str, str]) -> Section:
    """Returns count ratios by the relation of the benchmarks to the policies' training."""
    rows: list[list[Cell]] = []
    objectives = list(dict.fromkeys(_objective(trial) for trial in study.trials))
    methods = list(dict.fromkeys(trial.method for trial in study.trials))
    for objective in objectives:
        for seen in dict.fromkeys(training.values()):
            names = {name for name, kind in training.items() if kind == seen}
            cells = [_of_those(study, objective, method, names) for method in methods]
            rows.append([f"{seen}, {objective}", len(names), *cells])
    text = (
        "Op count of xla-simplify / of the method, by the relation of the benchmarks to the "
        "policies' training. XLA's orders and searches learned nothing: they show how the "
        "benchmarks differ.",
    )
    table = Table(("benchmarks", "number", *methods), rows)
    return Section("Seen in training and not", text, table=table)


def _objective(trial: Trial) -> str:
    return trial.group.rsplit(", ", 1)[-1]


def _of_those(study: Study, objective: str, method: str, names: set[str]) -> Cell:
    by_seed: dict[int, list[float]] = {}
    for trial in study.trials:
        if trial.method != method or _objective(trial) != objective:
            continue
        ratios = Comparison(study, trial.group).ratios(trial, _SIMPLIFY)
        by_seed.setdefault(trial.seed, []).extend(r for n, r in ratios.items() if n in names)
    return over_seeds([geometric_mean(ratios) for ratios in by_seed.values() if ratios])
