"""Single rewrites instead of passes: searches, equality saturation and policies beside XLA."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.evaluate.benchmarks import training_benchmarks
from experiments.evaluate.study import Study, Trial
from experiments.paper.paired_timing import summaries, table
from experiments.paper.runtime_worker import MakeWorker, TimeBenchmark
from experiments.paper.settings import RewritingConfig
from experiments.paper.timings import Kept, measurements, pairs_of
from experiments.paper.trials import (
    Cell,
    Competitor,
    begun_study,
    planned_trials,
    run_trials,
    save_part,
    timed_out,
)
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.egraph.optimizer import EqualitySettings
from experiments.search.rewriting.guide import settings_of
from experiments.search.rewriting.space import Objective
from experiments.search.task import SATURATION, Estimate, RunPipeline, Saturate, SearchTask
from experiments.train.command_line import REWRITE_PRESETS
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import Task
from hlograph.decisions.searches import SEARCHES, names
from hlograph.errors import WorkerLostError
from hlograph.execution.equivalence import Limits

MAIN, OTHERS = "inference graphs", "other models and shapes"
"""Groups of benchmarks."""
SEEN = (
    "trained on",
    "another shape of a trained model",
    "another model of a trained family",
    "no trained family",
)
"""Relations of a benchmark to the training of the policies."""
_GRACE_SECONDS = 300.0
"""Time after the time limit at which a worker is ended: a search looks at its clock before each
rewrite, and the longest step of equality saturation takes minutes."""
_STEP_SECONDS = 300.0
_MEMORY_GIB = 6.0
_NOTES = (
    "Calls are rewrites applied, and the passes of a result are rewrites. Where rewrites apply "
    "is found by trying them on copies; this is part of the seconds but not of the calls. Searches "
    "ran side by side, one a core.",
    "Greedy applies the rewrite with the best expected gain, as long as nothing gets worse; beam-4 "
    "keeps four states of each depth; mcts plays greedily from each new state and prefers rewrites "
    "with a better expected gain; with a policy, the policy replaces both.",
    "Saturation collects the programs that this project's own rules make equal to a program's "
    "entry computation, with egglog, and extracts the cheapest by an integer program, as Tensat "
    "does; simplify+saturation begins with the result of xla-simplify. Their results are modules, "
    "not sequences of rewrites, and their calls are rounds of rules.",
    "xla-cpu and xla-simplify are XLA's own orders of passes; they are the same in all groups. Run "
    "times are compared with the original program as XLA:CPU compiles it by default. XLA:CPU runs "
    "its own passes on every module that is timed.",
)


def run(config: RewritingConfig, folder: Path, make_worker: MakeWorker | None = None) -> Study:
    """Rewrites all benchmarks by all methods, checks, estimates and times the results.

    Args:
        config: Settings.
        folder: Folder that the study is saved in as it grows.
        make_worker: Makes the function that takes times, in its process; by default that of
            ``runtime_worker``.

    Raises:
        HloError: There is no such checkpoint or benchmark, or it is damaged.
        ValueError: There is no such method, or a checkpoint is of another kind, or was made with
            other rules.
        OSError: A file cannot be read or written.
    """
    competitors, trained = competitors_of(config)
    settings = replace(
        REWRITE_PRESETS["quick"],
        workers=config.workers,
        num_workers=config.num_workers,
        samples=config.checks,
        check_seconds=config.limit_seconds + config.extraction_seconds + _GRACE_SECONDS,
    )
    groups = {MAIN: config.benchmarks, OTHERS: config.other_benchmarks}
    names = [name for group in groups.values() for name in group]
    with begun_study("rewriting", config, settings, folder, names, _NOTES) as (runner, study):
        references = study.references
        cells = [
            Cell(f"{group}, {objective}", [n for n in names if n in references], objective)
            for objective in config.objectives
            for group, names in groups.items()
        ]
        measured: dict[str, Any] = {"training": seen_in_training(trained, list(references))}
        study = replace(study, measurements=measured)
        starts = {name: reference.start for name, reference in references.items()}
        study = run_trials(runner, study, planned_trials(cells, competitors, starts), folder)
        measured["cost_ratios"], problems = estimates(runner, study.trials)
    late = timed_out(study.trials, config.limit_seconds)
    study = replace(study, notes=[*study.notes, *problems, *late])
    if config.timed_trials:
        for part in timed(config, study.trials, folder, make_worker):
            measured |= part
            save_part(study, folder)
    return study


def competitors_of(
    config: RewritingConfig,
) -> tuple[list[Competitor], list[TrainedPolicy]]:
    """Returns all methods, and the policies that guide some of them.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: There is no such method, or a checkpoint is of another kind or was made with
            other rules, or two are of one seed.
        OSError: A checkpoint cannot be read.
    """
    _refuse_unknown("--methods", config.methods, (*names("rewrites"), *SATURATION))
    _refuse_unknown("--guided", config.guided, names("rewrites", guided=True))
    policies = [
        TrainedPolicy.of(Checkpoint.load(checkpoint_location(c))) for c in config.checkpoints
    ]
    guided = [_guided(config, name, policy) for name in config.guided for policy in policies]
    seeds = Counter((c.name, *c.seeds, *c.aims) for c in guided)
    twice = [name for name, times in seeds.items() if times > 1]
    if twice:
        raise ValueError(f"--checkpoints: expected other seeds of training, got two of {twice[0]}")
    others = [
        Competitor(
            name,
            config.seeds if _draws(name) else config.seeds[:1],
            partial(_task, config, name, None),
            config.objectives,
        )
        for name in (*config.references, *config.methods)
    ]
    return [*others, *guided], policies


def _draws(name: str) -> bool:
    """Returns True if the results of a method depend on the seed."""
    return name in SEARCHES["rewrites"] and SEARCHES["rewrites"][name].draws


def _refuse_unknown(flag: str, given: Iterable[str], valid: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(valid))
    if unknown:
        raise ValueError(f"{flag}: expected some of {', '.join(valid)}; got {', '.join(unknown)}")


def _guided(config: RewritingConfig, name: str, policy: TrainedPolicy) -> Competitor:
    """Returns a method that a policy guides, for the objective that it was rewarded for."""
    trained = settings_of(policy)
    counts = trained.reward in ("op-count-drop", "log-drop")
    objective: Objective = "op-count" if counts else "cost"
    objectives = (objective,) if objective in config.objectives else ()
    label = "GNN" if name == "policy" else f"GNN {name}"
    return Competitor(label, (trained.seed,), partial(_task, config, name, policy), objectives)


def _task(
    config: RewritingConfig,
    name: str,
    policy: TrainedPolicy | None,
    benchmark: str,
    objective: Objective,
    seed: int,
) -> Task:
    """Returns the task of a method on one benchmark."""
    if name in config.references:
        return RunPipeline(benchmark=benchmark, pipeline=name)
    if name in SATURATION:
        settings = EqualitySettings(extraction_seconds=config.extraction_seconds)
        return Saturate(benchmark=benchmark, method=name, objective=objective, settings=settings)
    # A policy's one episode has no budget of seconds: it ends where the policy stops.
    budget = math.inf if name == "policy" or config.seconds is None else config.seconds
    return SearchTask(
        over="rewrites",
        benchmark=benchmark,
        method=name,
        objective=objective,
        seed=seed,
        calls=config.calls,
        seconds=min(config.limit_seconds, budget),
        policy=policy,
    )


def estimates(
    runner: TaskRunner, trials: Sequence[Trial]
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Estimates the cost of all results by XLA's cost analysis.

    Args:
        runner: Runs the tasks.
        trials: The trials.

    Returns:
        By trial and benchmark, the estimate before over that after; and a note on each result that
        could not be estimated.
    """
    by_trial, notes = {}, []
    for trial in tqdm(trials, desc="cost estimates", unit="trial", disable=None):
        counted = trial.counted()
        ratios = runner.run([Estimate(outcome=o) for o in counted], "an estimate", give_up=True)
        values = {o.benchmark: ratio for o, ratio in zip(counted, ratios, strict=True)}
        lost = {name: v for name, v in values.items() if isinstance(v, WorkerLostError)}
        by_trial[trial.key] = {name: v for name, v in values.items() if name not in lost}
        notes += [f"{trial.key}: no estimate on {name}: {error}" for name, error in lost.items()]
    return by_trial, notes


def seen_in_training(policies: Sequence[TrainedPolicy], names: Sequence[str]) -> dict[str, str]:
    """Returns one of ``SEEN`` for each benchmark; nothing without policies.

    Args:
        policies: The policies. A benchmark that any of them has seen counts as seen.
        names: Names of the benchmarks.
    """
    seen: set[str] = set()
    for policy in policies:
        config = policy.config
        seen |= set(
            training_benchmarks(config.benchmarks, config.train_op_limit, config.corpus_set)
        )
    if not policies:
        return {}
    models = {name.rsplit("/", 1)[0] for name in seen}
    families = {name.split("/")[0] for name in seen}
    relations = {}
    for name in names:
        applies = (name in seen, name.rsplit("/", 1)[0] in models, name.split("/")[0] in families)
        relations[name] = SEEN[applies.index(True)] if any(applies) else SEEN[-1]
    return relations


def timed(
    config: RewritingConfig,
    trials: Sequence[Trial],
    folder: Path,
    make_worker: MakeWorker | None = None,
) -> Iterator[dict[str, Any]]:
    """Takes the times of the first trials of each method, for all results that passed their check.

    Args:
        config: Settings.
        trials: All trials.
        folder: Folder that measurements are kept in, so that a run can be continued.
        make_worker: Makes the function that measures; None is that of ``runtime_worker``.

    Yields:
        After each benchmark, ``timings.measurements`` of all so far, and in ``timed``, by
        trial (``Trial.key``), the method that its pairs are under.
    """
    chosen = _chosen(trials, config.timed_trials)
    labels = {trial.key: _label(config, trial) for trial in chosen}
    kept = Kept(folder)
    missing = [name for name in _smallest_first(chosen) if name not in kept.results]
    tasks = [_timing(config, name, chosen, labels) for name in missing]
    yield measurements(kept.results) | {"timed": labels}
    for _ in kept.measure(tasks, _STEP_SECONDS, _MEMORY_GIB, make_worker):
        yield measurements(kept.results) | {"timed": labels}
    print(table(summaries(pairs_of(kept.results))))


def _chosen(trials: Sequence[Trial], count: int) -> list[Trial]:
    """Returns the first trials of each method in each group."""
    taken: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        taken.setdefault((trial.group, trial.method), []).append(trial)
    return [trial for same in taken.values() for trial in same[:count]]


def _label(config: RewritingConfig, trial: Trial) -> str:
    """Returns the method name of a trial's pairs; XLA's orders are the same for all objectives."""
    if trial.method in config.references:
        return trial.method
    _, objective = trial.group.rsplit(", ", 1)
    return f"{trial.method}, {objective}, seed {trial.seed}"


def _smallest_first(trials: Sequence[Trial]) -> list[str]:
    """Returns their names, the smallest first: a run that is cut short has times of most."""
    starts = {o.benchmark: o.start for trial in trials for o in trial.outcomes}
    return sorted(starts, key=starts.__getitem__)


def _timing(
    config: RewritingConfig, benchmark: str, trials: Sequence[Trial], labels: dict[str, str]
) -> TimeBenchmark:
    candidates = {
        labels[trial.key]: outcome
        for trial in trials
        for outcome, check in zip(trial.outcomes, trial.checks, strict=True)
        if outcome.benchmark == benchmark and check.problem is None
    }
    limits = Limits(compiled_ops=20_000, flops=1e11)
    # The trials hold the checks.
    return TimeBenchmark.of(config, benchmark, candidates, (0,), 0, _STEP_SECONDS, limits)
