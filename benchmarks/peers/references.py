"""Prepares a program for all peers, and judges their outputs by an independent reference.

A prepared program is a folder with its StableHLO as text (``module.mlir``), the program as jaxlib
compiles it (``program.pickle``) and its inputs (``inputs.pickle``).
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.peers.npbench_programs import NPBenchJaxWorker, NPBenchProgram, NumpyWorker
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, ArraySpec, dtype_of
from hlograph.execution.equivalence.engines import Limits, Runner, make_runner
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.equivalence.reference import Outputs
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.runs import Run
from hlograph.measuring.implementations import plain_plan
from hlograph.plans import Program, compile_program, mlir_modules
from hlograph.plans.enzyme import as_lowered

MODULE, PROGRAM, INPUTS = "module.mlir", "program.pickle", "inputs.pickle"
"""Files of a prepared program."""

TOLERANCE = 1e-4
"""Difference relative to an element or the root mean square that all peers may have."""


_SHARE = 32
"""Arguments may take this part of the memory: each of a dozen processes has them twice."""


class TooLargeError(HloError):
    """Raised when the arguments of a program take too much memory to have them in each process."""


def check_size(specs: Iterable[ArraySpec]) -> None:
    """Raises an error if arguments are too large.

    Args:
        specs: The arguments.

    Raises:
        TooLargeError: They are.
    """
    size = sum(math.prod(spec.dims) * dtype_of(spec.element_type).itemsize for spec in specs)
    most = psutil.virtual_memory().total // _SHARE
    if size > most:
        raise TooLargeError(
            f"expected arguments of at most {most / 2**30:.2f} GiB, the memory here / {_SHARE}, "
            f"got {size / 2**30:.2f} GiB: measure the program on a larger machine"
        )


def write_prepared(folder: Path, program: Program, inputs: Sequence[Array]) -> None:
    """Writes the files of a program."""
    folder.mkdir(parents=True, exist_ok=True)
    text = str(mlir_modules.parse(program.stablehlo()))
    (folder / MODULE).write_text(as_lowered(text), encoding="utf-8")
    (folder / PROGRAM).write_bytes(pickle.dumps(program))
    (folder / INPUTS).write_bytes(pickle.dumps(list(inputs), protocol=5))


class ModuleReference:
    """A program of the corpus or of a file, and its outputs by the XLA that hlograph links.

    That XLA is older than jaxlib's. It runs the program without fused multiply-adds and libraries
    that sum in an order of their own, so its code is that of no peer. What it does not run, such as
    calls of LAPACK, jaxlib runs without its library fusions.

    Args:
        name: Name of a program of the speed set, or the path of a file.
        folder: Folder that the prepared program is written to.

    Raises:
        HloError: The program cannot be read, or its arguments are too large.
    """

    def __init__(self, name: str, folder: str) -> None:
        from experiments.tune.programs import programs_of

        (chosen,) = programs_of((name,), None, None)
        self._program = Program.of(chosen.load())
        parameters = self._program.signature.parameters
        check_size(parameters)
        self._inputs = InputMaker(self._program.flow, parameters).make(0, 0)
        write_prepared(Path(folder), self._program, self._inputs)

    @cached_property
    def _outputs(self) -> Outputs:
        signature = self._program.signature
        try:
            run = make_runner("compiled", self._program.module(), signature, Limits())
            return Outputs(signature, [self._inputs], run)
        except HloError:
            return Outputs(signature, [self._inputs], self._plain_runner())

    def _plain_runner(self) -> Runner:
        """Returns what runs the program by jaxlib without library fusions."""
        executable = compile_program(self._program, plain_plan(self._program))

        def run(inputs: list[Array]) -> list[Array]:
            return Run(executable, inputs, self._program.donated).outputs()

        return run

    def judge(self, outputs: Sequence[Array]) -> str:
        """Compares the outputs of a peer with those of the reference.

        Outputs may differ by what rounding explains, also where the program amplifies it, and by
        ``TOLERANCE`` in any case: peers approximate functions in ways of their own.

        Args:
            outputs: The outputs.

        Returns:
            Why they are wrong; empty if they are right.

        Raises:
            HloError: No reference runs.
        """
        specs = self._program.signature.results
        shapes, expected = [array.shape for array in outputs], [spec.dims for spec in specs]
        if shapes != [tuple(dims) for dims in expected]:
            return f"expected outputs of shapes {expected}, got {shapes}"
        typed = [
            np.asarray(array).astype(dtype_of(spec.element_type))
            for array, spec in zip(outputs, specs, strict=True)
        ]
        error = rounding_count(self._program.flow).bound()
        for judged in self._outputs.judge(0, typed, error):
            apart = judged.difference
            if judged.verdict == "different" and (apart.misplaced or apart.relative > TOLERANCE):
                return judged.reason
        return ""


class NPBenchReference:
    """A program of NPBench, and its outputs by its version in numpy.

    Args:
        program: The program.
        folder: Folder that the prepared program is written to.
    """

    def __init__(self, program: NPBenchProgram, folder: str) -> None:
        self._program = program
        lowered, inputs = NPBenchJaxWorker(program).lowered()
        write_prepared(Path(folder), Program.of(lowered), inputs)

    @cached_property
    def _expected(self) -> list[Any]:
        return NumpyWorker(self._program).outputs()

    def judge(self, outputs: Sequence[Array]) -> str:
        """Compares the outputs of a peer, by NPBench's own check; see ``ModuleReference``."""
        return self._program.check(self._expected, outputs)
