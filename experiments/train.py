"""The trainer behind `train_gnn` and `train_op_counts`."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli import CONFIG
from experiments.config import GNNTrainConfig, OpCountTrainConfig
from experiments.config_json import to_json
from experiments.startup import prepare_process

if TYPE_CHECKING:
    from experiments.evaluation import Outcome

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the signal's number."""


def train(config: OpCountTrainConfig, program: str) -> int:
    """Trains what the settings ask for, and shows how it does on held-out benchmarks.

    Args:
        config: Settings of the run.
        program: Name of the program, such as `train_gnn`.

    Returns:
        Exit status.
    """
    folder = config.out or _new_folder(config, program)
    config = replace(config, out=folder)
    if config.resume is None and (folder / CONFIG).exists():
        print(f"--out: there is a run in {folder}; continue it by --resume", file=sys.stderr)
        return 2
    prepare_process(config.threads, config.device)
    _write_config(config, folder)
    try:
        _train_and_compare(config, folder)
    except KeyboardInterrupt:
        command = ["python", "-m", f"experiments.{program}", "--resume", str(folder)]
        print(f"\nInterrupted; to continue: {shlex.join(command)}", file=sys.stderr)
        return INTERRUPTED
    print(f"results, checkpoints and TensorBoard logs are in {folder}")
    return 0


def _train_and_compare(config: OpCountTrainConfig, folder: Path) -> None:
    """Trains every policy of the run, then evaluates, verifies, shows and saves."""
    # These import torch, the engine and the environments: seconds that --help does not have.
    from experiments.benchmarks import held_out_benchmarks, references, training_benchmarks
    from experiments.evaluation import verified
    from experiments.learner import learner_of
    from experiments.report import Result, save, table_text
    from experiments.training import Training
    from experiments.training_log import write_text

    train_names = training_benchmarks(config.benchmarks, config.train_op_limit, config.corpus_set)
    test_names = held_out_benchmarks(config.test_op_limit, config.test_count, config.corpus_set)
    print(f"{len(train_names)} benchmarks to train on, {len(test_names)} held out; run in {folder}")
    counts = references([*train_names, *test_names])
    outcomes = {}
    for name in ("gnn", "op_counts") if isinstance(config, GNNTrainConfig) else ("op_counts",):
        if name == "op_counts" and isinstance(config, GNNTrainConfig) and config.baseline:
            outcomes[name] = _evaluate_baseline(config, config.baseline, test_names)
            continue
        learner = learner_of(name, config)
        training = Training(learner, config, folder / name, train_names, test_names, counts)
        outcomes[name] = training.run()
    unverified = {
        name: [o.benchmark for o in found if not verified(o)] for name, found in outcomes.items()
    }
    result = Result({name: counts[name] for name in test_names}, outcomes, unverified)
    save(result, folder)
    text = table_text(result)
    write_text(folder, "final_table", text)
    print(text)


def _evaluate_baseline(
    config: GNNTrainConfig, path: Path, benchmarks: Sequence[str]
) -> "list[Outcome]":
    """What the op-count policy of a checkpoint makes of benchmarks."""
    from experiments.checkpoint import load_policy
    from experiments.evaluation import evaluate
    from experiments.learner import env_maker

    learner, policy = load_policy(path)
    if learner.name != "op_counts":
        raise SystemExit(f"--baseline: {path} is a {learner.name} policy, not an op-count policy")
    return evaluate(
        env_maker(learner, config, benchmarks),
        policy,
        benchmarks,
        config.num_envs,
        config.threads,
        learner.ppo.node_budget,
    )


def _new_folder(config: OpCountTrainConfig, program: str) -> Path:
    time = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{program}-{config.preset}-seed{config.seed}-{time}"


def _write_config(config: OpCountTrainConfig, folder: Path) -> None:
    """Writes the settings, and with what they are run; of a resumed run, each time."""
    from experiments.provenance import provenance
    from hlograph.atomic_write import write_text_atomically

    path = folder / CONFIG
    starts = json.loads(path.read_text(encoding="utf-8"))["starts"] if path.exists() else []
    content = {"config": to_json(config), "starts": [*starts, provenance()]}
    write_text_atomically(path, json.dumps(content, indent=1) + "\n")
