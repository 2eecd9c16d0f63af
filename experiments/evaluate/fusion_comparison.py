"""Compares choices of fusions with XLA:CPU's own: kernels, bytes, run time."""

from typing import NamedTuple

import numpy as np

from experiments.evaluate.benchmarks import load
from hlograph.execution.equivalence.arrays import from_bytes
from hlograph.execution.equivalence.engines import Runner
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.reference import Outputs
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.equivalence.verdict import RANK
from hlograph.execution.executable import Executable, random_inputs, time_in_turn
from hlograph.module import Module


class Fused(NamedTuple):
    """A module after a choice of fusions."""

    kernels: int
    bytes_accessed: float
    """Bytes read and written, by XLA's cost analysis of the module that became code."""
    speed: float
    """Run time of XLA's own choice over this one's, the median pair by pair; above 1 is faster."""
    verdict: str
    """Comparison of the code's outputs with those of XLA's own choice, as in
    ``hlograph.execution.equivalence``; "not compared" without samples."""


class FusionComparison:
    """One benchmark, compiled as XLA:CPU chooses.

    Args:
        benchmark: Name of the benchmark.
        seed: Seed of the inputs.
        samples: Number of random inputs on which outputs are compared; 0 compares none.
        pairs: Number of pairs of samples that are timed.
        sample_seconds: Duration of a sample, in which code runs repeatedly.

    Raises:
        HloError: It does not compile, or cannot be run here.
    """

    def __init__(
        self, benchmark: str, seed: int, samples: int, pairs: int, sample_seconds: float
    ) -> None:
        start = load(benchmark)
        self._pairs, self._sample_seconds = pairs, sample_seconds
        self._default, self._inputs = Executable(start), random_inputs(start, seed)
        self._samples = [random_inputs(start, seed + sample) for sample in range(samples)]
        self._expected = Outputs(self._default.signature, self._samples, _runner(self._default))
        self._error = rounding_count(Flow(start.graph())).bound()
        self.xla = Fused(self._default.kernels, _bytes(self._default), 1.0, "equal")
        """XLA's own choice."""

    def of(self, module: Module) -> Fused:
        """Returns the measurements of a choice of fusions.

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
        return Fused(chosen.kernels, _bytes(chosen), speed, self._verdict(chosen))

    def _verdict(self, chosen: Executable) -> str:
        """Compares outputs of code: the evaluator lacks the library calls of lowered modules."""
        if not self._samples:
            return "not compared"
        run = _runner(chosen)
        ranks = [
            RANK.index(judgement.verdict)
            for sample, inputs in enumerate(self._samples)
            for judgement in self._expected.judge(sample, run(inputs), self._error)
        ]
        return RANK[max(ranks, default=0)]


def _runner(code: Executable) -> Runner:
    return lambda inputs: from_bytes(code.signature.results, code.run(inputs))


def _bytes(code: Executable) -> float:
    return code.optimized().cost().bytes_accessed
