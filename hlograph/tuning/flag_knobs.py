"""Knobs of flags, each for the programs that it can matter to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hlograph.plans import Numerics
from hlograph.plans.flags import CONVOLUTIONS, DOTS, FLAGS, REDUCTIONS, FlagValue
from hlograph.tuning.knobs import Knob


class _Choices(NamedTuple):
    """A flag, its values, and the opcodes of which a program must have one."""

    flag: str
    values: tuple[FlagValue, ...]
    opcodes: frozenset[str] = frozenset()


_LIBRARY = frozenset({"dot", "convolution", "reduce", "reduce-window"})
_CHOICES = (
    _Choices("xla_cpu_small_while_loop_byte_threshold", (4_000_000, 0), frozenset({"while"})),
    _Choices(
        "xla_cpu_experimental_ynn_fusion_type",
        (f"{DOTS},{CONVOLUTIONS}", "", f"{DOTS},{REDUCTIONS}", REDUCTIONS),
        _LIBRARY,
    ),
    _Choices("xla_cpu_experimental_onednn_fusion_type", (DOTS,), frozenset({"dot"})),
    _Choices("xla_cpu_prefer_vector_width", (512, 128)),
    _Choices("xla_cpu_use_multi_output_fusion", (True,)),
    _Choices("xla_cpu_disable_new_fusion_emitters", (True,)),
    _Choices("xla_cpu_disable_tiled_emitter", (True,)),
    _Choices("xla_cpu_experimental_enable_tiling_propagation", (True,)),
    _Choices("xla_cpu_disable_loop_unrolling", (True,)),
    _Choices("xla_cpu_optimize_for_size", (True,)),
    _Choices("xla_cpu_scheduler_type", ("CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED",)),
    _Choices("xla_cpu_multi_thread_eigen", (False,), frozenset({"dot", "convolution"})),
    _Choices("xla_cpu_enable_fast_math", (True,)),
)


def flag_knobs(
    opcodes: Iterable[str], hot: Mapping[str, float] | None, numerics: Numerics
) -> Iterator[Knob]:
    """Yields the knobs of flags for a program.

    Args:
        opcodes: The opcodes of the program.
        hot: Share of the time in the kernels that contain each opcode; see
            ``hlograph.measuring.compiled.Shares``. None if it is not known.
        numerics: Class of the results; ``fast`` has knobs of fast math.
    """
    present = frozenset(opcodes)
    for one in _CHOICES:
        allowed = numerics == "fast" or not FLAGS[one.flag].fast
        if allowed and (not one.opcodes or one.opcodes & present):
            values = tuple(json.dumps(value) for value in one.values)
            yield Knob(f"flags {one.flag}", values, share_of(one.opcodes, hot), about="the program")


def share_of(opcodes: frozenset[str], hot: Mapping[str, float] | None) -> float:
    """Returns the share of the time that a flag is about.

    Args:
        opcodes: The opcodes that it can matter to; empty for all.
        hot: See ``flag_knobs``.
    """
    if hot is None or not opcodes:
        return 1.0
    return min(sum(hot.get(name, 0.0) for name in opcodes), 1.0)


def flag_values() -> tuple[tuple[str, str], ...]:
    """Returns each name of a knob of flags with each of its values, in a fixed order."""
    return tuple(
        (f"flags {one.flag}", json.dumps(value)) for one in _CHOICES for value in one.values
    )


def flags_of(values: Mapping[str, str]) -> dict[str, FlagValue]:
    """Returns the flags that the values of knobs set."""
    return {name.removeprefix("flags "): json.loads(value) for name, value in values.items()}


def values_of(flags: Mapping[str, FlagValue]) -> dict[str, str]:
    """Returns the values of knobs that set flags."""
    return {f"flags {name}": json.dumps(value) for name, value in flags.items()}
