"""Programs of the set `speed` as jaxlib runs them, and their outputs beside PyTorch's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
import torch
from jax.extend import backend, mlir
from jaxlib import xla_client  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib.cpu import _lapack

from benchmarks.beside_torch.model import Compiler, Model
from hlograph import corpus
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, signature_of
from hlograph.execution.equivalence.verdict import difference
from hlograph.execution.executable import random_inputs
from hlograph.module import Module
from hlograph.plans import Plan, compile_program
from hlograph.plans import Program as LoweredProgram


class Program:
    """A program as `jax.jit` would run it: the corpus' module, compiled by jaxlib.

    Attributes:
        inputs: Random inputs that fit the way the module uses its parameters.
        signature: Parameters and results.
        compile_seconds: Wall time of the compilation in seconds.
    """

    def __init__(self, module: Module, seed: int = 0) -> None:
        self._module = module
        client = backend.get_backend("cpu")
        # Without this, a program that calls LAPACK would end the process.
        _lapack.initialize()
        stablehlo = mlir.hlo_to_stablehlo(module.to_proto())
        devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
        self.signature = signature_of(module)
        self.inputs: list[Array] = random_inputs(module, seed)
        begun = time.perf_counter()
        self._program = client.compile_and_load(stablehlo, devices, xla_client.CompileOptions())
        self.compile_seconds = time.perf_counter() - begun
        self._on_device = [jax.device_put(array) for array in self.inputs]

    @classmethod
    def named(cls, name: str, seed: int = 0) -> Program:
        """Compiles a program of the set `speed`."""
        return cls(corpus.load("speed")[name].load(), seed)

    def run(self) -> Sequence[Any]:
        """Runs the program on its inputs, which lie on the device, and waits for the results."""
        return self._results(self._program)

    def planned(self, plan: Plan) -> Callable[[], Sequence[Any]]:
        """Returns the function that runs the program as a plan says, on the same inputs."""
        return partial(self._results, compile_program(LoweredProgram.of(self._module), plan))

    def outputs(self) -> list[Array]:
        """Returns the results of one run."""
        return [np.asarray(leaf) for leaf in self.run()]

    def _results(self, executable: Any) -> Sequence[Any]:
        results = executable.execute_sharded(self._on_device)
        leaves = [shards[0] for shards in results.disassemble_into_single_device_arrays()]
        for leaf in leaves:
            leaf.block_until_ready()
        return leaves


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
    arrays = [tensor.detach().numpy() for tensor in model.finish(outputs)]
    shapes = [array.shape for array in expected]
    got = [array.shape for array in arrays]
    if got != shapes:
        raise DisagreementError(f"{model.name}: expected outputs of shapes {shapes}, got {got}")
    largest = 0.0
    specs = program.signature.results
    for place, (first, second, spec) in enumerate(zip(expected, arrays, specs, strict=True)):
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


def eager(function: Any) -> Any:
    """Returns a function as it is: the compiler of eager mode."""
    return function
