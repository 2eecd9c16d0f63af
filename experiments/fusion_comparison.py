"""Fusions that something chose, beside those that XLA:CPU chooses: kernels, bytes, run time."""

from typing import NamedTuple

import numpy as np

from experiments.benchmarks import load
from hlograph.execution import Executable, random_inputs, time_in_turn
from hlograph.module import Module


class Fused(NamedTuple):
    """What became of a module."""

    kernels: int
    bytes_accessed: float
    """Bytes read and written, by XLA's cost analysis of the module that became code."""
    speed: float
    """Run time of XLA's own choice over this one's, the median pair by pair; above 1 is faster."""


class FusionComparison:
    """One benchmark, compiled as XLA:CPU chooses.

    Args:
        benchmark: Name of it.
        seed: Seed of the inputs.
        pairs: Pairs of samples that are timed.
        sample_seconds: Time of a sample, in runs of each.

    Raises:
        HloError: It does not compile, or cannot be run here.
    """

    def __init__(self, benchmark: str, seed: int, pairs: int, sample_seconds: float) -> None:
        start = load(benchmark)
        self._pairs, self._sample_seconds = pairs, sample_seconds
        self._default, self._inputs = Executable(start), random_inputs(start, seed)
        self.xla = Fused(self._default.kernels, _bytes(self._default), 1.0)
        """What XLA chooses."""

    def of(self, module: Module) -> Fused:
        """What fusions come to.

        Args:
            module: The benchmark as ``xla_cpu.before_fusion`` lowers it, with the fusions.

        Raises:
            HloError: It does not compile or run.
        """
        chosen = Executable(module, lowered=True)
        times = time_in_turn(
            self._default,
            chosen,
            self._inputs,
            pairs=self._pairs,
            sample_seconds=self._sample_seconds,
        )
        speed = float(np.median(times[:, 0] / times[:, 1]))
        return Fused(chosen.kernels, _bytes(chosen), speed)


def _bytes(code: Executable) -> float:
    return code.optimized().cost().bytes_accessed
