"""Single rewrites instead of passes: searches, equality saturation and policies beside XLA.

The methods of X-RLflow, Tensat and HloEnv, with XLA's own code for the rewrites, on inference
graphs of the kind that they use. Every result is verified, compared with its original on random
inputs, compiled by XLA:CPU and run in turn with it. Take times on a machine that does nothing else.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper.rewriting_settings import PRESETS, RewritingConfig
from experiments.policies.config import RewriteTrainConfig
from experiments.policies.config_json import to_json
from experiments.train.presets import REWRITE_PRESETS
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.evaluate.study import Study
    from experiments.paper.runtime_worker import MakeWorker

__all__ = ["PRESETS", "run"]

_GRACE_SECONDS = 300.0
"""Time after the time limit at which a worker is ended: a search looks at its clock before each
rewrite, and the longest step of equality saturation takes minutes."""
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


def run(config: RewritingConfig, folder: Path, make_worker: "MakeWorker | None" = None) -> "Study":
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
    from experiments.evaluate.best_known import known_of
    from experiments.evaluate.study import Study
    from experiments.paper.rewriting_times import timed
    from experiments.paper.rewriting_trials import (
        competitors_of,
        estimates,
        planned_trials,
        seen_in_training,
    )
    from experiments.paper.trials import run_trials, save_part, timed_out
    from experiments.workers.pools import pool_of
    from experiments.workers.references import all_references
    from experiments.workers.task_runner import TaskRunner

    competitors, trained = competitors_of(config)
    settings = _settings(config)
    names = [*config.benchmarks, *config.other_benchmarks]
    with pool_of(settings) as pool:
        runner = TaskRunner(settings, pool, folder)
        references, left_out = all_references(runner, names)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        known, notes = known_of(references), [*_NOTES, *left_out]
        measured: dict[str, Any] = {"training": seen_in_training(trained, list(references))}
        study = Study(
            "rewriting", config.preset, to_json(config), references, [], known, measured, notes
        )
        planned = planned_trials(config, competitors, references)
        study = run_trials(runner, study, planned, folder)
        measured["cost_ratios"], problems = estimates(runner, study.trials)
    late = timed_out(study.trials, config.limit_seconds)
    study = replace(study, notes=[*notes, *problems, *late])
    if config.timed_trials:
        for part in timed(config, study.trials, folder, make_worker):
            measured |= part
            save_part(study, folder)
    return study


def _settings(config: RewritingConfig) -> RewriteTrainConfig:
    """Returns the settings of the workers."""
    return replace(
        REWRITE_PRESETS["quick"],
        workers=config.workers,
        num_workers=config.num_workers,
        samples=config.checks,
        check_seconds=config.limit_seconds + config.extraction_seconds + _GRACE_SECONDS,
    )
