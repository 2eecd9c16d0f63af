"""One side of a comparison: programs under the jaxlib of one Python, in a process of their own."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Self

from hlograph.errors import HloError
from hlograph.execution import lock
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.load import LoadMeter, Reading
from hlograph.execution.runs import Run
from hlograph.isolation import InterpreterOwner, InterpreterProcess
from hlograph.optimization.named_function import NamedFunction
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.flags import FlagValue
from hlograph.plans.knobs import flag_knobs, flags_of
from hlograph.profiling.of_program import profile_compiled
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.profile import Profile
from hlograph.storage.machine import machine

# Seconds that a request may take: compilations of large programs take minutes.
_SECONDS = 600.0
_PROFILE_RUNS, _PROFILE_SECONDS = 20, 4.0


@dataclass(frozen=True)
class SideVersions:
    """Versions of what one side runs.

    Attributes:
        python: Version of Python.
        jax: Version of jax.
        jaxlib: Version of jaxlib.
        numpy: Version of numpy.
        machine: The machine, with the environment's flags of XLA.
    """

    python: str
    jax: str
    jaxlib: str
    numpy: str
    machine: str

    @classmethod
    def here(cls) -> Self:
        """Returns the versions of this process."""
        jax, jaxlib, numpy = map(version, ("jax", "jaxlib", "numpy"))
        return cls(platform.python_version(), jax, jaxlib, numpy, str(machine()))

    def to_json(self) -> dict[str, str]:
        """Returns the attributes as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class FinalText:
    """Result of the compilation of a program.

    Attributes:
        seconds: Wall seconds of the compilation.
        text: HLO text of the module that jaxlib generated code from, with metadata.
        temporaries: Bytes of temporary buffers.
    """

    seconds: float
    text: str
    temporaries: int


class JaxlibPrograms:
    """Programs that the jaxlib of this process has compiled, by keys that the caller chooses."""

    def __init__(self) -> None:
        import jax  # whoever starts the process is told at once that it is missing

        jax.devices("cpu")
        self._programs: dict[str, Program] = {}
        self._executables: dict[str, Any] = {}
        self._runs: dict[str, Run] = {}
        self._inputs: list[Array] = []
        self._read = LoadMeter()

    def versions(self) -> SideVersions:
        """Returns the versions of this process."""
        return SideVersions.here()

    def lower(self, function: NamedFunction) -> Program:
        """Returns a function as this jax lowers it.

        Raises:
            HloError: It cannot be imported or lowered here, or its program cannot be measured.
        """
        program = Program.of(function.lowered()[0])
        _ = program.hlo  # the other process reads it
        return program

    def compile(self, key: str, program: Program, plan: Plan | None = None) -> FinalText:
        """Compiles a program, which takes the place of an earlier one of that key.

        Raises:
            HloError: jaxlib does not compile it, or the plan cannot be carried out.
        """
        with lock.compiling():
            begun = time.perf_counter()
            try:
                executable = compile_program(program, plan)
            except RuntimeError as error:  # jax.errors.JaxRuntimeError
                raise HloError(f"jaxlib does not compile {program.name}: {error}") from error
            seconds = time.perf_counter() - begun
        self._programs[key], self._executables[key] = program, executable
        self._runs.pop(key, None)
        temporaries = executable.get_compiled_memory_stats().temp_size_in_bytes
        return FinalText(seconds, OptimizedModule.of(executable).text, temporaries)

    def place(self, key: str, inputs: Sequence[Array]) -> None:
        """Puts inputs of a program into jax's memory, for the calls that follow."""
        self._inputs = list(inputs)
        self._runs[key] = Run(self._executables[key], inputs, self._programs[key].donated)

    def outputs(self, key: str, inputs: Sequence[Array] | None = None) -> list[Array]:
        """Runs a program once, and returns its outputs.

        Args:
            key: The program.
            inputs: Inputs; None takes those that were placed.
        """
        if inputs is None:
            run = self._runs[key]
        else:
            run = Run(self._executables[key], inputs, self._programs[key].donated)
        with lock.compiling():
            return run.outputs()

    def seconds(self, key: str, calls: int) -> float:
        """Returns the mean seconds of several runs on the inputs that were placed."""
        return self._runs[key].seconds(calls)

    def reading(self) -> Reading:
        """Returns what the system has counted for this process."""
        return self._read()

    def profile(self, key: str) -> Profile:
        """Returns where a run on the inputs that were placed spends its time.

        Raises:
            HloError: XLA's profiler records nothing.
        """
        executable, program = self._executables[key], self._programs[key]
        with lock.alone():
            return profile_compiled(
                executable,
                program,
                self._inputs,
                runs=_PROFILE_RUNS,
                max_seconds=_PROFILE_SECONDS,
            )

    def flags(self, opcodes: Sequence[str]) -> list[Mapping[str, FlagValue]]:
        """Returns the flags to try for a program with some opcodes, each with each value."""
        return [
            flags_of({knob.name: value})
            for knob in flag_knobs(opcodes, None, "close")
            for value in knob.values
        ]


class Interpreter(InterpreterOwner):
    """A Python with its jaxlib, and the process in which it compiles and runs programs.

    Args:
        name: Name in reports, ``this`` or ``other``.
        python: The interpreter.
        environment: Environment variables beside those of this process.

    Attributes:
        name: As given.
        environment: As given.
        versions: Versions of what it runs.

    Raises:
        HloError: The interpreter does not start, or has no jax.
    """

    def __init__(
        self,
        name: str,
        python: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.environment = name, dict(environment or {})
        self._arguments = python or sys.executable, JaxlibPrograms, self.environment
        self._process = InterpreterProcess(*self._arguments)
        self.versions: SideVersions = self._call(JaxlibPrograms.versions)

    @property
    def python(self) -> str:
        """The interpreter."""
        return self._process.python

    def lower(self, function: NamedFunction) -> Program:
        """See ``JaxlibPrograms.lower``."""
        return self._call(JaxlibPrograms.lower, function)

    def compile(
        self, key: str, program: Program, inputs: Sequence[Array], plan: Plan | None = None
    ) -> FinalText:
        """Compiles a program and places its inputs; see ``JaxlibPrograms.compile``."""
        final = self._call(JaxlibPrograms.compile, key, program, plan)
        self._call(JaxlibPrograms.place, key, inputs)
        return final

    def outputs(self, key: str, inputs: Sequence[Array] | None = None) -> list[Array]:
        """See ``JaxlibPrograms.outputs``."""
        return self._call(JaxlibPrograms.outputs, key, inputs)

    def seconds(self, key: str, calls: int) -> float:
        """See ``JaxlibPrograms.seconds``."""
        return self._call(JaxlibPrograms.seconds, key, calls)

    def reading(self) -> Reading:
        """See ``JaxlibPrograms.reading``."""
        return self._call(JaxlibPrograms.reading)

    def profile(self, key: str) -> Profile:
        """See ``JaxlibPrograms.profile``."""
        return self._call(JaxlibPrograms.profile, key)

    def flags(self, opcodes: Sequence[str]) -> list[Mapping[str, FlagValue]]:
        """See ``JaxlibPrograms.flags``."""
        return self._call(JaxlibPrograms.flags, opcodes)

    def restart(self) -> None:
        """Ends the process and starts a fresh one, without programs."""
        self._process.close()
        self._process = InterpreterProcess(*self._arguments)

    def _call(self, method: Any, *args: Any) -> Any:
        return self._process.call(method, _SECONDS, *args)


def labels_of(this: Interpreter, other: Interpreter) -> tuple[str, str]:
    """Returns names of two sides for people: the versions of jaxlib, if they differ."""
    versions = this.versions.jaxlib, other.versions.jaxlib
    if versions[0] == versions[1]:
        return this.name, other.name
    return f"jaxlib {versions[0]}", f"jaxlib {versions[1]}"
