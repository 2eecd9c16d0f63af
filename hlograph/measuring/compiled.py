"""The final module that jaxlib makes of a plan, and shares of the time of a run."""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from hlograph.execution.runs import Run
from hlograph.plans.placing.operations import kinds_of
from hlograph.profiling.attribution import attribute
from hlograph.profiling.kernels import Measurement, measure
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import RecordedRun, record_parts
from hlograph.reading.hlo_text import read_instructions

# Seconds and runs for a profile, which is rough then; that does for shares.
_PROFILE_SECONDS, _PROFILE_RUNS = 1.0, 5

# Runs that may have many steps: their seconds at least, the parts of them that show it, and the
# seconds of each part, or the share of a run if that is more. Of programs with more steps than that
# in a run, or whose run takes long, the parts are all that is recorded. A step takes up to ten
# times as long while it is recorded, so there are more.
_MANY_SECONDS, _PARTS, _PART_SECONDS, _PART_SHARE = 0.002, 8, 0.002, 0.01
_MANY_STEPS, _LONG_SECONDS = 5_000, 1.0
_TOLD_SECONDS = 0.1  # of a run that tells its seconds at once

# Parts that show something, at least: now and then XLA's profiler records nothing, or nothing runs.
_SHOWING = 0.5


class FinalModule(NamedTuple):
    """The module that jaxlib generated code from.

    Attributes:
        digest: Hash of its text without names, metadata and large constants.
        opcodes: Number of instructions of each opcode, those within fusions included.
    """

    digest: str
    opcodes: Mapping[str, int]

    @classmethod
    def of(cls, executable: Any) -> FinalModule:
        """Returns the final module of an executable of jaxlib."""
        options = importlib.import_module("jaxlib._hlo").HloPrintOptions()
        options.canonicalize_instruction_names = True
        options.print_metadata = False
        options.print_large_constants = False
        (module,) = executable.hlo_modules()
        text = module.to_string(options)
        digest = hashlib.sha256(text.partition("\n")[2].encode()).hexdigest()[:32]
        return cls(digest, Counter(instruction.opcode for instruction in read_instructions(text)))

    def changes(self, other: FinalModule) -> dict[str, tuple[int, int]]:
        """Returns the numbers of both modules for each opcode in which they differ."""
        both = {
            name: (self.opcodes.get(name, 0), other.opcodes.get(name, 0))
            for name in sorted({*self.opcodes, *other.opcodes})
        }
        return {name: (before, after) for name, (before, after) in both.items() if before != after}


class Shares(NamedTuple):
    """Shares of a run's time.

    Attributes:
        kinds: Share in the kernels that contain each kind of instruction: opcodes, and opcodes with
            the number of their elements (see ``kinds_of``). The share of a fusion counts for all of
            its instructions, so the shares add up to more than 1. A loop counts with all that it
            runs; of several, the one that takes longest.
        instructions: Share of each instruction of the final module, by name. What an instruction
            calls, such as the body of a loop, is a part of its time.
    """

    kinds: Mapping[str, float]
    instructions: Mapping[str, float]

    @classmethod
    def of(cls, executable: Any, run: Run, seconds: float | None = None) -> Shares:
        """Profiles an executable of jaxlib: whole runs, or parts of those with many steps.

        Args:
            executable: The executable.
            run: Runs it.
            seconds: Seconds of a run; None measures them.

        Raises:
            HloError: XLA's profiler recorded nothing.
        """
        program = OptimizedModule.of(executable)
        if (parts := _parts_of_many_steps(run, program, seconds)) is not None:
            own = attribute(parts, program).own
            # The rest is the loops' own, most of it what recording adds between their steps.
            total = sum(own.values())
            return cls.of_kernels({name: own[name] / total for name in own}, program)
        return cls.of_measurement(
            measure(executable, run.seconds, runs=_PROFILE_RUNS, max_seconds=_PROFILE_SECONDS)
        )

    @classmethod
    def of_measurement(cls, measurement: Measurement) -> Shares:
        """Returns the shares of a measurement."""
        own = {kernel.name: kernel.seconds / measurement.seconds for kernel in measurement.kernels}
        return cls.of_kernels(own, measurement.program)

    @classmethod
    def of_kernels(cls, own: Mapping[str, float], program: OptimizedModule) -> Shares:
        """Returns the shares of a program by the share of each kernel.

        Args:
            own: Share of each kernel by name, without what it calls that is a kernel, too.
            program: The program; kernels that are not part of it are left out.
        """
        shares = {name: share for name, share in own.items() if name in program.instructions}
        by_name = _by_name(shares, program)
        return cls(_by_kind(shares, by_name, program), by_name)


def _parts_of_many_steps(
    run: Run, program: OptimizedModule, seconds: float | None
) -> list[RecordedRun] | None:
    """Returns recorded parts of runs of a program; None if whole runs have few steps.

    Whole runs are also recorded where many parts show nothing, as within a large kernel.
    """
    if seconds is None:
        seconds = run.seconds()
        if seconds < _TOLD_SECONDS:
            seconds = min(seconds, run.seconds())
    if seconds < _MANY_SECONDS or not any(
        op.opcode == "while" for op in program.instructions.values()
    ):
        return None
    length = max(_PART_SECONDS, _PART_SHARE * seconds)
    offsets = [seconds * (number + 0.5) / _PARTS for number in range(_PARTS)]
    parts = record_parts(run.seconds, offsets, length, program.instructions)
    if sum(bool(part.spans) for part in parts) < max(1.0, _SHOWING * len(parts)):
        return None
    rate = sum(len(part.spans) for part in parts) / (len(parts) * length)
    return parts if seconds >= _LONG_SECONDS or rate * seconds > _MANY_STEPS else None


def _by_kind(
    own: Mapping[str, float], by_name: Mapping[str, float], program: OptimizedModule
) -> dict[str, float]:
    shares: dict[str, float] = defaultdict(float)
    for name, share in own.items():
        for kind in _contained(name, program, own):
            shares[kind] += share
    for name, instruction in program.instructions.items():
        if instruction.opcode == "while":
            for kind in kinds_of(instruction.opcode, instruction.shape):
                shares[kind] = max(shares[kind], by_name[name])
    return dict(shares)


def _by_name(own: Mapping[str, float], program: OptimizedModule) -> dict[str, float]:
    shares: dict[str, float] = {}

    def total(name: str) -> float:
        if name not in shares:
            called = program.instructions[name].calls
            inner = (
                instruction.name for c in called for instruction in program.computations.get(c, ())
            )
            shares[name] = own.get(name, 0.0) + sum(map(total, inner))
        return shares[name]

    for name in program.instructions:
        total(name)
    return shares


def _contained(name: str, program: OptimizedModule, timed: Container[str]) -> set[str]:
    """Returns the kinds of an instruction, and of those that it runs and that have no time."""
    instruction = program.instructions[name]
    kinds = set(kinds_of(instruction.opcode, instruction.shape))
    for computation in instruction.calls:
        for inner in program.computations.get(computation, ()):
            if inner.name not in timed:
                kinds |= _contained(inner.name, program, timed)
    return kinds
