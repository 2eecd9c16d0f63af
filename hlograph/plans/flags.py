"""Flags of XLA:CPU that a plan may set, and how they reach a compilation in jaxlib.

The list is closed. A name that XLA does not know, or a value that it does not expect, would end
the process, and LLVM's own options hold for all compilations of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from hlograph.errors import PlanError
from hlograph.reading.wire_format import field

FlagValue = bool | int | str

LIBRARIES = "xla_cpu_experimental_ynn_fusion_type"
"""The flag of what runs in the library YNNPACK."""

DISABLED_PASSES = "xla_disable_hlo_passes"
"""The flag of the passes of XLA that do not run."""

DOTS, CONVOLUTIONS, REDUCTIONS, _DOT, _ELEMENTWISE = (
    f"LIBRARY_FUSION_TYPE_{name}"
    for name in ("INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION", "REDUCE", "DOT", "ELTWISE")
)
_LIBRARY_TYPES = frozenset((DOTS, CONVOLUTIONS, REDUCTIONS, _DOT, _ELEMENTWISE))

# Field numbers of XLA's messages: CompileOptionsProto.executable_build_options,
# ExecutableBuildOptionsProto.debug_options, DebugOptions.xla_backend_extra_options (a map).
_BUILD_OPTIONS, _DEBUG_OPTIONS, _EXTRA_OPTIONS = 3, 3, 500


@dataclass(frozen=True)
class Flag:
    """A flag of XLA:CPU.

    Attributes:
        name: XLA's name.
        way: ``option`` for a field of XLA's debug options, ``extra`` for an entry of
            ``xla_backend_extra_options``.
        expects: The accepted values in words.
        accepts: Function that returns True for an accepted value.
        fast: True if the flag allows results that are not close to those of the original.
    """

    name: str
    way: Literal["option", "extra"]
    expects: str
    accepts: Callable[[FlagValue], bool]
    fast: bool = False


def _switch(name: str, way: Literal["option", "extra"] = "option", *, fast: bool = False) -> Flag:
    return Flag(name, way, "true or false", lambda value: isinstance(value, bool), fast)


def _choice(name: str, *values: str) -> Flag:
    return Flag(name, "option", " or ".join(values), lambda value: value in values)


def _number(name: str, low: int, high: int, way: Literal["option", "extra"] = "option") -> Flag:
    def accepts(value: FlagValue) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return Flag(name, way, f"a number from {low} to {high}", accepts)


def _libraries(name: str) -> Flag:
    def accepts(value: FlagValue) -> bool:
        return isinstance(value, str) and set(filter(None, value.split(","))) <= _LIBRARY_TYPES

    expects = "names separated by commas, or an empty text: " + ", ".join(sorted(_LIBRARY_TYPES))
    return Flag(name, "option", expects, accepts)


FLAGS: Mapping[str, Flag] = MappingProxyType(
    {
        flag.name: flag
        for flag in (
            _libraries("xla_cpu_experimental_ynn_fusion_type"),
            _libraries("xla_cpu_experimental_onednn_fusion_type"),
            Flag(
                "xla_cpu_prefer_vector_width",
                "option",
                "128, 256 or 512",
                lambda value: value in (128, 256, 512) and not isinstance(value, bool),
            ),
            _number("xla_backend_optimization_level", 0, 3),
            _switch("xla_cpu_multi_thread_eigen"),
            _switch("xla_cpu_copy_insertion_use_region_analysis"),
            _switch("xla_cpu_use_fusion_emitters"),
            _switch("xla_cpu_experimental_enable_tiling_propagation"),
            _switch("xla_cpu_enable_fast_min_max", fast=True),
            _switch("xla_cpu_enable_fast_math", fast=True),
            _switch("xla_cpu_fast_math_honor_nans", fast=True),
            _switch("xla_cpu_fast_math_honor_infs", fast=True),
            _switch("xla_cpu_fast_math_honor_division", fast=True),
            _switch("xla_cpu_fast_math_honor_functions", fast=True),
            _choice(
                "xla_cpu_scheduler_type",
                "CPU_SCHEDULER_TYPE_DEFAULT",
                "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
                "CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED",
            ),
            Flag(
                DISABLED_PASSES,
                "option",
                "names of XLA's passes, separated by commas",
                lambda value: (
                    isinstance(value, str) and all(c.isalnum() or c in "-_,:" for c in value)
                ),
            ),
            _number("xla_cpu_small_while_loop_byte_threshold", 0, 1 << 40, "extra"),
            _switch("xla_cpu_disable_loop_unrolling", "extra"),
            _switch("xla_cpu_optimize_for_size", "extra"),
            _switch("xla_cpu_disable_tiled_emitter", "extra"),
            _switch("xla_cpu_disable_new_fusion_emitters", "extra"),
            _switch("xla_cpu_use_multi_output_fusion", "extra"),
        )
    }
)
"""The flags by name."""


def check(flags: Mapping[str, FlagValue]) -> None:
    """Checks that all flags are known and have an accepted value.

    Raises:
        PlanError: One of them is not.
    """
    for name, value in flags.items():
        if name not in FLAGS:
            raise PlanError(
                f"expected a flag of hlograph.plans.flags.FLAGS, got {name!r}: other flags of XLA "
                "or LLVM may end the process"
            )
        if not FLAGS[name].accepts(value):
            raise PlanError(f"expected {FLAGS[name].expects} for the flag {name}, got {value!r}")


def allows_fast_math(flags: Mapping[str, FlagValue]) -> bool:
    """Returns True if a flag allows results that are not close to those of the original."""
    return any(FLAGS[name].fast for name in flags)


def options(flags: Mapping[str, FlagValue]) -> dict[str, FlagValue]:
    """Returns the flags that ``jax.stages.Lowered.compile(compiler_options=)`` takes."""
    return {name: value for name, value in flags.items() if FLAGS[name].way == "option"}


def serialized_extra_options(flags: Mapping[str, FlagValue]) -> bytes:
    """Returns the other flags as bytes to append to a serialized ``CompileOptionsProto``.

    jax refuses ``xla_backend_extra_options``, because it is a map. In the wire format of protocol
    buffers a message that follows another one is merged into it.
    """
    entries = b"".join(
        field(_EXTRA_OPTIONS, field(1, name.encode()) + field(2, _text(value).encode()))
        for name, value in _extras(flags)
    )
    return field(_BUILD_OPTIONS, field(_DEBUG_OPTIONS, entries)) if entries else b""


def _extras(flags: Mapping[str, FlagValue]) -> Iterator[tuple[str, FlagValue]]:
    # XLA takes a switch as set if it has an entry, whatever the value.
    return (
        (name, value)
        for name, value in flags.items()
        if FLAGS[name].way == "extra" and value is not False
    )


def _text(value: FlagValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
