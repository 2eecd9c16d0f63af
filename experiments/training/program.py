"""The trainer behind `train_gnn`, `train_op_counts`, `train_rewrites` and `train_fusion`."""

import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.outcomes.run_folder import RunFolderError, copy_run, run_folder
from experiments.policies.config import (
    FusionTrainConfig,
    GNNTrainConfig,
    RewriteTrainConfig,
    TrainConfig,
)
from experiments.policies.config_json import to_json
from experiments.training.cli import CONFIG, CONFIG_KIND, CONFIG_VERSION
from experiments.workers.startup import prepare_process
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import as_location, is_url

if TYPE_CHECKING:
    from experiments.outcomes.evaluation import Outcome
    from experiments.policies.learner import LearnerName
    from experiments.workers.crew import Crew, MakeWorker

REFUSED, FAILED, INTERRUPTED = 2, 3, 130
"""Exit statuses: not begun; ended early, to be continued; after Ctrl-C or SIGTERM."""


def train(config: TrainConfig, program: str, make_worker: "MakeWorker | None" = None) -> int:
    """Trains what the settings ask for, and shows how it does on held-out benchmarks.

    Args:
        config: Settings of the run.
        program: Name of the program, such as `train_gnn`.
        make_worker: Makes the worker of a new process; by default a ``RolloutWorker``.

    Returns:
        Exit status.
    """
    folder = config.out or _new_folder(config, program)
    config = replace(config, out=folder)
    command = ["python", "-m", f"experiments.{program}", "--resume", str(folder)]
    try:
        with run_folder(folder):
            elsewhere = config.resume if is_url(config.resume) else None
            if (config.resume is None or elsewhere) and (folder / CONFIG).exists():
                message = f"there is a run in {folder}; continue it: {shlex.join(command)}"
                raise RunFolderError(message)
            if elsewhere:
                copy_run(elsewhere, folder)
            return _run(config, folder, shlex.join(command), make_worker)
    except RunFolderError as error:
        print(f"--out: {error}", file=sys.stderr)
        return REFUSED


def _run(config: TrainConfig, folder: Path, command: str, make_worker: "MakeWorker | None") -> int:
    """Trains in a folder that this process holds; what ends it early is told in one line."""
    prepare_process(config.device)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _write_config(config, folder)
        _train_and_compare(config, folder, make_worker)
    except KeyboardInterrupt:
        print(f"\nInterrupted; to continue: {command}", file=sys.stderr)
        return INTERRUPTED
    except (HloError, OSError) as error:
        print(f"\n{type(error).__name__}: {error}", file=sys.stderr)
        print(f"What is in {folder} is whole; to continue: {command}", file=sys.stderr)
        return FAILED
    finally:
        signal.signal(signal.SIGTERM, before)
    print(f"results, checkpoints and TensorBoard logs are in {folder}")
    return 0


def _train_and_compare(config: TrainConfig, folder: Path, make_worker: "MakeWorker | None") -> None:
    """Trains every policy of the run, then evaluates, checks, shows and saves."""
    # These import torch, the engine and the environments: seconds that --help does not have.
    if isinstance(config, FusionTrainConfig):
        from experiments.training.fusion import train_and_compare

        train_and_compare(config, folder, make_worker)
        return
    from experiments.outcomes.benchmarks import held_out_benchmarks, training_benchmarks
    from experiments.outcomes.evaluation import Measure
    from experiments.outcomes.results import Result, save, table_text
    from experiments.policies.learner import is_timed, learner_of
    from experiments.training.log import write_text
    from experiments.training.loop import Training
    from experiments.workers.crew import Crew, pool_of
    from experiments.workers.worker import make_rollout_worker

    train_names = training_benchmarks(config.benchmarks, config.train_op_limit, config.corpus_set)
    limit, of_set = config.test_op_limit, config.corpus_set
    validation_names = held_out_benchmarks(limit, config.validation_count, of_set, "validation")
    test_names = held_out_benchmarks(limit, config.test_count, of_set)
    print(f"{len(train_names)} benchmarks to train on, {len(test_names)} held out; run in {folder}")
    with pool_of(config, make_worker or make_rollout_worker) as pool:
        crew = Crew(config, pool, folder)
        counts = crew.references([*train_names, *validation_names, *test_names])
        if is_timed(config):
            counts = {name: counts[name] for name in crew.that_run(list(counts))}
            validation_names, test_names = (
                [name for name in names if name in counts]
                for names in (validation_names, test_names)
            )
        train_names = [name for name in train_names if name in counts]
        if not train_names:
            raise HloError("no benchmark is left to train on")
        outcomes = {}
        for name in _learners(config):
            if name == "op_counts" and isinstance(config, GNNTrainConfig) and config.baseline:
                outcomes[name] = _play_baseline(crew, config.baseline, test_names)
                continue
            learner = learner_of(name, config)
            names = (train_names, validation_names, test_names)
            measure = Measure.of_counts(counts)
            training = Training(learner, config, folder / name, *names, measure, crew)
            outcomes[name] = training.run()
        print(f"checking {sum(map(len, outcomes.values()))} results against their originals")
        checks = {name: crew.check(found) for name, found in outcomes.items()}
    result = Result.of({name: counts[name] for name in test_names}, outcomes, checks)
    save(result, folder)
    text = table_text(result)
    write_text(folder, "final_table", text)
    print(text)


def _learners(config: TrainConfig) -> "tuple[LearnerName, ...]":
    """What a run trains, in order."""
    if isinstance(config, RewriteTrainConfig):
        return ("rewrites",)
    return ("gnn", "op_counts") if isinstance(config, GNNTrainConfig) else ("op_counts",)


def _play_baseline(crew: "Crew", path: str, benchmarks: Sequence[str]) -> "list[Outcome]":
    """What the op-count policy of a checkpoint makes of benchmarks."""
    from experiments.policies.checkpoint import load_policy

    learner, policy = load_policy(as_location(path))
    if learner.name != "op_counts":
        raise SystemExit(f"--baseline: {path} is a {learner.name} policy, not an op-count policy")
    return crew.play(learner.name, policy, benchmarks)


def _new_folder(config: TrainConfig, program: str) -> Path:
    time = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{program}-{config.preset}-seed{config.seed}-{time}"


def _write_config(config: TrainConfig, folder: Path) -> None:
    """Writes the settings, and with what they are run; of a resumed run, each time."""
    from experiments.outcomes.provenance import provenance

    path = folder / CONFIG
    starts = []
    if path.exists():
        starts = read_checked_json(path, CONFIG_KIND, CONFIG_VERSION)["starts"]
    content = {"config": to_json(config), "starts": [*starts, provenance()]}
    write_checked_json(path, CONFIG_KIND, CONFIG_VERSION, content)
