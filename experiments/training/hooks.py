"""Measurements that a training makes beside those of its environments."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from experiments.outcomes.evaluation import Outcome
from experiments.workers.task_runner import Iteration


class Judgement(NamedTuple):
    """Measurements of results on the validation benchmarks."""

    score: float
    """Figure that chooses the policy to keep; higher is better."""
    scalars: Mapping[str, float]
    """Figures for the log, by tag."""


class Hooks(NamedTuple):
    """Measurements while training; each has None for nothing to measure."""

    correct: Callable[[Iteration], Mapping[str, float]] | None = None
    """Changes the rewards of an iteration, and returns figures for the log, by tag."""
    judge: Callable[[Sequence[Outcome]], Judgement | None] | None = None
    """Measures results on the validation benchmarks, in place of the kind's score."""
