"""Single rewrites instead of passes: random, greedy, beam and a policy, beside XLA's orders.

What X-RLflow and HloEnv choose from, with XLA's own code for the rewrites, on inference graphs of
the kind that they use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.config import REWRITE_PRESETS, RewriteTrainConfig, Workers
from experiments.config_json import to_json
from experiments.rewriting.space import Objective
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.checkpoint import Checkpoint
    from experiments.crew import Crew
    from experiments.study import Study, Trial

GROUP = "inference graphs"


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of rewriting methods."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all the rest: quick takes a few minutes on two cores."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of what draws."""
    benchmarks: tuple[str, ...] = (
        "bert/bert-to-gpt2-l1-h32/forward-b2-s8",
        "gpt2/vit-to-gpt2-l1-h32/forward-b2-s8",
        "resnet/basic-1x1/forward-b2",
        "vit/keras-hub-vit-l1/forward-b2",
        "t5/keras-hub-t5-body-l1-h32/forward-b2-s16",
        "mobilenet/v1-a0.25/forward-b2",
        "efficientnet/keras-short-v2-3blocks/forward-b2",
    )
    """BERT, GPT-2, ResNet, ViT, T5, and two more convolutional nets."""
    methods: tuple[str, ...] = ("random", "greedy", "beam-4")
    """Searches without a policy."""
    objectives: tuple[Objective, ...] = ("op-count", "cost")
    """What they make small: a group of trials for each."""
    calls: int = 500
    """Rewrites that a search may apply to each benchmark."""
    checkpoints: tuple[str, ...] = ()
    """Rewriting policies of `train_rewrites`: paths or URLs. Each plays one episode."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    workers: Workers = "processes"
    """What searches; this process, in-process, is for debugging."""
    num_workers: int | None = None
    """Searches side by side; None is one a core."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/."""


PRESETS = {
    "quick": Config(),
    "full": Config(preset="full", seeds=(0, 1, 2, 3, 4), calls=5_000),
}

_NOTES = (
    "Calls are rewrites applied, and the passes of a result are rewrites. Where a rewrite applies "
    "is found by trying it on copies, which is in the seconds but not in the calls.",
    "Greedy applies what promises most by what rewrites say of themselves, as long as nothing gets "
    "worse; beam-4 keeps four states of each depth.",
)


def run(config: Config, folder: Path) -> "Study":
    """Rewrites all benchmarks by all methods.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint or benchmark, or it is damaged.
        ValueError: A checkpoint is of another kind, or was made with other rules.
        OSError: A file cannot be read or written.
    """
    from experiments.crew import Crew, pool_of
    from experiments.paper.benchmarks import all_references, known_of
    from experiments.study import Study

    settings = _workers(config, REWRITE_PRESETS["quick"])
    with pool_of(settings) as pool:
        crew = Crew(settings, pool, folder)
        references, left_out = all_references(crew, config.benchmarks)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        names = list(references)
        trials: list[Trial] = []
        costs: dict[str, dict[str, float]] = {}
        for objective in config.objectives:
            for method in config.methods:
                seeds = config.seeds if method == "random" else config.seeds[:1]
                for seed in seeds:
                    trial, ratios = _search(crew, names, method, objective, seed, config.calls)
                    trials.append(trial)
                    costs[f"{trial.group}: {method}, seed {seed}"] = ratios
    trials += _policies(config, folder, names)
    notes = [*_NOTES, *left_out]
    known = known_of(references)
    measured = {"cost_ratios": costs}
    return Study(
        "rewriting", config.preset, to_json(config), references, trials, known, measured, notes
    )


def _workers(config: Config, settings: RewriteTrainConfig) -> RewriteTrainConfig:
    return replace(
        settings,
        workers=config.workers,
        num_workers=config.num_workers,
        samples=config.checks,
        device="cpu",
        out=None,
    )


def _search(
    crew: "Crew", names: Sequence[str], method: str, objective: Objective, seed: int, calls: int
) -> "tuple[Trial, dict[str, float]]":
    """A trial, and by benchmark the cost estimate of its result over that of the start."""
    from experiments.rewriting.task import RewriteSearch, Rewritten
    from experiments.study import Trial

    print(f"{method} for {objective}, seed {seed}, {len(names)} benchmarks")
    tasks = [
        RewriteSearch(benchmark=name, method=method, objective=objective, seed=seed, calls=calls)
        for name in names
    ]
    found: list[Rewritten] = crew.run(tasks, "a search")
    outcomes = [result.outcome for result in found]
    curves = {result.outcome.benchmark: result.curve for result in found}
    seconds = [result.seconds for result in found]
    trial = Trial(
        method, seed, f"{GROUP}, {objective}", outcomes, crew.check(outcomes), seconds, curves
    )
    return trial, {result.outcome.benchmark: result.cost_ratio for result in found}


def _policies(config: Config, folder: Path, names: Sequence[str]) -> "list[Trial]":
    """A trial for each checkpoint, in the group of what it was rewarded for."""
    from experiments.checkpoint import Checkpoint
    from hlograph.locations import as_location

    found = [Checkpoint.load(as_location(given)) for given in config.checkpoints]
    return [_policy(config, folder, names, checkpoint) for checkpoint in found]


def _policy(
    config: Config, folder: Path, names: Sequence[str], checkpoint: "Checkpoint"
) -> "Trial":
    from experiments.checkpoint import policy_of
    from experiments.crew import Crew, parameters_of, pool_of
    from experiments.rollout_worker import PlaySamples
    from experiments.study import Trial

    trained = checkpoint.settings()
    if not isinstance(trained, RewriteTrainConfig):
        raise ValueError(f"expected a policy that rewrites, got {checkpoint.learner}")
    _, policy = policy_of(checkpoint)
    settings = _workers(config, trained)
    objective = "cost" if trained.reward == "cost-drop" else "op-count"
    with pool_of(settings) as pool:
        crew = Crew(settings, pool, folder)
        tasks = [
            PlaySamples(
                learner="rewrites",
                parameters=parameters_of(policy),
                benchmark=name,
                samples=1,
                seed=trained.seed,
            )
            for name in names
        ]
        played = crew.run(tasks, "an episode")
        outcomes = [outcome for outcome, _ in played]
        checks = crew.check(outcomes)
    seconds = [spent for _, spent in played]
    return Trial("GNN", trained.seed, f"{GROUP}, {objective}", outcomes, checks, seconds)
