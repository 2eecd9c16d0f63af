"""Single rewrites instead of passes: searches, equality saturation and policies beside XLA.

What X-RLflow, Tensat and HloEnv choose from, with XLA's own code for the rewrites, on inference
graphs of the kind that they use. Every result is verified, compared with its original on random
inputs, compiled by XLA:CPU and run in turn with it. Take times on a machine that does nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from experiments.policies.config import REWRITE_PRESETS, RewriteTrainConfig, Workers
from experiments.policies.config_json import to_json
from experiments.search.rewriting.space import Objective
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.outcomes.study import Study, Trial
    from experiments.paper.runtime_worker import MakeWorker


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of rewriting methods."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all the rest: quick takes a quarter of an hour on two cores, full a
    night."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of what draws; the trials of a policy have those of its training."""
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
    other_benchmarks: tuple[str, ...] = (
        "gpt2/lora-l2-h32/forward-b2-s16",
        "resnet/keras-hub-basic/forward-b2",
        "vit/keras-hub-dinov2-l2/forward-b2",
        "efficientnet/keras-short-v1-3blocks/forward-b2",
    )
    """Others of the same families, with other shapes and depths: a group of their own."""
    methods: tuple[str, ...] = (
        "random",
        "greedy",
        "beam-4",
        "mcts",
        "saturation",
        "simplify+saturation",
    )
    """Searches without a policy, and equality saturation, of the program as it is or of what
    xla-simplify leaves."""
    references: tuple[str, ...] = ("xla-cpu", "xla-simplify")
    """XLA's orders of passes, whose results are estimated and timed like all others."""
    guided: tuple[str, ...] = ("policy", "mcts")
    """With each policy: policy is its one greedy episode."""
    checkpoints: tuple[str, ...] = (
        "rewrites-seed0",
        "rewrites-seed1",
        "rewrites-seed2",
        "rewrites-cost-seed0",
    )
    """Policies of `train_rewrites`, one for each seed of training: paths, URLs, or names of those
    that come with the project. They are in the group of what they were rewarded for."""
    objectives: tuple[Objective, ...] = ("op-count", "cost")
    """What is to become small: a group of trials for each."""
    calls: int = 500
    """Rewrites that a search may apply to each benchmark."""
    seconds: float | None = 4.0
    """Wall time that a search may take for each benchmark; None is no limit."""
    extraction_seconds: float = 4.0
    """Wall time of equality saturation's integer program for each benchmark."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    timed_trials: int = 1
    """Trials of each method whose results are timed; 0 takes no times."""
    compilations: int = 1
    """Times that both modules of a pair are compiled, in turn; the first ones run."""
    repetitions: int = 30
    """Pairs of samples for each benchmark and timed trial."""
    sample_seconds: float = 0.002
    """A sample is the median over as many runs as take so long; a slower module runs once."""
    pair_seconds: float = 0.5
    """After so long no more samples are taken for one benchmark and trial."""
    workers: Workers = "processes"
    """What searches; this process, in-process, is for debugging."""
    num_workers: int | None = None
    """Searches side by side; None is one a core."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/."""


PRESETS = {
    "quick": Config(),
    "full": Config(
        preset="full",
        seeds=(0, 1, 2, 3, 4),
        calls=5_000,
        seconds=None,
        extraction_seconds=120.0,
        timed_trials=3,
        compilations=3,
        repetitions=48,
        sample_seconds=0.01,
        pair_seconds=20.0,
    ),
}

_NOTES = (
    "Calls are rewrites applied, and the passes of a result are rewrites. Where a rewrite applies "
    "is found by trying it on copies, which is in the seconds but not in the calls. Searches ran "
    "side by side, one a core.",
    "Greedy applies what promises most by what rewrites say of themselves, as long as nothing gets "
    "worse; beam-4 keeps four states of each depth; mcts plays greedily from each new state on and "
    "prefers what promises more, or with a policy does both by the policy.",
    "Saturation finds what rules of our own make equal to a program's entry computation, with "
    "egglog, and takes the cheapest of it by an integer program, as Tensat does; "
    "simplify+saturation begins with what xla-simplify leaves. Their results are modules, not "
    "sequences of rewrites, and what they tried are rounds of rules.",
    "xla-cpu and xla-simplify are XLA's own orders of passes; they are the same in all groups. The "
    "original, to which all are compared by time, is what XLA:CPU makes of a program by default. "
    "XLA:CPU runs its own passes on every module that is timed.",
)


def run(config: Config, folder: Path, make_worker: "MakeWorker | None" = None) -> "Study":
    """Rewrites all benchmarks by all methods, checks, estimates and times what comes out.

    Args:
        config: Settings.
        folder: Where the study is saved as it grows, and lost workers are written down.
        make_worker: Makes what takes times, in its process; by default that of ``runtime_worker``.

    Raises:
        HloError: There is no such checkpoint or benchmark, or it is damaged.
        ValueError: There is no such method, or a checkpoint is of another kind, or was made with
            other rules.
        OSError: A file cannot be read or written.
    """
    from experiments.outcomes.study import Study
    from experiments.paper.benchmarks import all_references, known_of
    from experiments.paper.rewriting_times import timed
    from experiments.paper.rewriting_trials import (
        competitors_of,
        estimates,
        seen_in_training,
        trials_of,
    )
    from experiments.workers.crew import Crew, pool_of

    competitors, trained = competitors_of(config)
    settings = _settings(config)
    names = [*config.benchmarks, *config.other_benchmarks]
    with pool_of(settings) as pool:
        crew = Crew(settings, pool, folder)
        references, left_out = all_references(crew, names)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        known, notes = known_of(references), (*_NOTES, *left_out)
        measured: dict[str, Any] = {"training": seen_in_training(trained, list(references))}
        study = Study(
            "rewriting", config.preset, to_json(config), references, [], known, measured, notes
        )
        done = {trial.key: trial for trial in _begun(folder)}
        for trial in trials_of(config, crew, competitors, references, done):
            study = replace(study, trials=[*study.trials, trial])
            _save_part(study, folder)
        measured["cost_ratios"] = estimates(crew, study.trials)
    if config.timed_trials:
        for part in timed(config, study.trials, folder, make_worker):
            measured |= part
            _save_part(study, folder)
    return study


def _settings(config: Config) -> RewriteTrainConfig:
    """What workers are made with."""
    return replace(
        REWRITE_PRESETS["quick"],
        workers=config.workers,
        num_workers=config.num_workers,
        samples=config.checks,
    )


def _begun(folder: Path) -> "Sequence[Trial]":
    """Trials that an earlier run in the folder came to."""
    from experiments.outcomes.study import STUDY, Study

    return Study.load(folder / STUDY).trials if (folder / STUDY).exists() else ()


def _save_part(study: "Study", folder: Path) -> None:
    """Saves what there is: a run may take a night, and goes on where it was ended."""
    replace(study, notes=[*study.notes, "This run has not come to its end."]).save(folder)
