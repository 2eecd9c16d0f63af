"""Programs that jaxlib compiles.

Workers and plans compile the module again. A function whose code or arguments depend on anything
but its module is refused: the program that runs would differ from the measured one.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from hlograph._native import has_engine
from hlograph.errors import HloParseError, HloWarning, ProgramError
from hlograph.execution.equivalence.arrays import Signature
from hlograph.execution.equivalence.text_flow import TextFlow, signature_of_shapes
from hlograph.module import Module
from hlograph.plans import jaxlib_modules, mlir_modules
from hlograph.plans.jaxlib_versions import check_jaxlib, check_settings
from hlograph.reading.dumps import first_module_of
from hlograph.reading.optimized_text import is_optimized, without_optimizations
from hlograph.reading.sources import file_of, is_lowered
from hlograph.reading.stablehlo import from_lowered, from_mlir, from_stablehlo

if TYPE_CHECKING:
    from hlograph.reading.sources import Source

# The target of a custom call in a serialized HloInstructionProto: a tag, the length and the name.
_LAPACK = re.compile(rb"\xe2\x01.lapack_", re.DOTALL)

# Targets of custom calls that hold the address of a Python function.
_CALLBACK = re.compile(rb"xla_(?:ffi_)?(?:partitioned_)?python_\w*callback")

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
        check_jaxlib()
        check_settings()
        module = source if isinstance(source, Module) else Module.read(source)
        proto = module.to_proto()
        if is_optimized(proto, module.opcodes()):
            module = _before_optimizations(module, source)
            proto = module.to_proto()
        if callback := _CALLBACK.search(proto):
            raise ProgramError(
                "expected a program without callbacks into Python, got a custom call to "
                f"{callback[0].decode()!r}: its function was in the process that wrote the file"
            )
        return cls(module.name, "hlo", proto)

    @classmethod
    def of_lowered(cls, lowered: Any) -> Self:
        """Returns the program of a ``jax.stages.Lowered``.

        Raises:
            ProgramError: It cannot be compiled again as it is (see ``check_lowered``), a setting of
                jax changes the options of compilations, or jaxlib is too old.
        """
        check_jaxlib()
        check_settings()
        check_lowered(lowered)
        module = lowered.compiler_ir("stablehlo")
        bytecode = mlir_modules.to_bytecode(module)
        return cls(mlir_modules.name_of(module), "stablehlo", bytecode, lowered)

    @classmethod
    def of_mlir(cls, module: Any) -> Self:
        """Returns the program of an ``ir.Module`` of StableHLO that jax has made for one device.

        Raises:
            HloParseError: jaxlib does not convert it to HLO.
            ProgramError: A setting of jax changes the options of compilations.
        """
        check_settings()
        bytecode = mlir_modules.to_bytecode(module)
        program = cls(mlir_modules.name_of(module), "stablehlo", bytecode)
        vars(program)["hlo"] = from_mlir(module)
        return program

    def stablehlo(self) -> bytes:
        """Returns StableHLO bytecode. HLO is converted by jaxlib.

        Raises:
            ProgramError: jaxlib does not convert the HLO.
        """
        return self.data if self.form == "stablehlo" else self._converted

    @cached_property
    def _converted(self) -> bytes:
        return to_stablehlo(self.data)

    def module(self) -> Module:
        """Returns a new module in the XLA that hlograph links.

        Raises:
            HloParseError: That XLA cannot read the program.
        """
        return Module.read(self.hlo)

    @cached_property
    def hlo(self) -> bytes:
        """The program as a serialized ``HloModuleProto``.

        Converting bytecode takes a process, and a second to start it.
        """
        if self.form == "hlo":
            return self.data
        if self.lowered is not None:
            with contextlib.suppress(HloParseError):  # it may still convert from bytecode
                return from_lowered(self.lowered)[1]
        _, converted = from_stablehlo(self.data, f"the program {self.name}")
        return converted

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the module, see ``Module.fingerprint``; empty without the engine."""
        return self.module().fingerprint() if has_engine() else ""

    @cached_property
    def text_fingerprint(self) -> str:
        """Fingerprint of the module as jaxlib prints it, which needs no engine."""
        return jaxlib_modules.program_fingerprint(self.hlo)

    @cached_property
    def flow(self) -> TextFlow:
        """The data flow of the module."""
        return TextFlow(jaxlib_modules.text_of(self.hlo, literals=False))

    @property
    def calls_lapack(self) -> bool:
        """True if it calls routines of LAPACK, whose threads wait for each other by spinning."""
        return _LAPACK.search(self.hlo) is not None

    @property
    def signature(self) -> Signature:
        """The leaves of the module's parameters and results.

        Raises:
            HloError: One of them is not an array of fixed size.
        """
        return self.flow.signature

    @cached_property
    def donated(self) -> tuple[int, ...]:
        """Numbers of the arguments whose buffers the program may reuse."""
        return mlir_modules.donated_arguments(mlir_modules.parse(self.stablehlo()))

    def __getstate__(self) -> dict[str, Any]:
        # With the HLO, if it was needed, so that no worker converts it again. The rest is cheap.
        kept = ("name", "form", "data", "hlo")
        return {name: value for name, value in vars(self).items() if name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _before_optimizations(module: Module, source: Source | Module) -> Module:
    """Returns a module that XLA can optimize again, and says what is no longer in it."""
    text, left_out = without_optimizations(module.to_text())
    file = None if isinstance(source, Module) else file_of(source)
    beside = file and first_module_of(file)
    hint = f"; {beside} has the program as it was before" if beside else ""
    warnings.warn(
        f"{file or module.name} is a module after XLA's optimizations: {left_out} were taken out, "
        f"and jaxlib optimizes it again, so that its times are others{hint}",
        HloWarning,
        stacklevel=3,
    )
    return Module.from_text(text)


def to_stablehlo(proto: bytes) -> bytes:
    """Converts a serialized ``HloModuleProto`` to StableHLO bytecode by jaxlib.

    Raises:
        ProgramError: jaxlib does not convert it.
        HloError: It aliases arrays, and a parameter or result is not an array of fixed size.
    """
    from jax.extend.mlir import hlo_to_stablehlo

    try:
        converted = hlo_to_stablehlo(proto)
    except Exception as error:  # of classes that jaxlib does not export
        raise ProgramError(f"jaxlib does not convert this HLO to StableHLO: {error}") from error
    if not mlir_modules.has_aliases(converted):
        return converted
    signature = signature_of_shapes(*jaxlib_modules.shapes_of(proto))
    return mlir_modules.with_flat_aliases(converted, signature)


def check_lowered(lowered: Any) -> None:
    """Checks that the module of a ``jax.stages.Lowered`` says all about it, and is for one CPU.

    Raises:
        ProgramError: It is for another platform or for several devices, calls back into Python,
            changes a ``jax.Ref``, has compiler options, or asks for layouts of its arguments.
    """
    # Attributes of jax 0.10, which tests/hlograph/plans hold.
    lowering = lowered._lowering
    arguments = lowering.compile_args
    if tuple(lowering._platforms) != ("cpu",):
        raise ProgramError(
            f"expected a function lowered for the CPU, got one for {', '.join(lowering._platforms)}"
            ": plans are for CPUs alone. Run the program with JAX_PLATFORMS=cpu, or lower and call "
            "the function within jax.default_device(jax.devices('cpu')[0]), with arguments there"
        )
    if arguments["num_devices"] != 1:
        raise ProgramError(
            f"expected a program for one device, got one for {arguments['num_devices']}"
        )
    if arguments["host_callbacks"] or arguments["ordered_effects"]:
        raise ProgramError(
            "expected a program without callbacks and ordered effects (jax.pure_callback, "
            "jax.debug.print, io_callback): they cannot be run again for a measurement"
        )
    if arguments["mut"] is not None:
        raise ProgramError(
            "expected a function that changes no array, got one with a jax.Ref (jax.new_ref) as "
            "an argument or from outside of it: a measurement would change it. Take and return "
            "arrays instead; a Ref that is made within the function is no obstacle"
        )
    if lowering._compiler_options_kvs:
        given = ", ".join(name for name, _ in lowering._compiler_options_kvs)
        raise ProgramError(
            f"expected a function without compiler_options, got one with {given}: plans are "
            "measured beside what jaxlib compiles by default. Leave them out, as plans set flags "
            "themselves, or set them for the whole process in XLA_FLAGS"
        )
    _check_layouts(arguments)


def _check_layouts(arguments: Mapping[str, Any]) -> None:
    from jax.experimental.layout import Layout

    for number, layout in enumerate(arguments["in_layouts"]):
        rank = arguments["global_in_avals"][number].ndim
        if layout is None or (
            isinstance(layout, Layout) and layout.major_to_minor == tuple(range(rank))
        ):
            continue
        raise ProgramError(
            f"expected arguments in jax's default layout, got {layout} for argument {number}: "
            "inputs are measured in the default one. Copy the array first, as in "
            "jax.device_put(x, jax.experimental.layout.Format(Layout(tuple(range(x.ndim))), "
            "x.sharding)), and leave layouts out of in_shardings"
        )
    for number, layout in enumerate(arguments["out_layouts"]):
        if layout is not None and not isinstance(layout, Layout):
            raise ProgramError(
                f"expected a given layout of result {number}, or none, got {layout}: jaxlib may "
                "choose another one with each plan. Leave it out of out_shardings"
            )
