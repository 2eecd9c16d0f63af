"""Sets of flags that made programs faster, each for the programs that it can matter to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from hlograph.graph.vocabulary import OPCODES
from hlograph.optimization.methods.protocol import Listed, Method
from hlograph.plans import NUMERICS, Numerics, Plan
from hlograph.plans.flags import CONVOLUTIONS, DOTS, REDUCTIONS, FlagValue
from hlograph.programs import Program

_LIBRARIES = "xla_cpu_experimental_ynn_fusion_type"
_FAST_MATH = {
    "xla_cpu_enable_fast_math": True,
    "xla_cpu_fast_math_honor_nans": False,
    "xla_cpu_fast_math_honor_infs": False,
    "xla_cpu_fast_math_honor_division": False,
    "xla_cpu_fast_math_honor_functions": False,
}


class FlagSet(NamedTuple):
    """Flags that belong together.

    Attributes:
        name: Name in reports.
        flags: The flags.
        opcodes: The program must have an instruction of one of these; empty for any program.
        numerics: Class of the results, at best.
    """

    name: str
    flags: Mapping[str, FlagValue]
    opcodes: frozenset[str] = frozenset()
    numerics: Numerics = "close"


FLAG_SETS: tuple[FlagSet, ...] = (
    FlagSet(
        "loops as one kernel",
        {"xla_cpu_small_while_loop_byte_threshold": 4_000_000},
        frozenset({"while"}),
    ),
    FlagSet(
        "reductions without library",
        {_LIBRARIES: f"{DOTS},{CONVOLUTIONS}"},
        frozenset({"reduce", "reduce-window"}),
    ),
    FlagSet(
        "convolutions without library",
        {_LIBRARIES: f"{DOTS},{REDUCTIONS}"},
        frozenset({"convolution"}),
    ),
    FlagSet(
        "no library",
        {_LIBRARIES: ""},
        frozenset({"dot", "convolution", "reduce", "reduce-window"}),
    ),
    FlagSet(
        "oneDNN",
        {"xla_cpu_experimental_onednn_fusion_type": DOTS, _LIBRARIES: ""},
        frozenset({"dot", "convolution"}),
    ),
    FlagSet(
        "dots on one thread",
        {"xla_cpu_multi_thread_eigen": False},
        frozenset({"dot", "convolution"}),
    ),
    FlagSet("multi-output fusion", {"xla_cpu_use_multi_output_fusion": True}),
    FlagSet("512-bit vectors", {"xla_cpu_prefer_vector_width": 512}),
    FlagSet("128-bit vectors", {"xla_cpu_prefer_vector_width": 128}),
    FlagSet("older fusion emitters", {"xla_cpu_disable_new_fusion_emitters": True}),
    FlagSet("no tiled emitter", {"xla_cpu_disable_tiled_emitter": True}),
    FlagSet("tiling propagation", {"xla_cpu_experimental_enable_tiling_propagation": True}),
    FlagSet("optimized for size", {"xla_cpu_optimize_for_size": True}),
    FlagSet("no unrolling", {"xla_cpu_disable_loop_unrolling": True}),
    FlagSet(
        "concurrent schedule",
        {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED"},
    ),
    FlagSet("fast math", _FAST_MATH, numerics="fast"),
)
"""The flag sets, the most promising first; measured in docs/speed.md."""


def flag_sets(program: Program, numerics: Numerics) -> Method:
    """Returns the method that tries the flag sets that may matter to a program."""
    return Listed(_plans(program, numerics))


def _plans(program: Program, numerics: Numerics) -> Iterator[Plan]:
    counts = program.module().op_counts()
    present = {OPCODES[number] for number in np.flatnonzero(counts)}
    for chosen in FLAG_SETS:
        allowed = NUMERICS.index(chosen.numerics) <= max(
            NUMERICS.index(numerics), NUMERICS.index("close")
        )
        if allowed and (not chosen.opcodes or chosen.opcodes & present):
            yield Plan(
                program=program.name,
                fingerprint=program.fingerprint,
                flags=chosen.flags,
                numerics=numerics,
                method=f"flags: {chosen.name}",
            )
