"""Outcome of one step of an episode."""

from __future__ import annotations

from typing import NamedTuple

STOP = "stop"
"""Name of a step that stops an episode, and of one where nothing is left to decide."""

MASKED = "masked"
"""Name of a step whose action was masked and stands for no pass."""


class StepResult(NamedTuple):
    """Outcome of one step.

    Attributes:
        name: Name of the pass, place of the rewrite, or decision; None after a reset.
        changed: True if the module changed.
        seconds: Time in XLA; 0.0 where XLA did not run.
        error: XLA's message if the step failed, or None.
        stopped: True if the step terminates the episode.
    """

    name: str | None = None
    changed: bool = False
    seconds: float = 0.0
    error: str | None = None
    stopped: bool = False
