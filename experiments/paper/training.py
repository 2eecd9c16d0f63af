"""Studies that train policies: this project's own, and those of other libraries beside them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

from experiments.evaluate.benchmarks import (
    REFERENCES,
    Reference,
    held_out_benchmarks,
    recorded,
    training_benchmarks,
)
from experiments.evaluate.best_known import known_of
from experiments.evaluate.evaluation import Measure, count_ratios
from experiments.evaluate.study import Study, Trial
from experiments.paper.agents import AgentTraining, Learned, TrainAgent, require_libraries
from experiments.paper.training_settings import (
    MASKED,
    VARIANTS,
    AblationsConfig,
    Figure2Config,
    Figure4Config,
    TrainingStudyConfig,
)
from experiments.policies.config import STOP_ABOVE, GNNTrainConfig, PolicyName, to_json
from experiments.policies.kind import policy_kind
from experiments.train.final_tables import Splits
from experiments.train.imitated_orders import IMITATED
from experiments.train.loop import Training
from experiments.workers.player import all_references
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import pool_of
from models.config import GATConfig

OURS: Mapping[PolicyName, str] = {"op_counts": "PPO (op counts)", "gnn": "PPO (GNN)"}
"""This project's own policies, and their names in tables."""
OP_COUNTS = "op counts (MLP)"
"""Name of the op-count policy beside the ablations."""
REWARDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "PPO": ("plain", {}),
    "PPO, shaped rewards": ("shaped", {"reward": "shaped"}),
    "PPO, value function with costs": ("value-costs", {"value_costs": True}),
}
"""Variants of figure 4: folder and changes of the training settings, by the name in tables."""
ENCODERS: Mapping[PolicyName, str] = {"op_counts": "op counts", "gnn": "GNN"}
_FIGURE2_NOTES = (
    "Every agent learned from the same number of pass calls, and its last policy was measured. "
    "Agents were played greedily, in new environments, in which a call of a pass without effect "
    "counts.",
    "Greedy play: policies that give actions probabilities (this project's, A2C, TRPO and the PPOs "
    f"of the libraries) stop where stopping has a probability above {STOP_ABOVE:g}, and otherwise "
    "take the most likely pass. With the mask, the probabilities are those among the allowed "
    "passes. DQN, which has values and no probabilities, takes the action of the highest value.",
    "The agents of stable-baselines3 and sb3-contrib see op counts and learn without an action "
    "mask (PPO with masks has it). A greedy agent without memory that chooses a pass without "
    "effect repeats it until the horizon, so each was also played with the mask, as "
    f'"{MASKED}". This project\'s policies also see the mask and the size relative to the start.',
    "Their hyper-parameters are the libraries' defaults, except for those of `agent` in the "
    "settings. Discount, reward scale and GAE's lambda, and all settings of PPO, are those of "
    "`op_counts_ppo`, except for the entropy bonus: theirs keeps its first weight, where this "
    "project's falls to `final_entropy` times that.",
)
_FIGURE4_NOTES = (
    "Shaped rewards are the drop of the op count plus gamma Phi(s') - Phi(s), with the policy's "
    "own gamma and Phi = 0 after stopping, so that the best policy stays the same. The form of Phi "
    "and its weight are this project's (`envs.rewards.Shaped`); the paper's are not known.",
    "The value function with costs sees the logarithms of flops and transcendentals relative to "
    "those at the start; the policy does not see them.",
    "Every policy learned from the same number of pass calls. Variants that use XLA's cost "
    "analysis also pay for it: about the time of a pass on each changed state.",
)
_ABLATIONS_NOTES = (
    '"Neighbour features" are features of a node that describe other nodes without an edge to them '
    "(the number of operands and users, and if another node is alike): without edges they still "
    "tell something of the structure.",
)


def figure2(config: Figure2Config, folder: Path) -> Study:
    """Trains all agents with all seeds."""
    if config.agents:
        require_libraries()
    settings = config.training(0, folder)
    variants = [Variant(name, kind, settings, folder / kind) for kind, name in OURS.items()]
    calls = f"Each agent learned from {config.steps:,} pass calls and imitated nothing."
    others = partial(_third_party, config, folder)
    return training_study("figure2", config, variants, folder, (calls, *_FIGURE2_NOTES), others)


def _third_party(config: Figure2Config, folder: Path, benchmarks: "Benchmarks") -> list[Trial]:
    """Trains the libraries' agents, one agent in each worker at a time."""
    validation, held_out = list(benchmarks.validation), list(benchmarks.test)
    tasks = [
        TrainAgent(
            training=AgentTraining(
                name, config.agent, seed, benchmarks.train, validation, held_out
            ),
            path=folder / "agents" / f"{name}-seed{seed}.json",
        )
        for name in config.agents
        for seed in config.seeds
    ]
    if not tasks:
        return []
    print(f"training {len(tasks)} agents of stable-baselines3 and sb3-contrib")
    # The workers' own seed is not used: agents are trained by tasks, which have seeds.
    shared = config.training(0, folder)
    with pool_of(shared) as pool:
        runner = TaskRunner(shared, pool, folder)
        results: list[dict[str, Learned]] = runner.run(tasks, "an agent's training")
        trials = []
        for task, agents in zip(tasks, results, strict=True):
            for label, learned in agents.items():
                curve = [
                    (steps, count_ratios(played, benchmarks.validation))
                    for steps, played in learned.curve
                    if played
                ]
                checks = runner.check(learned.outcomes)
                trials.append(
                    Trial(
                        label,
                        task.training.seed,
                        benchmarks.group,
                        learned.outcomes,
                        checks,
                        training=curve,
                    )
                )
    return trials


def figure4(config: Figure4Config, folder: Path) -> Study:
    """Trains all variants of both policies with all seeds."""
    variants = [
        Variant(
            f"{name} ({encoder})", kind, config.training(0, folder, **changes), folder / part / kind
        )
        for name, (part, changes) in REWARDS.items()
        for kind, encoder in ENCODERS.items()
    ]
    calls = f"Each policy learned from {config.steps:,} pass calls, and the last one was measured."
    return training_study("figure4", config, variants, folder, (*_FIGURE4_NOTES, calls))


def ablations(config: AblationsConfig, folder: Path) -> Study:
    """Trains all variants of the encoder and the op-count policy with all seeds.

    Raises:
        ValueError: There is no such variant.
    """
    unknown = set(config.variants) - set(VARIANTS)
    if unknown:
        raise ValueError(f"no variants {sorted(unknown)}; there are {', '.join(VARIANTS)}")

    def variant(kind: PolicyName, name: str, gat: GATConfig) -> Variant:
        settings = config.training(0, folder, gat=gat)
        # No limit of its own: all variants imitate on the training benchmarks of the study.
        cloning = replace(
            settings.cloning, epochs=config.cloning_epochs, corrections=0, op_limit=None
        )
        settings = replace(settings, cloning=cloning)
        return Variant(name, kind, settings, folder / name.replace(" ", "-"))

    variants = [variant("op_counts", OP_COUNTS, GATConfig())]
    variants += [variant("gnn", name, VARIANTS[name]) for name in config.variants]
    notes = (learning_note(config), *_ABLATIONS_NOTES)
    return training_study("ablations", config, variants, folder, notes)


def learning_note(config: AblationsConfig) -> str:
    """Returns a note on what the policies learned from."""
    train = training_benchmarks((), config.train_op_limit, config.corpus_set)
    then = (
        f"then learned from {config.steps:,} pass calls of their own (PPO)"
        if config.steps
        else "learned from no pass calls of their own"
    )
    return (
        f"All policies first imitated the orders of {IMITATED} and its variants on those of "
        f"{len(train)} training benchmarks that they make smaller, {config.cloning_epochs} times "
        f"each, and {then}; they were played greedily."
    )


@dataclass(frozen=True)
class Benchmarks:
    """Benchmarks to train on, to draw learning curves from and to measure policies by."""

    group: str
    """Name of the measured benchmarks in tables."""
    train: Sequence[str]
    validation: Mapping[str, Reference]
    """Benchmarks of the learning curves; no choice is made by them."""
    test: Mapping[str, Reference]
    """Measured benchmarks, of families that no policy was trained on."""
    notes: Sequence[str]
    """Notes on benchmarks that are left out."""


@dataclass(frozen=True)
class Variant:
    """One kind of policy, to be trained with several seeds."""

    method: str
    """Name shown in tables."""
    kind: PolicyName
    settings: GNNTrainConfig
    """Settings of its training; the seed is replaced."""
    folder: Path
    """Folder for its checkpoints and events."""


def training_study(
    name: str,
    config: TrainingStudyConfig,
    variants: Iterable[Variant],
    folder: Path,
    notes: Sequence[str],
    other_trials: Callable[[Benchmarks], Sequence[Trial]] = lambda benchmarks: (),
) -> Study:
    """Trains each variant with each seed and measures it on the held-out benchmarks.

    Rewards, encoders and observations are settings of workers, so variants that differ in them have
    workers of their own. Trainings that were begun in the folder are continued.

    Args:
        name: Name of the experiment.
        config: Its settings.
        variants: The policies; those of equal settings one after the other.
        folder: Folder for lost workers; each variant has its own for its trainings.
        notes: Notes for the reader.
        other_trials: Makes trials of other agents on the same benchmarks; they come first.
    """
    benchmarks = _benchmarks_of(config, folder)
    trials = [*other_trials(benchmarks)]
    for settings, same in groupby(variants, lambda variant: variant.settings):
        with pool_of(settings) as pool:
            runner = TaskRunner(settings, pool, folder)
            for variant, seed in product(same, config.seeds):
                print(f"{variant.method}, seed {seed}")
                trials.append(_train(variant, seed, benchmarks, runner))
    chosen = {"trained_on": list(benchmarks.train), "validated_on": list(benchmarks.validation)}
    return Study(
        name,
        config.preset,
        to_json(config) | chosen,
        benchmarks.test,
        trials,
        known_of(benchmarks.test),
        notes=[*notes, *benchmarks.notes],
    )


def _benchmarks_of(settings: TrainingStudyConfig, folder: Path) -> Benchmarks:
    """Chooses the benchmarks of an experiment and runs all references on the measured ones.

    Args:
        settings: TrainingStudyConfig of the experiment.
        folder: Folder for the records of lost workers.
    """
    of_set = settings.corpus_set
    watched = held_out_benchmarks(
        settings.validation_op_limit, settings.validation_count, of_set, "validation"
    )
    shared = settings.training(0, folder)
    with pool_of(shared) as pool:
        names = held_out_benchmarks(settings.test_op_limit, settings.test_count, of_set)
        test, notes = all_references(TaskRunner(shared, pool, folder), names)
    return Benchmarks(
        group=f"{of_set or 'corpus'} test-unseen",
        train=training_benchmarks((), settings.train_op_limit, of_set),
        validation=recorded(watched),
        test=test,
        notes=notes,
    )


def _train(variant: Variant, seed: int, benchmarks: Benchmarks, runner: TaskRunner) -> Trial:
    """Trains a policy, plays it on the held-out benchmarks and checks the outcomes."""
    folder = variant.folder / f"seed{seed}"
    references = runner.references(benchmarks.train) | {**benchmarks.validation, **benchmarks.test}
    splits = Splits(
        [name for name in benchmarks.train if name in references],
        list(benchmarks.validation),
        list(benchmarks.test),
    )
    # Other agents are measured with their last policy, too: validation chooses nothing here.
    config = replace(variant.settings, seed=seed, keep_best=False)
    kind = policy_kind(variant.kind, config)
    outcomes = Training(kind, folder, splits, Measure.of_counts(references), runner).run()
    checks = runner.check(outcomes)
    curve = learning_curve(folder)
    return Trial(variant.method, seed, benchmarks.group, outcomes, checks, training=curve)


def learning_curve(folder: Path) -> list[tuple[int, dict[str, float]]]:
    """Returns count ratios on validation by pass calls, as trainings in a folder logged them.

    Args:
        folder: Folder of the events.
    """
    # 0 keeps all points; the default draws a sample of them.
    events = EventAccumulator(str(folder), size_guidance={SCALARS: 0}).Reload()
    there = events.Tags()[SCALARS]
    curve: dict[int, dict[str, float]] = {}
    for name in REFERENCES:
        tag = f"op_count_ratio_validation/{name}"
        for point in events.Scalars(tag) if tag in there else ():
            curve.setdefault(point.step, {})[name] = point.value
    return sorted(curve.items())
