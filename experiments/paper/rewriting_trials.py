"""Plans the trials of the comparison of rewriting methods, and estimates their results."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tqdm import tqdm

from experiments.evaluate.benchmarks import Reference, training_benchmarks
from experiments.evaluate.study import Trial
from experiments.paper.rewriting_settings import RewritingConfig
from experiments.paper.trials import PlannedTrial
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.egraph.optimizer import EqualitySettings
from experiments.search.rewriting.egraph.task import SATURATION, Saturate
from experiments.search.rewriting.guide import settings_of
from experiments.search.rewriting.methods import DRAWS, GUIDED, METHODS
from experiments.search.rewriting.space import Objective
from experiments.search.rewriting.task import Estimate, RewriteSearch, RunPipeline
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import Task
from hlograph.errors import WorkerLostError

MAIN, OTHERS = "inference graphs", "other models and shapes"
"""Groups of benchmarks."""
SEEN = (
    "trained on",
    "another shape of a trained model",
    "another model of a trained family",
    "no trained family",
)
"""Relations of a benchmark to the training of the policies."""


@dataclass(frozen=True)
class RewritingCompetitor:
    """A method of the comparison."""

    name: str
    """Name shown in tables."""
    seeds: Sequence[int]
    objectives: Sequence[Objective]
    task: Callable[[str, Objective, int], Task]
    """Makes the task for a benchmark, an objective and a seed."""


def competitors_of(
    config: RewritingConfig,
) -> tuple[list[RewritingCompetitor], list[TrainedPolicy]]:
    """Returns all methods, and the policies that guide some of them.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: There is no such method, or a checkpoint is of another kind or was made with
            other rules, or two are of one seed.
        OSError: A checkpoint cannot be read.
    """
    _refuse_unknown("--methods", config.methods, (*METHODS, *SATURATION))
    _refuse_unknown("--guided", config.guided, GUIDED)
    policies = [
        TrainedPolicy.of(Checkpoint.load(checkpoint_location(c))) for c in config.checkpoints
    ]
    guided = [_guided(config, name, policy) for name in config.guided for policy in policies]
    seeds = Counter((one.name, *one.seeds, *one.objectives) for one in guided)
    twice = [name for name, times in seeds.items() if times > 1]
    if twice:
        raise ValueError(f"--checkpoints: expected other seeds of training, got two of {twice[0]}")
    others = [
        RewritingCompetitor(
            name,
            config.seeds if name in DRAWS else config.seeds[:1],
            config.objectives,
            partial(_task, config, name, None),
        )
        for name in (*config.references, *config.methods)
    ]
    return [*others, *guided], policies


def _refuse_unknown(flag: str, given: Iterable[str], known: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"{flag}: expected some of {', '.join(known)}; got {', '.join(unknown)}")


def _guided(config: RewritingConfig, name: str, policy: TrainedPolicy) -> RewritingCompetitor:
    """Returns a method that a policy guides, for the objective that it was rewarded for."""
    trained = settings_of(policy)
    counts = trained.reward in ("op-count-drop", "log-drop")
    objective: Objective = "op-count" if counts else "cost"
    objectives = (objective,) if objective in config.objectives else ()
    label = "GNN" if name == "policy" else f"GNN {name}"
    return RewritingCompetitor(
        label, (trained.seed,), objectives, partial(_task, config, name, policy)
    )


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
    return RewriteSearch(
        benchmark=benchmark,
        method=name,
        objective=objective,
        seed=seed,
        calls=config.calls,
        seconds=min(config.limit_seconds, budget),
        policy=policy,
    )


def planned_trials(
    config: RewritingConfig,
    competitors: Sequence[RewritingCompetitor],
    references: Mapping[str, Reference],
) -> list[PlannedTrial]:
    """Plans the trials of each method on each group of benchmarks, for each objective.

    Args:
        config: Settings.
        competitors: The methods.
        references: References of the benchmarks; those without are left out.
    """
    groups = {MAIN: config.benchmarks, OTHERS: config.other_benchmarks}
    starts = {name: reference.start for name, reference in references.items()}
    return [
        PlannedTrial(
            f"{group}, {objective}",
            one.name,
            seed,
            {name: one.task(name, objective, seed) for name in left},
            starts=starts,
        )
        for objective in config.objectives
        for group, names in groups.items()
        if (left := [name for name in names if name in references])
        for one in competitors
        if objective in one.objectives
        for seed in one.seeds
    ]


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
    found, notes = {}, []
    for trial in tqdm(trials, desc="cost estimates", unit="trial", disable=None):
        counted = trial.counted()
        ratios = runner.run([Estimate(outcome=o) for o in counted], "an estimate", give_up=True)
        values = {o.benchmark: ratio for o, ratio in zip(counted, ratios, strict=True)}
        lost = {name: v for name, v in values.items() if isinstance(v, WorkerLostError)}
        found[trial.key] = {name: v for name, v in values.items() if name not in lost}
        notes += [f"{trial.key}: no estimate on {name}: {error}" for name, error in lost.items()]
    return found, notes


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
    found = {}
    for name in names:
        known = (name in seen, name.rsplit("/", 1)[0] in models, name.split("/")[0] in families)
        found[name] = SEEN[known.index(True)] if any(known) else SEEN[-1]
    return found
