"""Predictions without learning, to compare the cost model with."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.cost_model.examples import Kernels, ProgramExamples
from experiments.cost_model.kernel_inputs import NUMBERS
from hlograph.profiling.kernel_seconds import LEAST_SECONDS

Predict = Callable[[Kernels, ProgramExamples], NDArray[np.float64]]
"""Function that returns a number for each plan that grows with its seconds."""

# Operations and bytes per second, of one core with 256-bit vectors and of the memory. What they are
# exactly matters little to the order of plans.
_FLOPS, _BYTES = 5e10, 1e10


def no_model(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the same number for all plans: their order is random."""
    return np.zeros(len(program.plans))


def num_instructions(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the number of instructions of the final module."""
    counts = _column(kernels, program, "log_instructions").double().expm1()
    return _sums(counts, program, calls=False)


def roofline(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the seconds for each kernel's operations or bytes, whatever takes longer.

    Both are those of XLA's cost analysis.
    """
    flops = _column(kernels, program, "log_flops").double().expm1() / _FLOPS
    moved = _column(kernels, program, "log_bytes").double().expm1() / _BYTES
    return _sums(torch.maximum(flops, moved).clamp(min=LEAST_SECONDS), program)


def predicted_seconds(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the seconds by amounts of work and measured rates (``hlograph.execution.rates``)."""
    return _sums(_column(kernels, program, "log_predicted").double().exp(), program)


def measured_kernels(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the sum of the measured times of the plan's kernels.

    This is no prediction. It shows what is lost by adding up kernels, whose times are medians over
    all plans of the program with the same flags.
    """
    seconds = program.rows.log_seconds.double().nan_to_num(nan=-torch.inf).exp()
    return _sums(seconds, program)


BASELINES: Mapping[str, Predict] = MappingProxyType(
    {
        "no model": no_model,
        "number of instructions": num_instructions,
        "roofline of XLA's cost analysis": roofline,
        "predicted seconds": predicted_seconds,
    }
)
"""Baselines by name."""


def _column(kernels: Kernels, program: ProgramExamples, name: str) -> Tensor:
    return kernels.numbers[program.batch.kernel, NUMBERS.index(name)]


def _sums(values: Tensor, program: ProgramExamples, calls: bool = True) -> NDArray[np.float64]:
    """Returns the sum over the kernels of each plan, by default of all of their calls."""
    batch = program.batch
    summands = values[batch.row] * (batch.log_calls.double().exp() if calls else 1.0)
    total = torch.zeros(batch.num_plans, dtype=torch.float64)
    return total.index_add(0, batch.plan, summands).numpy()
