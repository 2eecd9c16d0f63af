"""Trials of the comparison of rewriting methods: each method on each group of benchmarks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.outcomes.benchmarks import Reference, training_benchmarks
from experiments.outcomes.study import Trial, trial_key
from experiments.paper.rewriting import Config
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.egraph.optimizer import EqualitySettings
from experiments.search.rewriting.egraph.task import SATURATION, Saturate
from experiments.search.rewriting.guide import settings_of
from experiments.search.rewriting.registry import DRAWS, GUIDED, METHODS
from experiments.search.rewriting.space import Objective
from experiments.search.rewriting.task import Estimate, RewriteSearch, Rewritten, RunPipeline
from experiments.workers.crew import Crew
from experiments.workers.worker import Task

MAIN, OTHERS = "inference graphs", "other models and shapes"
"""Groups of benchmarks."""
SEEN = (
    "trained on",
    "another shape of a trained model",
    "another model of a trained family",
    "no trained family",
)
"""What training may have seen of a benchmark."""


@dataclass(frozen=True)
class Competitor:
    """A method as it competes: what tables call it, and the tasks that it is."""

    name: str
    seeds: Sequence[int]
    objectives: Sequence[Objective]
    task: Callable[[str, Objective, int], Task]
    """Makes the task of a benchmark, an objective and a seed."""


def competitors_of(config: Config) -> tuple[list[Competitor], list[TrainedPolicy]]:
    """All methods, and the policies that some of them go by.

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
    found = [_pipeline(config, name) for name in config.references]
    found += [
        (_saturation if name in SATURATION else _search)(config, name) for name in config.methods
    ]
    guided = [_guided(config, name, policy) for name in config.guided for policy in policies]
    seeds = Counter((one.name, *one.seeds, *one.objectives) for one in guided)
    twice = [name for name, times in seeds.items() if times > 1]
    if twice:
        raise ValueError(f"--checkpoints: expected other seeds of training, got two of {twice[0]}")
    return [*found, *guided], policies


def _refuse_unknown(flag: str, given: Iterable[str], known: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"{flag}: expected some of {', '.join(known)}; got {', '.join(unknown)}")


def _pipeline(config: Config, name: str) -> Competitor:
    return Competitor(
        name,
        config.seeds[:1],
        config.objectives,
        lambda benchmark, objective, seed: RunPipeline(benchmark=benchmark, pipeline=name),
    )


def _search(config: Config, name: str) -> Competitor:
    return Competitor(
        name,
        config.seeds if name in DRAWS else config.seeds[:1],
        config.objectives,
        lambda benchmark, objective, seed: RewriteSearch(
            benchmark=benchmark,
            method=name,
            objective=objective,
            seed=seed,
            calls=config.calls,
            seconds=config.seconds,
        ),
    )


def _saturation(config: Config, name: str) -> Competitor:
    settings = EqualitySettings(extraction_seconds=config.extraction_seconds)
    return Competitor(
        name,
        config.seeds[:1],
        config.objectives,
        lambda benchmark, objective, seed: Saturate(
            benchmark=benchmark, method=name, objective=objective, settings=settings
        ),
    )


def _guided(config: Config, name: str, policy: TrainedPolicy) -> Competitor:
    trained = settings_of(policy)
    counts = trained.reward in ("op-count-drop", "log-drop")
    objective: Objective = "op-count" if counts else "cost"
    return Competitor(
        "GNN" if name == "policy" else f"GNN {name}",
        (trained.seed,),
        (objective,) if objective in config.objectives else (),
        lambda benchmark, objective, seed: RewriteSearch(
            benchmark=benchmark,
            method=name,
            objective=objective,
            seed=seed,
            calls=config.calls,
            seconds=None if name == "policy" else config.seconds,
            policy=policy,
        ),
    )


def trials_of(
    config: Config,
    crew: Crew,
    competitors: Sequence[Competitor],
    references: Mapping[str, Reference],
    done: Mapping[str, Trial],
) -> Iterator[Trial]:
    """Has each method rewrite each group of benchmarks for each objective, and checks it.

    Args:
        config: Settings.
        crew: Does it.
        competitors: The methods.
        references: Of the benchmarks that are left.
        done: Trials that need not be done, by key.
    """
    for objective in config.objectives:
        for group, names in ((MAIN, config.benchmarks), (OTHERS, config.other_benchmarks)):
            left = [name for name in names if name in references]
            if not left:
                continue
            title = f"{group}, {objective}"
            for competitor in competitors:
                seeds = competitor.seeds if objective in competitor.objectives else ()
                for seed in seeds:
                    known = done.get(trial_key(title, competitor.name, seed))
                    if known is not None:
                        yield known
                        continue
                    print(f"{title}: {competitor.name}, seed {seed}, {len(left)} benchmarks")
                    tasks = [competitor.task(name, objective, seed) for name in left]
                    yield _trial(crew, competitor.name, seed, title, tasks)


def _trial(crew: Crew, method: str, seed: int, group: str, tasks: Sequence[Task]) -> Trial:
    results: list[Rewritten] = crew.run(tasks, "a search")
    outcomes = [result.outcome for result in results]
    curves = {r.outcome.benchmark: r.curve for r in results if r.curve}
    seconds = [result.seconds for result in results]
    return Trial(method, seed, group, outcomes, crew.check(outcomes), seconds, curves)


def estimates(crew: Crew, trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
    """By trial and benchmark, XLA's cost estimate before over that after."""
    tasks = [Estimate(outcome=outcome) for trial in trials for outcome in trial.counted()]
    values = iter(crew.run(tasks, "an estimate"))
    return {t.key: {o.benchmark: next(values) for o in t.outcomes} for t in trials}


def seen_in_training(policies: Sequence[TrainedPolicy], names: Sequence[str]) -> dict[str, str]:
    """What the training of policies saw of benchmarks: one of ``SEEN``; nothing without policies.

    Args:
        policies: Of one that saw more and one that saw less, what the former saw counts.
        names: The benchmarks.
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
