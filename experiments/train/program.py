"""Trains the policies of a run, and compares them on held-out benchmarks."""

import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from experiments.evaluate.run_folder import (
    CONFIG,
    CONFIG_KIND,
    CONFIG_VERSION,
    FAILED,
    REFUSED,
    RunFolderError,
    copy_run,
    run_folder,
)
from experiments.policies.config import PolicyName, TrainConfig, to_json
from experiments.workers.startup import prepare_process
from hlograph.errors import HloError
from hlograph.execution.interrupts import INTERRUPTED, handled_interrupts
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import is_url

if TYPE_CHECKING:
    from experiments.evaluate.evaluation import Outcome
    from experiments.policies.checkpoint import Checkpoint
    from experiments.policies.kind import PolicyKind
    from experiments.train.final_tables import FinalTable, Splits
    from experiments.workers.worker import MakeWorker
    from models.actor_critic import ActorCritic

_TABLES = {
    "op counts": "experiments.train.final_tables:OpCountTable",
    "kernels": "experiments.train.kernel_table:KernelTable",
    "times": "experiments.train.time_table:TimeTable",
}
"""Classes of final tables, as module and name; each is imported when a policy needs it."""


def train(config: TrainConfig, make_worker: "MakeWorker | None" = None) -> int:
    """Trains the policies of a run, and shows their results on held-out benchmarks.

    Args:
        config: Settings of the run.
        make_worker: Makes the worker of a new process; by default a ``RolloutWorker``.

    Returns:
        Exit status.
    """
    folder = config.out or _new_folder(config)
    config = replace(config, out=folder)
    command = [*f"python -m experiments.{config.program}".split(), "--resume", str(folder)]
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


@handled_interrupts(signal.default_int_handler, (signal.SIGTERM,))
def _run(config: TrainConfig, folder: Path, command: str, make_worker: "MakeWorker | None") -> int:
    """Trains in a folder that this process has locked; errors are reported in one line."""
    try:
        prepare_process(config.device, config.deterministic)
        try:
            inputs = _inputs(config, folder)
        except (HloError, ValueError) as error:  # a corrected command may begin in this folder
            print(f"\n{type(error).__name__}: {error}", file=sys.stderr)
            return REFUSED
        _write_config(config, folder)
        _train_and_compare(config, inputs, folder, make_worker)
    except KeyboardInterrupt:
        print(f"\nInterrupted; to continue: {command}", file=sys.stderr)
        return INTERRUPTED
    except (HloError, OSError) as error:
        print(f"\n{type(error).__name__}: {error}", file=sys.stderr)
        print(f"What is in {folder} is whole; to continue: {command}", file=sys.stderr)
        return FAILED
    print(f"results, checkpoints and TensorBoard logs are in {folder}")
    return 0


class _Inputs(NamedTuple):
    """Policies and benchmarks that the settings of a run name, and policies of the run so far."""

    given: "dict[PolicyName, tuple[PolicyKind, ActorCritic]]"
    saved: "list[Checkpoint]"
    start: "Checkpoint | None"
    splits: "Splits"


def _inputs(config: TrainConfig, folder: Path) -> _Inputs:
    """Reads what the settings of a run name, and what the run has made so far.

    Raises:
        HloError: A policy cannot be read, or is of another kind.
        ValueError: There are no such benchmarks, or the settings do not fit the run's policies.
    """
    given, start, splits = _given(config), _start(config), _splits(config)
    return _Inputs(given, _saved(config, folder), start, splits)


def _train_and_compare(
    config: TrainConfig, inputs: _Inputs, folder: Path, make_worker: "MakeWorker | None"
) -> None:
    """Trains every policy of the run, then evaluates, checks, shows and saves."""
    # These import torch, the engine and the environments: seconds that --help does not have.
    from experiments.policies.kind import policy_kind
    from experiments.train.log import write_text
    from experiments.train.loop import Training
    from experiments.workers.task_runner import TaskRunner
    from experiments.workers.worker import make_rollout_worker, pool_of

    given, saved, start, splits = inputs
    if known := saved or ([start] if start is not None else []):
        config = known[0].continued(config)  # the policy goes on with the actions that it knows
    kinds = [policy_kind(name, config) for name in config.kinds]
    table = _table(kinds, folder)
    with pool_of(config, make_worker or make_rollout_worker) as pool:
        runner = TaskRunner(config, pool, folder)
        splits = table.prepare(splits, runner)
        sizes = f"{len(splits.train)} benchmarks to train on, {len(splits.test)} held out"
        print(f"{sizes}; run in {folder}")
        outcomes: dict[str, list[Outcome]] = {}
        for kind in kinds:
            if kind.name in given:
                description = f"{kind.name}: test"
                baseline, policy = given[kind.name]
                outcomes[kind.name] = runner.play(
                    kind.name, policy, splits.test, description, baseline.action_names
                )
            else:
                training = Training(
                    kind, folder / kind.name, splits, table.measure, runner, table, start
                )
                outcomes[kind.name] = training.run()
        text = table.finish(outcomes, runner)
    write_text(folder, "final_table", text)
    print(text)


def _given(config: TrainConfig) -> "dict[PolicyName, tuple[PolicyKind, ActorCritic]]":
    """Returns the policies that a run compares with instead of training them, with their kinds.

    Raises:
        HloError: A checkpoint is damaged, or of another kind of policy.
    """
    from experiments.policies.checkpoint import load_policy
    from experiments.policies.shipped import checkpoint_location

    policies = {}
    for name, location in config.given_policies.items():
        try:
            kind, policy = load_policy(checkpoint_location(location))
        except ValueError as error:
            raise HloError(f"--baseline: {location}: {error}") from error
        if kind.name != name:
            raise HloError(f"--baseline: expected a policy {name}, got {location} ({kind.name})")
        policies[name] = (kind, policy)
    return policies


def _start(config: TrainConfig) -> "Checkpoint | None":
    """Returns the checkpoint that a run starts from, if any.

    Raises:
        HloError: It is damaged, or of a kind of policy that the run does not train.
    """
    from experiments.policies.checkpoint import Checkpoint
    from experiments.policies.shipped import checkpoint_location

    if config.start is None:
        return None
    checkpoint = Checkpoint.load(checkpoint_location(config.start))
    trained = [name for name in config.kinds if name not in config.given_policies]
    if checkpoint.kind not in trained:
        expected = " or ".join(trained)
        raise HloError(
            f"--start: expected a policy {expected}, got {config.start} ({checkpoint.kind})"
        )
    print(f"{checkpoint.kind}: goes on from the policy {config.start}")
    return checkpoint


def _saved(config: TrainConfig, folder: Path) -> "list[Checkpoint]":
    """Returns the checkpoints of the run so far, of the policies that it trains.

    Raises:
        ValueError: The settings do not fit one of them.
    """
    from experiments.policies.checkpoint import CheckpointFiles
    from experiments.policies.kind import policy_kind

    names = (name for name in config.kinds if name not in config.given_policies)
    saved = [c for name in names if (c := CheckpointFiles(folder / name).load()) is not None]
    for checkpoint in saved:
        kind = policy_kind(checkpoint.kind, checkpoint.continued(config))
        checkpoint.load_into(kind, kind.new_policy())
    return saved


def _table(kinds: "Sequence[PolicyKind]", folder: Path) -> "FinalTable":
    """Returns the final table of a run."""
    return resolve_name(_TABLES[kinds[0].table])(kinds, folder)


def _splits(config: TrainConfig) -> "Splits":
    """Returns the benchmarks that a run's settings ask for."""
    from experiments.evaluate.benchmarks import held_out_benchmarks, training_benchmarks
    from experiments.train.final_tables import Splits

    limit, of_set = config.test_op_limit, config.corpus_set
    training = training_benchmarks(config.benchmarks, config.train_op_limit, of_set)
    held_out = (
        held_out_benchmarks(limit, config.validation_count, of_set, "validation"),
        held_out_benchmarks(limit, config.test_count, of_set),
    )
    known = set(training)  # globs may select from other splits, too
    validation, test = ([name for name in names if name not in known] for names in held_out)
    return Splits(training, validation, test)


def _new_folder(config: TrainConfig) -> Path:
    time = datetime.now().strftime("%Y%m%d-%H%M%S")
    program = config.program.replace(" ", "-")
    return Path("runs") / f"{program}-{config.preset}-seed{config.seed}-{time}"


def _write_config(config: TrainConfig, folder: Path) -> None:
    """Writes the settings, and at each start of the run its command, versions and commit."""
    from hlograph.storage.provenance import provenance

    path = folder / CONFIG
    starts = []
    if path.exists():
        starts = read_checked_json(path, CONFIG_KIND, CONFIG_VERSION)["starts"]
    content = {"config": to_json(config), "starts": [*starts, provenance()]}
    write_checked_json(path, CONFIG_KIND, CONFIG_VERSION, content)
