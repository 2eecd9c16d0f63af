"""Sets the order of the files of the whole suite, and prepares its workers."""

import gc
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from hlograph.isolation import pool, slot
from hlograph.storage.event_files import tensorboard_without_tensorflow

ROOT = Path(__file__).parent
# Folders and files with the longest tests, which train, measure, or start processes. They come
# first, so that at the end the processes of pytest-xdist share small files.
LONG = (
    "experiments/train",
    "experiments/workers",
    "experiments/paper",
    "experiments/search/rewriting",
    "hlograph/optimization",
    "experiments/search",
    "benchmarks",
    "campaigns",
    "docs",
    "hlograph/transforms/forms",
    "experiments",
    "hlograph/measuring",
)


def pytest_configure() -> None:
    """Keeps modules of tests that write event files from importing TensorFlow, which takes 5 s."""
    tensorboard_without_tensorflow()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest tests first, and leaves the order otherwise as it is."""
    items.sort(key=lambda item: _place(item.path))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepares what makes tests of many files faster."""
    # Libraries have millions of objects, through which each collection of garbage would go.
    gc.collect()
    gc.freeze()
    if any("experiments" in item.path.relative_to(ROOT).parts for item in session.items):
        _share_a_fork_server()


@cache
def _place(path: Path) -> int:
    path = path.relative_to(ROOT)
    for place, folder in enumerate(LONG):
        if path.is_relative_to(folder):
            return place
    return len(LONG)


def _share_a_fork_server() -> None:
    """Has the fork server import what workers of policies need, whoever starts it.

    A process has one fork server. If the first pool does not name these modules, or a process of
    the server is started before any pool is, each worker of a later one imports torch itself, which
    takes seconds.
    """
    from experiments.workers.worker import PRELOADED

    def preload(modules: Sequence[str]) -> None:
        slot.preload((*modules, "hlograph.optimization.preloaded", *PRELOADED))

    preload(())
    pool.preload = preload  # pyright: ignore[reportAttributeAccessIssue]
