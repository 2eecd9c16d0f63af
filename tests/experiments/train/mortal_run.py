"""A real run that is killed at a certain point, or continues and is killed."""

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.evaluate.run_folder import CONFIG
from experiments.train.command_line import GNN_PRESETS, parse
from experiments.train.program import train
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


def run_apart(folder: Path, point: str, workers: str, file_bytes: int | None) -> None:
    """Starts or continues the run, up to the point, as all that its process does.

    Args:
        folder: The run's; what is printed goes to the file `said_by` beside it.
        point: Key of `POINTS`, or another word to end as usual.
        workers: As in the settings of a run.
        file_bytes: Size beyond which the kernel refuses to write files; None is no limit.
    """
    said = os.open(said_by(folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    if point in POINTS:
        _kill_in(*POINTS[point])
    if (folder / CONFIG).exists():
        config = parse(GNN_PRESETS, "", ["--resume", str(folder)])
    else:
        config = tiny_config(out=folder, workers=workers)
    sys.exit(train(config))


def said_by(folder: Path) -> Path:
    """Returns the file with what the last process of a run printed."""
    return folder.with_suffix(".said")
