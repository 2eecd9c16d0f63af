"""The folder and the workers of a program of searches."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.workers.task_runner import TaskRunner


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
    from experiments.policies.config import PassTrainConfig
    from experiments.workers.task_runner import TaskRunner
    from experiments.workers.worker import pool_of

    folder = out or Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    settings = PassTrainConfig(out=folder, num_workers=num_workers, samples=samples)
    with run_folder(folder), pool_of(settings) as pool:
        yield TaskRunner(settings, pool, folder)
