"""The benchmarks of a training."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Splits:
    """Names of the benchmarks of a training."""

    train: Sequence[str]
    """Benchmarks to train on."""
    validation: Sequence[str]
    """Benchmarks that are played while training, and choose the policy to keep. Without any, the
    last policy is kept."""
    test: Sequence[str]
    """Benchmarks that are played in the end."""
