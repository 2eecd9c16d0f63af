"""Modules compiled by XLA:CPU for speed, and their run times.

    before, after = Executable(start), Executable(module)
    times = time_in_turn(before, after, random_inputs(start))  # seconds, pair by pair
    print(np.median(times[:, 0] / times[:, 1]))  # above 1: faster than before

`hlograph.execution.equivalence` compiles for equal bits instead, which gives slower code.
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
from hlograph.execution.equivalence.engines import Limits, check_runnable
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.load import LoadMeter
from hlograph.execution.turns import in_turns

if TYPE_CHECKING:
    from hlograph.module import Module


class Thunk(NamedTuple):
    """One step of generated code.

    Attributes:
        kind: XLA's name of the kind: ``"kernel"``, ``"dot"``, ``"copy"`` and others.
        instruction: Name of the instruction of ``Executable.optimized()`` that it implements.
    """

    kind: str
    instruction: str


class Executable:
    """A module compiled by XLA:CPU with its default options.

    XLA runs all its passes, LLVM optimizes at its highest level, and the code uses all cores. The
    module becomes the program of one device. Buffers of donated parameters are not reused.

    Attributes:
        compile_seconds: Wall time of the compilation in seconds. The first compilation of a
            process takes about 0.3 s longer than later ones.
        kernels: Number of steps of the code: instructions of XLA's optimized module that take
            time, which are generated loops (mostly fusions), copies and library calls. The body
            of a loop or branch counts once.

    Args:
        module: The module; it is not changed.
        limits: Limits on the size and cost of the module.
        lowered: True if the module comes from ``xla_cpu.before_fusion``: the code has exactly its
            fusions. Otherwise XLA takes fusions of the module apart and chooses its own.

    Raises:
        HloError: The module cannot run on one CPU within the limits, or XLA does not compile it.
    """

    def __init__(
        self, module: Module, limits: Limits | None = None, *, lowered: bool = False
    ) -> None:
        limits = limits or Limits()
        check_runnable(Flow(module.graph()), "compiled", limits)
        for quantity, number, most in (
            ("instructions", module.op_count, limits.compiled_ops),
            ("flops", module.cost().flops, limits.flops),
        ):
            if number > most:
                raise HloError(f"expected at most {most:.3g} {quantity}, got {number:.3g}")
        begun = time.perf_counter()
        self._module_type = type(module)
        self._program = native().Program.compile_for_speed(module._native, lowered)
        self.compile_seconds = time.perf_counter() - begun
        self.kernels = self._program.count_kernels()
        self.signature = signature_of(module)

    def steps(self) -> list[Thunk]:
        """Returns the steps of XLA:CPU's runtime, in the order in which it stores them.

        The steps inside loops, branches and calls follow them.

        Raises:
            HloError: XLA cannot write the code to a file, from which the steps are read. This is
                so for sorts, for example.
        """
        return [Thunk(kind, instruction) for kind, instruction in self._program.steps()]

    def optimized(self) -> Module:
        """Returns the module that XLA:CPU generated the code from, one kernel for each fusion."""
        return self._module_type(self._program.optimized())

    def run(self, inputs: Sequence[Array]) -> list[bytes]:
        """Runs the module once.

        Args:
            inputs: One array for each leaf of the parameters.

        Returns:
            The bytes of each leaf of the result in row-major order.

        Raises:
            HloError: XLA rejects the inputs.
        """
        return self._program.run(to_bytes(inputs))


def random_inputs(module: Module, seed: int = 0) -> list[Array]:
    """Returns random inputs that fit the way a module uses its parameters; see ``InputMaker``.

    Args:
        module: The module.
        seed: Seed of the random numbers.

    Returns:
        One array for each leaf of the parameters.

    Raises:
        HloError: A parameter is not an array of fixed size.
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
    """Times two executables in turns on the same inputs (``hlograph.execution.turns``).

    A run starts with the inputs in the memory of XLA's device and ends with the result there. On a
    busy machine, seconds are without the share that others took (``hlograph.execution.load``).

    Args:
        first: The executable that runs first in the first pair.
        second: The other one, with the same parameters and results.
        inputs: One array for each leaf of the parameters.
        pairs: Number of pairs of samples.
        sample_seconds: Approximate duration of a sample in seconds. A sample is the median over
            the runs in that time, so that runs interrupted by the system do not count; with 0 it
            is one run.
        max_seconds: Time in seconds after which no further pair is started, so that there may be
            fewer pairs.

    Returns:
        float64 ``[P, 2]``: wall seconds of one run of each executable in each of at least one
        pair.

    Raises:
        ValueError: The executables have different parameters or results, or the inputs do not
            match the parameters.
        HloError: XLA rejects a run.
    """
    if first.signature != second.signature:
        raise ValueError("expected two modules with the same parameters and results")
    if pairs < 1:
        raise ValueError(f"expected at least 1 pair, got {pairs}")
    expected = [spec.dims for spec in first.signature.parameters]
    if [array.shape for array in inputs] != expected:
        raise ValueError(f"expected inputs of the parameters' shapes {expected}")
    timed = [executable._program.timed(to_bytes(inputs)) for executable in (first, second)]
    turns = in_turns(
        [program.seconds for program in timed],
        turns=pairs,
        block_seconds=sample_seconds,
        max_seconds=max_seconds,
        least=1,
        read=LoadMeter(),
    )
    return turns.undisturbed(pairs).seconds[:pairs]
