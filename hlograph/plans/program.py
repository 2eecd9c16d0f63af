"""A program that jaxlib compiles."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, Self

from hlograph.errors import HloParseError, ProgramError
from hlograph.execution.equivalence.arrays import Signature, signature_of
from hlograph.module import Module
from hlograph.plans import mlir_modules
from hlograph.plans.lowered import check_lowered, check_settings
from hlograph.reading.sources import is_lowered
from hlograph.reading.stablehlo import from_lowered, from_stablehlo

if TYPE_CHECKING:
    from hlograph.reading.sources import Source

Form = Literal["stablehlo", "hlo"]
"""Form of a program's data: StableHLO bytecode, or a serialized ``HloModuleProto``."""


@dataclass(frozen=True)
class Program:
    """A program as jax lowers it, before XLA's optimizations. It can be pickled.

    Attributes:
        name: Name of its module.
        form: Form of ``data``.
        data: The program.
        lowered: The ``jax.stages.Lowered`` that it was read from, if it was; not in a pickle.
    """

    name: str
    form: Form
    data: bytes
    lowered: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, source: Source | Module) -> Self:
        """Reads a program.

        Args:
            source: A ``jax.stages.Lowered``, which keeps what is known of its arguments (donation,
                layouts), or any source that ``hlograph.parse`` takes.

        Raises:
            HloParseError: The source holds no HLO module.
            ProgramError: It cannot be compiled again as it is; see ``of_lowered``.
        """
        if is_lowered(source):
            return cls.of_lowered(source)
        _check_jaxlib()
        check_settings()
        module = source if isinstance(source, Module) else Module.read(source)
        return cls(module.name, "hlo", module.to_proto())

    @classmethod
    def of_lowered(cls, lowered: Any) -> Self:
        """Returns the program of a ``jax.stages.Lowered``.

        Raises:
            ProgramError: It cannot be compiled again as it is (see ``check_lowered``), a setting of
                jax changes the options of compilations, or jaxlib is too old.
        """
        _check_jaxlib()
        check_settings()
        check_lowered(lowered)
        module = lowered.compiler_ir("stablehlo")
        bytecode = mlir_modules.to_bytecode(module)
        return cls(mlir_modules.name_of(module), "stablehlo", bytecode, lowered)

    def stablehlo(self) -> bytes:
        """Returns StableHLO bytecode. HLO is converted by jaxlib.

        Raises:
            ProgramError: jaxlib does not convert the HLO.
        """
        return self.data if self.form == "stablehlo" else to_stablehlo(self.data)

    def module(self) -> Module:
        """Returns a new module in the XLA that hlograph links.

        Raises:
            HloParseError: That XLA cannot read the program.
        """
        return Module.read(self._hlo)

    @cached_property
    def _hlo(self) -> bytes:
        """The program as HLO. Converting bytecode takes a process, and a second to start it."""
        if self.form == "hlo":
            return self.data
        if self.lowered is not None:
            with contextlib.suppress(HloParseError):  # it may still convert from bytecode
                return from_lowered(self.lowered)[1]
        _, converted = from_stablehlo(self.data, f"the program {self.name}")
        return converted

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the module; see ``Module.fingerprint``."""
        return self.module().fingerprint()

    @cached_property
    def signature(self) -> Signature:
        """The leaves of the module's parameters and results.

        Raises:
            HloError: One of them is not an array of fixed size.
        """
        return signature_of(self.module())

    @cached_property
    def donated(self) -> tuple[int, ...]:
        """Numbers of the arguments whose buffers the program may reuse."""
        return mlir_modules.donated_arguments(mlir_modules.parse(self.stablehlo()))

    def __getstate__(self) -> dict[str, Any]:
        # With the HLO, if it was needed, so that no worker converts it again. The rest is cheap.
        kept = ("name", "form", "data", "_hlo")
        return {name: value for name, value in vars(self).items() if name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _check_jaxlib() -> None:
    # What is private in jaxlib differs between versions; this module is the newest that is used.
    try:
        importlib.import_module("jaxlib._hlo")
    except ImportError as error:
        raise ProgramError(
            "plans, hlograph.optimize and kernel times need jaxlib 0.10.2, and "
            f"{version('jaxlib')} is installed: pip install 'jax>=0.10.2,<0.11'. Graphs, modules "
            "and passes work with jax from 0.6.2 on"
        ) from error


def to_stablehlo(proto: bytes) -> bytes:
    """Converts a serialized ``HloModuleProto`` to StableHLO bytecode by jaxlib.

    Raises:
        ProgramError: jaxlib does not convert it.
    """
    from jax.extend.mlir import hlo_to_stablehlo

    try:
        return hlo_to_stablehlo(proto)
    except Exception as error:  # of classes that jaxlib does not export
        raise ProgramError(f"jaxlib does not convert this HLO to StableHLO: {error}") from error
