"""Compares the outputs of a program with those of its version in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.beside_torch.model import Compiler, Model
from benchmarks.beside_torch.program import Program
from hlograph.errors import HloError
from hlograph.execution.equivalence.difference import difference

TOLERANCE = 1e-4
"""Largest difference of an output, relative to its element or to the output's root mean square.

Both libraries compute in float32 and sum in different orders; most outputs differ by 1e-6 or less.
"""


class DisagreementError(HloError):
    """The version in PyTorch computes something else than the program."""


def arguments_of(model: Model, program: Program) -> tuple[Any, ...]:
    """Returns the arguments of a model's function, from the program's own inputs."""
    # A copy: PyTorch wants arrays that it could write to.
    tensors = [torch.from_numpy(np.array(array)) for array in program.inputs]
    return tuple(model.prepare(*tensors))


def agreement(model: Model, program: Program, outputs: Any) -> float:
    """Returns the largest relative difference of a model's outputs from the program's.

    Args:
        model: The version in PyTorch.
        program: The program.
        outputs: What the model's function returned.

    Raises:
        DisagreementError: Number, shape, or values of the outputs differ.
    """
    expected = program.outputs()
    found = [_array(tensor) for tensor in model.finish(outputs)]
    shapes = [array.shape for array in expected]
    if [array.shape for array in found] != shapes:
        got = [array.shape for array in found]
        raise DisagreementError(f"{model.name}: expected outputs of shapes {shapes}, got {got}")
    largest = 0.0
    specs = program.signature.results
    for place, (first, second, spec) in enumerate(zip(expected, found, specs, strict=True)):
        apart = difference(first, second.astype(first.dtype), spec.element_type)
        if apart.misplaced or not apart.relative <= TOLERANCE:
            raise DisagreementError(
                f"{model.name}: expected output {place}, {spec}, within {TOLERANCE:g} of the "
                f"program's, got a relative difference of {apart.relative:.3g} and "
                f"{apart.misplaced} elements that are not finite or not equal"
            )
        largest = max(largest, apart.relative)
    return largest


def checked(model: Model, program: Program, compiler: Compiler) -> tuple[Any, float]:
    """Makes a model's function, runs it once, and compares its outputs.

    Returns:
        The function, and the largest relative difference.

    Raises:
        DisagreementError: The outputs differ.
    """
    function = model.build(compiler)
    outputs = model.call(function, arguments_of(model, program))
    return function, agreement(model, program, outputs)


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    return tensor.detach().numpy()


def eager(function: Any) -> Any:
    """Returns a function as it is: the compiler of eager mode."""
    return function
