"""Outputs of an original module, and their sensitivity."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from hlograph.execution.equivalence.arrays import (
    COMPLEX_PARTS,
    FLOATS,
    Array,
    Signature,
    dtype_of,
    is_integral,
)
from hlograph.execution.equivalence.difference import difference
from hlograph.execution.equivalence.engines import Runner
from hlograph.execution.equivalence.inputs import perturbed
from hlograph.execution.equivalence.judgement import OutputVerdict, Sensitivity, judge, sensitivity

# Number of runs of the original with moved inputs, to measure how much it amplifies errors.
_MOVES = 3


class Outputs:
    """Outputs of the original on each sample, with their sensitivity to errors.

    Attributes:
        finite: Fraction of the elements of its outputs that are finite.
    """

    def __init__(self, signature: Signature, inputs: list[list[Array]], run: Runner) -> None:
        """Runs the original.

        Args:
            signature: Signature of the original.
            inputs: The inputs of each sample.
            run: Function that runs the original.

        Raises:
            HloError: XLA cannot run the original.
        """
        self._signature = signature
        self._inputs = inputs
        self._run = run
        self._outputs = [run(arrays) for arrays in inputs]
        self._sensitivity: dict[int, list[Sensitivity]] = {}
        self._epsilon = _largest_epsilon(signature)
        self.finite = _finite_fraction(self._outputs)

    def judge(self, sample: int, outputs: list[Array], error: float) -> list[OutputVerdict]:
        """Judges those outputs of another module that are not bitwise equal.

        Args:
            sample: Number of the sample.
            outputs: Outputs of the other module on that sample.
            error: Relative rounding error of the modules.

        Returns:
            One judgement for each output that differs.
        """
        judgements = []
        for number, spec in enumerate(self._signature.results):
            expected = self._outputs[sample][number]
            found = difference(expected, outputs[number], spec.element_type)
            if not found.bitwise:
                sensitive = self._sensitive(sample)[number]
                judgements.append(judge(number, found, sensitive, error, self._epsilon))
        return judgements

    def _sensitive(self, sample: int) -> list[Sensitivity]:
        if sample not in self._sensitivity:
            inputs = self._inputs[sample]
            moved = [
                self._run(perturbed(inputs, self._signature.parameters, seed))
                for seed in range(_MOVES if self._epsilon else 0)
            ]
            self._sensitivity[sample] = sensitivity(self._outputs[sample], moved, self._signature)
        return self._sensitivity[sample]


def _largest_epsilon(signature: Signature) -> float:
    types = {COMPLEX_PARTS.get(s.element_type, s.element_type) for s in signature.parameters}
    return max((float(ml_dtypes.finfo(dtype_of(name)).eps) for name in types & FLOATS), default=0.0)


def _finite_fraction(samples: list[list[Array]]) -> float:
    """Returns the fraction of finite elements of all outputs; integers are always finite."""
    arrays = [array for outputs in samples for array in outputs]
    numbers = 0
    for array in arrays:
        finite = array.size if is_integral(array) else np.count_nonzero(np.isfinite(array))
        numbers += int(finite)
    return numbers / max(1, sum(array.size for array in arrays))
