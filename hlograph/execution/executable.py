"""Modules as XLA:CPU compiles them for speed, and how long they run.

    before, after = Executable(start), Executable(module)
    times = time_in_turn(before, after, random_inputs(start))  # seconds, pair by pair
    print(np.median(times[:, 0] / times[:, 1]))  # above 1: faster than before

`hlograph.execution.equivalence` compiles for equal bits instead, which is slower code.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, signature_of, to_bytes
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.equivalence.obstacles import Limits, check_runnable

if TYPE_CHECKING:
    from hlograph.module import Module


class Step(NamedTuple):
    """One step of generated code.

    Attributes:
        kind: What it is, in XLA's words: ``"kernel"``, ``"dot"``, ``"copy"`` and others.
        instruction: Name of the instruction of ``Executable.optimized()`` that it is for.
    """

    kind: str
    instruction: str


class Executable:
    """A module compiled by XLA:CPU as it compiles when it is asked for nothing.

    All its passes, LLVM at its highest level, all cores. The module becomes the program of one
    device; what its parameters would donate to its result is not reused.

    Attributes:
        compile_seconds: Wall time of the compilation. The first of a process takes some 0.3 s
            longer than any later.
        kernels: Steps of the code: instructions of XLA's optimized module that take time, which
            are generated loops (fusions, for the most part), copies and calls of libraries. What
            loops and branches run counts once, however often it runs.

    Args:
        module: The module; unchanged.
        limits: What it may take to run.
        lowered: Whether the module is one of ``xla_cpu.before_fusion``, whose fusions are to be
            those of the code. Otherwise XLA chooses, and takes fusions of the module apart.

    Raises:
        HloError: It cannot be run on one CPU within the limits, or XLA does not compile it.
    """

    def __init__(
        self, module: Module, limits: Limits | None = None, *, lowered: bool = False
    ) -> None:
        limits = limits or Limits()
        check_runnable(Flow(module.graph()), "compiled", limits)
        for what, found, most in (
            ("instructions", module.op_count, limits.compiled_ops),
            ("flops", module.cost().flops, limits.flops),
        ):
            if found > most:
                raise HloError(f"expected at most {most:.3g} {what}, got {found:.3g}")
        begun = time.perf_counter()
        self._program = native().Program.compile_for_speed(module._native, lowered)
        self.compile_seconds = time.perf_counter() - begun
        self.kernels = self._program.count_kernels()
        self.signature = signature_of(module)

    def steps(self) -> list[Step]:
        """What XLA:CPU's runtime executes, in the order in which it holds it.

        What loops, branches and calls execute follows them.

        Raises:
            HloError: XLA cannot write the code to a file, which is where steps are read from: of
                sorts, for example.
        """
        return [Step(kind, instruction) for kind, instruction in self._program.steps()]

    def optimized(self) -> Module:
        """The module that XLA:CPU generated the code from, one kernel for each fusion."""
        from hlograph.module import Module

        return Module(self._program.optimized())

    def run(self, inputs: Sequence[Array]) -> list[bytes]:
        """Runs once.

        Args:
            inputs: One array for each leaf of the parameters.

        Returns:
            The bytes of each leaf of the result, row-major.

        Raises:
            HloError: XLA refuses to run it on these.
        """
        return self._program.run(to_bytes(inputs))


def random_inputs(module: Module, seed: int = 0) -> list[Array]:
    """Random inputs that fit what a module uses its parameters for; see ``InputMaker``.

    Args:
        module: The module.
        seed: Decides the numbers.

    Returns:
        One array for each leaf of the parameters.

    Raises:
        HloError: It takes something else than arrays of fixed size.
    """
    return InputMaker(Flow(module.graph()), signature_of(module).parameters).make(seed, 0)


def time_in_turn(
    first: Executable,
    second: Executable,
    inputs: Sequence[Array],
    *,
    pairs: int = 30,
    sample_seconds: float = 0.0,
    max_seconds: float = 60.0,
) -> NDArray[np.float64]:
    """Runs two executables in turn on the same inputs, warmed up, and takes the time.

    A run begins with the inputs in the memory of XLA's device and ends with the result there. The
    runs of a sample go in turn, too: A B, B A, A B, for what runs second has a small advantage.

    Args:
        first: What runs first in each pair.
        second: What runs second; takes and gives the same arrays.
        inputs: One array for each leaf of the parameters.
        pairs: How many pairs of samples to take.
        sample_seconds: A sample is the median over as many runs of each as take about so long,
            so that one which the system interrupts does not count; with 0 it is one run.
        max_seconds: After so long no further pair is begun, so that there may be fewer.

    Returns:
        float64 [P, 2]: wall seconds of one run of each, pair by pair; at least one pair.

    Raises:
        ValueError: The two do not take and give the same arrays, or the inputs are others.
        HloError: XLA refuses to run one of them.
    """
    if first.signature != second.signature:
        raise ValueError("expected two modules that take and give the same arrays")
    if pairs < 1:
        raise ValueError(f"expected at least 1 pair, got {pairs}")
    expected = [spec.dims for spec in first.signature.parameters]
    if [array.shape for array in inputs] != expected:
        raise ValueError(f"expected inputs of shapes {expected}, as the modules take them")
    times = native().time_in_turn(
        first._program,
        second._program,
        to_bytes(inputs),
        pairs=pairs,
        sample_seconds=sample_seconds,
        max_seconds=max_seconds,
    )
    return np.array(times, np.float64).reshape(-1, 2)
