"""Sources that the subcommands take, and files that they write modules to."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Command
from hlograph.errors import HloError, HloWarning
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.locations import as_location

if TYPE_CHECKING:
    from hlograph.execution.equivalence.arrays import Array
    from hlograph.measuring.trial import Job
    from hlograph.module import Module
    from hlograph.optimization.named_function import NamedFunction
    from hlograph.plans import Numerics, Program

_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")

SourceName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
"""Type of the option that names a source."""

_Name = Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME", help_behavior_hint="")]
_Shapes = Annotated[tuple[str, ...], tyro.conf.arg(metavar="SHAPE ...", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class SourceCommand(Command):
    """Base class of the subcommands that read programs."""

    arguments: _Name = None
    """Example arguments of a function: package.module:name of a tuple of them, or of a function
    that returns one. Their values are used for measuring."""
    shapes: _Shapes = ()
    """Shapes of the arguments of a function, such as 'f32[8,128]' 's32[]'; values are random."""
    module: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """Name of the module, or its number from 0, in a file with several."""

    def module_of(self, source: str) -> Module:
        """Returns the module of a source, in the XLA that hlograph links.

        Raises:
            HloError: The source cannot be read.
        """
        from hlograph.module import Module

        if is_function(source):
            return Module.from_jax(self._lowered(source)[0])
        self._check_file(source)
        return Module.read(as_location(source), module=self.module)

    def program_of(self, source: str) -> Program:
        """Returns a program that jaxlib compiles.

        Raises:
            HloError: The source cannot be read, or is for several devices.
        """
        from hlograph.plans import Program

        if is_function(source):
            return Program.of(self._lowered(source)[0])
        self._check_file(source)
        return Program.of(Path(source) if self.module is None else self.module_of(source))

    def job_of(self, source: str, numerics: Numerics) -> Job:
        """Returns a program to measure, with the values of its example arguments.

        Raises:
            HloError: The source cannot be read, or is for several devices.
        """
        from hlograph.measuring.trial import Job
        from hlograph.optimization.of_function import inputs_of
        from hlograph.plans import Program
        from hlograph.reading.sources import inputs_in

        if is_function(source):
            lowered, arguments = self._lowered(source)
            given = None if arguments is None else inputs_of(lowered, arguments, {})
            return Job(Program.of(lowered), given, numerics)
        program = self.program_of(source)
        given = inputs_in(as_location(source))
        if given is not None and not _fits(given, program):
            warnings.warn(
                f"the inputs in {source} do not fit its module; random ones are measured on",
                HloWarning,
                stacklevel=2,
            )
            given = None
        return Job(program, given, numerics)

    def _check_file(self, source: str) -> None:
        if self.arguments is not None or self.shapes:
            raise HloError(
                f"--arguments and --shapes are for functions (package.module:function), and "
                f"{source!r} is none"
            )

    def _lowered(self, source: str) -> tuple[Any, tuple[Any, ...] | None]:
        return self.function_of(source).lowered()

    def function_of(self, source: str) -> NamedFunction:
        """Returns the function of a name, with the example arguments of the command line."""
        from hlograph.optimization.named_function import NamedFunction

        return NamedFunction(source, self.arguments, self.shapes)


def _fits(given: Sequence[Array], program: Program) -> bool:
    """Returns True if arrays are of the shapes and types of a program's parameters."""
    from hlograph.execution.equivalence.arrays import dtype_of

    specs = program.signature.parameters
    expected = [(spec.dims, dtype_of(spec.element_type)) for spec in specs]
    return [(array.shape, array.dtype) for array in given] == expected


def is_function(source: str) -> bool:
    """Returns True if a source is the name of a function, and no file."""
    return bool(_FUNCTION.fullmatch(source)) and not Path(source).exists()


def stem_of(source: str) -> str:
    """Returns a short name of a source, for files that are about it."""
    if is_function(source):
        return source.rpartition(":")[2]
    return Path(source.rstrip("/")).name.split(".")[0] or "program"


STABLEHLO = (".mlir", ".stablehlo")
"""Suffixes of files with StableHLO text."""
TEXT = (".hlo", ".txt")
"""Suffixes of files with HLO text."""
FORMATS = "*.hlo or *.txt (HLO text), *.pb (a proto), *.mlir or *.stablehlo (StableHLO text)"
"""The formats, for messages."""


def check_suffix(path: Path | None) -> None:
    """Checks that the name of a file to write says a format. None is no file.

    Raises:
        HloError: It does not.
    """
    if path is not None and path.suffix not in (*STABLEHLO, *TEXT, ".pb"):
        raise HloError(f"expected a file named {FORMATS}, got {str(path)!r}")


def write_module(module: Module, path: Path) -> None:
    """Writes a module in the format of the file's suffix.

    Raises:
        HloError: The suffix says no format, or jaxlib does not convert the module.
        OSError: The file cannot be written.
    """
    check_suffix(path)
    if path.suffix not in STABLEHLO:
        module.save(path)
        return
    from hlograph.plans.program import to_stablehlo

    data = stablehlo_text(to_stablehlo(module.to_proto())).encode()
    write_bytes_atomically(path, data)


def stablehlo_text(bytecode: bytes) -> str:
    """Returns StableHLO bytecode as text."""
    from hlograph.plans import mlir_modules

    return str(mlir_modules.parse(bytecode))
