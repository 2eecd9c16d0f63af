"""Conventions that the programs of searches share: exit statuses, workers, interruption."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import tyro

from experiments.evaluate.run_folder import RunFolderError
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.workers.task_runner import TaskRunner

Settings = TypeVar("Settings")
REFUSED, INTERRUPTED = 2, 130


def run_program(
    program: Callable[[Settings], int],
    settings: type[Settings],
    name: str,
    description: str | None,
    arguments: Sequence[str] | None,
) -> int:
    """Parses a command line and runs a program with its settings.

    Args:
        program: Runs with the settings, and returns the exit status.
        settings: Dataclass of the settings.
        name: Name of the module to run.
        description: Text of `--help`.
        arguments: The command line; None is that of this process.

    Returns:
        Exit status: 2 if the program refuses the settings, 130 after Ctrl-C.
    """
    config = tyro.cli(settings, args=arguments, prog=f"python -m {name}", description=description)
    try:
        return program(config)
    except KeyboardInterrupt:
        print("\nInterrupted; what was written so far is kept", file=sys.stderr)
        return INTERRUPTED
    except (HloError, RunFolderError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return REFUSED


@contextmanager
def task_runner(
    name: str, out: Path | None, num_workers: int | None, samples: int
) -> "Iterator[TaskRunner]":
    """Holds a run folder and worker processes until the block ends.

    Args:
        name: First part of the folder's name under runs/, without ``out``.
        out: The folder.
        num_workers: Worker processes; None is one a core.
        samples: Random inputs on which results are compared with their originals.

    Raises:
        RunFolderError: Another process holds the folder, or it cannot be written to.
    """
    # These import torch and the engine: seconds that --help does not have.
    from experiments.evaluate.run_folder import run_folder
    from experiments.policies.config import OpCountTrainConfig
    from experiments.workers.pools import pool_of
    from experiments.workers.task_runner import TaskRunner

    folder = out or Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    settings = OpCountTrainConfig(out=folder, num_workers=num_workers, samples=samples)
    with run_folder(folder), pool_of(settings) as pool:
        yield TaskRunner(settings, pool, folder)
