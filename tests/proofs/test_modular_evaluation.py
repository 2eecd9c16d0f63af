"""The evaluation over fields, beside XLA's evaluator: on small integers both compute the same."""

from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hlograph import Module
from hlograph.execution.equivalence import Limits, OriginalModule
from hlograph.execution.equivalence.arrays import FLOATS, signature_of
from hlograph.execution.equivalence.engines import make_runner
from tests.proofs.modular.evaluation import Evaluator
from tests.proofs.modular.fields import NAN, PRIMES, RAW, Field, Residues
from tests.proofs.modular.programs import HloProgram
from tests.proofs.modular.rules import PROGRAMS
from tests.proofs.modular.values import flattened

# Rules whose programs compute no integers from integers, or what XLA's evaluator lacks, or are
# large.
OTHERS = frozenset(
    {
        "arctangent-by-polynomial",
        "associative-scan-as-loop",
        "contraction-in-parts",
        "convolution-as-dot",
        "cumulative-by-loop",
        "cumulative-in-blocks",
        "differences-by-dot",
        "gather-at-constant-as-slice",
        "hoist-iterations",
        "hoist-projection",
        "one-hot-as-scatter",
        "power-as-roots",
        "remainder-by-subtraction",
        "sine-by-polynomial",
        "sine-of-sum",
        "sink-accumulation",
        "sink-projection",
        "sort-along-minor",
        "sort-by-integer-keys",
        "sort-by-permutation-as-scatter",
        "stored-gather-table",
        "stored-repeated-sine",
        "stored-shared-sum",
        "top-k-by-float-keys",
        "top-k-by-packed-keys",
        "top-k-of-groups",
        "unroll-loop:4",
        "unroll-loop:8",
        "unroll-loop:whole",
    }
)


def _numbers(field: Field, result: Residues) -> NDArray[np.float64]:
    """Returns the integers that are nearest to zero, and NaN."""
    residues = result.data.astype(np.int64)
    numbers = np.where(residues > field.prime // 2, residues - field.prime, residues)
    return np.where(result.data == RAW + NAN, np.nan, numbers.astype(np.float64))


@pytest.mark.parametrize("rule", [rule for rule in PROGRAMS if rule not in OTHERS])
def test_integers_are_those_of_xla(rule):
    module, seed = Module.from_text(PROGRAMS[rule](Random(rule))), len(rule)
    rng = np.random.default_rng(seed)
    signature = signature_of(module)
    field = Field(PRIMES[seed % 2], seed)
    inputs: list[NDArray[Any]] = []
    for spec, array in zip(signature.parameters, OriginalModule(module).inputs(0), strict=True):
        is_float = spec.element_type in FLOATS
        inputs.append(rng.integers(-3, 4, spec.dims).astype(array.dtype) if is_float else array)
    arguments = [
        field.literal(each) if spec.element_type in FLOATS else each
        for spec, each in zip(signature.parameters, inputs, strict=True)
    ]
    results = flattened(Evaluator(HloProgram.of(module), field).run(arguments))
    expected = make_runner("evaluator", module, signature, Limits())(inputs)
    for result, known in zip(results, expected, strict=True):
        if isinstance(result, Residues):
            np.testing.assert_array_equal(_numbers(field, result), known.astype(np.float64))
        else:
            np.testing.assert_array_equal(result, known)
    assert field.functions == 0
