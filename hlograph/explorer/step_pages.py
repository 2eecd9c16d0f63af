"""Pages of steps: passes that are run, or the steps of an episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hlograph.explorer.pages import Page
from hlograph.explorer.step_data import steps_data
from hlograph.explorer.step_runs import StepRun, run_steps
from hlograph.explorer.trajectories import RecordedEpisode, replay
from hlograph.module import Module

Files = dict[str, Any]
"""Data files of a page by name."""


def passes_page(module: Module, names: Sequence[str]) -> tuple[Page, Files]:
    """Runs steps on a module, and returns the page that shows them.

    Args:
        module: The module; it is not changed.
        names: Names of passes and pipelines, and places of rewrites.

    Raises:
        UnknownNameError: There is no such pass, pipeline or rule.
    """
    return _page(module, run_steps(module, names), "passes")


def episode_page(path: Path) -> tuple[Module, Page, Files]:
    """Replays the trajectory in a file, and returns the module at its start, and the page.

    Raises:
        HloError: The file is no trajectory, or the replay differs from it.
        OSError: The file cannot be read.
    """
    episode = RecordedEpisode.load(path)
    start, steps = replay(episode, episode.program())
    return start, *_page(start, steps, f"trajectory of {episode.benchmark}")


def _page(start: Module, steps: Iterable[StepRun], what: str) -> tuple[Page, Files]:
    data, files = steps_data(start, steps)
    return Page("steps", "steps", "Steps", data | {"what": what}), files
