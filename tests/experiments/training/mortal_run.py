"""A real run that is killed at a certain point, or continues and is killed.

``python -m tests.experiments.training.mortal_run FOLDER POINT [WORKERS]``
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.outcomes.run_folder import CONFIG
from experiments.training.cli import parse
from experiments.training.presets import GNN_PRESETS
from experiments.training.program import train
from tests.experiments.tiny_run import tiny_config

POINTS = {
    "a rollout": ("experiments.workers.task_runner", "TaskRunner", "collect", 2),
    "an update": ("models.ppo", "PPO", "update", 2),
    "a checkpoint": ("pathlib", "Path", "replace", 2),
    "an evaluation": ("experiments.workers.task_runner", "TaskRunner", "play", 2),
    "the other policy": ("experiments.workers.task_runner", "TaskRunner", "collect", 3),
    "the results": ("experiments.workers.task_runner", "TaskRunner", "check", 2),
}
"""Module, class, method and number of the call in which the process is killed."""


def _kill_in(module: str, cls: str, method: str, number: int) -> None:
    """Has a method kill this process when it has done the work of its n-th call, or half of it."""
    target = getattr(__import__(module, fromlist=[cls]), cls)
    original: Callable[..., Any] = getattr(target, method)
    calls = 0

    def mortal(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number and method == "replace":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **named)
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(target, method, mortal)


def main(folder: Path, point: str, workers: str = "processes") -> int:
    """Starts or continues the run, up to the point."""
    if point in POINTS:
        _kill_in(*POINTS[point])
    if (folder / CONFIG).exists():
        config = parse(GNN_PRESETS, "train_gnn", "", ["--resume", str(folder)])
    else:
        config = tiny_config(out=folder, workers=workers)
    return train(config, "train_gnn")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
