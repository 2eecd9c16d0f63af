"""Runs of an original that a comparison takes."""

import numpy as np
import pytest

from hlograph.execution.equivalence.arrays import ArraySpec, Signature
from hlograph.execution.equivalence.reference import Outputs
from hlograph.execution.equivalence.rounding import RoundingBound

SPECS = (ArraySpec("f32", (4,)),)
BOUND = RoundingBound(likely=1e-6, worst=1e-6, spread=1.0)


@pytest.mark.parametrize(
    ("error", "verdict", "runs"),
    [
        (5e-7, "close", 1),
        (5e-6, "close", 4),  # the original makes errors of its inputs ten times as large
        (5e-4, "different", 4),
    ],
)
def test_an_original_runs_again_where_rounding_alone_does_not_explain(error, verdict, runs):
    calls = []

    def original(inputs):
        calls.append(inputs)
        return [inputs[0] ** 10]

    inputs = [np.full(4, 1.1, np.float32)]
    outputs = Outputs(Signature(SPECS, SPECS), [inputs], original)
    (judgement,) = outputs.judge(0, [original(inputs)[0] * np.float32(1 + error)], BOUND)
    assert judgement.verdict == verdict
    assert len(calls) == runs + 1
