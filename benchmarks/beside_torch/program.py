"""Compiles and runs programs of the set `speed` with jaxlib's defaults."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend import backend, mlir
from jaxlib import xla_client  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib.cpu import _lapack

from hlograph import corpus
from hlograph.execution.equivalence.arrays import Array, signature_of
from hlograph.execution.executable import random_inputs
from hlograph.plans import Plan, compile_program
from hlograph.plans import Program as LoweredProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlograph.module import Module


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
