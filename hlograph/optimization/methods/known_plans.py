"""Plans that are known in advance: sets of flags, pass orders, and what helped, put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from hlograph.execution.equivalence.text_flow import TextFlow
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods import COLD, HELPS, Listed, Method, PlanSearch
from hlograph.plans import Numerics, Plan, PlanError, Program
from hlograph.plans.flag_effects import flags_without_effect
from hlograph.plans.flags import CONVOLUTIONS, DOTS, LIBRARIES, REDUCTIONS, FlagValue
from hlograph.plans.knobs import share_of

_STEPS = (("xla-simplify",), ("algsimp", "cse", "dce"), ("while-loop-invariant-code-motion",))

_FLOATS = re.compile(r"\bb?f\d+\[")

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
        updates: True if the program must have a loop that updates an array that it also reads.
    """

    name: str
    flags: Mapping[str, FlagValue]
    opcodes: frozenset[str] = frozenset()
    numerics: Numerics = "close"
    updates: bool = False


FLAG_SETS: tuple[FlagSet, ...] = (
    # XLA:CPU reads an element in the kernel of each user. Where one of these may run after the
    # update of the array, it copies the array in each iteration.
    FlagSet("updates in place", {"xla_cpu_copy_insertion_use_region_analysis": True}, updates=True),
    FlagSet("reads before updates", {"xla_disable_hlo_passes": "fusion"}, updates=True),
    FlagSet(
        "loops as one kernel",
        {"xla_cpu_small_while_loop_byte_threshold": 4_000_000},
        frozenset({"while"}),
    ),
    FlagSet(
        "loops as several kernels",
        {"xla_cpu_small_while_loop_byte_threshold": 0},
        frozenset({"while"}),
    ),
    FlagSet(
        "reductions without library",
        {LIBRARIES: f"{DOTS},{CONVOLUTIONS}"},
        frozenset({"reduce", "reduce-window"}),
    ),
    FlagSet(
        "convolutions without library",
        {LIBRARIES: f"{DOTS},{REDUCTIONS}"},
        frozenset({"convolution"}),
    ),
    FlagSet(
        "no library",
        {LIBRARIES: ""},
        frozenset({"dot", "convolution", "reduce", "reduce-window"}),
    ),
    FlagSet(
        "dots on one thread",
        {"xla_cpu_multi_thread_eigen": False},
        frozenset({"dot", "convolution"}),
    ),
    FlagSet(
        "schedule for memory", {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
    ),
    FlagSet("multi-output fusion", {"xla_cpu_use_multi_output_fusion": True}),
    FlagSet("512-bit vectors", {"xla_cpu_prefer_vector_width": 512}),
    FlagSet("no tiled emitter", {"xla_cpu_disable_tiled_emitter": True}),
    FlagSet("no unrolling", {"xla_cpu_disable_loop_unrolling": True}),
    FlagSet("older fusion emitters", {"xla_cpu_disable_new_fusion_emitters": True}),
    FlagSet("tiling propagation", {"xla_cpu_experimental_enable_tiling_propagation": True}),
    FlagSet(
        "oneDNN",
        {"xla_cpu_experimental_onednn_fusion_type": DOTS, LIBRARIES: ""},
        frozenset({"dot", "convolution"}),
    ),
    FlagSet("128-bit vectors", {"xla_cpu_prefer_vector_width": 128}),
    FlagSet("optimized for size", {"xla_cpu_optimize_for_size": True}),
    FlagSet("fast math", _FAST_MATH, numerics="fast"),
)
"""The flag sets. Those come first that bring most, as ``experiments.cost_model effects`` shows."""


class FlagSets(PlanSearch):
    """Proposes the flag sets that may matter to a program, those about cold instructions last.

    Until there is a profile, loops that carry no floating-point values count as cold: most of them
    draw random numbers.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        self._program = program
        self._numerics: Numerics = numerics
        present, dead = frozenset(program.flow.opcodes), flags_without_effect()
        self._waiting = [
            flags
            for flags in FLAG_SETS
            if dead.isdisjoint(flags.flags)
            and (not flags.updates or updates_what_it_reads(program.flow))
            and (not flags.opcodes or flags.opcodes & present)
            and (flags.numerics == "close" or numerics == "fast")
        ]
        self._hot = dict.fromkeys(present, 1.0)
        if "while" in present and not _loops_carry_floats(program.flow):
            self._hot["while"] = 0.0

    def _next(self) -> Plan | None:
        """Returns the plan of the next set; None if there is no other."""
        if not self._waiting:
            return None
        # The first of those that are equal.
        chosen = min(self._waiting, key=lambda flags: share_of(flags.opcodes, self._hot) < COLD)
        self._waiting.remove(chosen)
        return Plan(
            program=self._program.name,
            fingerprint=self._program.fingerprint,
            flags=chosen.flags,
            numerics=self._numerics,
            method=f"flags: {chosen.name}",
        )

    def _take(self, result: PlanMeasurement) -> None:
        """Takes note of where the default spends its time."""
        if result.hot is not None:
            self._hot = dict(result.hot)


def updates_what_it_reads(flow: TextFlow) -> bool:
    """Returns True if a loop of a module updates a part of an array that it also reads."""
    inside: set[int] = set()
    # A computation comes after those that it calls.
    for node in reversed(range(len(flow.opcodes))):
        if flow.opcodes[node] == "while" or flow.computation[node] in inside:
            inside.update(flow.called[node])
    return any(
        flow.computation[node] in inside
        and flow.opcodes[node] in ("dynamic-update-slice", "scatter")
        and _is_read_beside(flow, node)
        for node in range(len(flow.opcodes))
    )


def _is_read_beside(flow: TextFlow, update: int) -> bool:
    """Returns True if the array of an update comes from outside, and has other users."""
    array = flow.operands[update][0]
    users = {user for user, _ in flow.users[array]} - {update}
    return flow.opcodes[array] in ("get-tuple-element", "parameter") and any(
        flow.opcodes[user] != "tuple" for user in users
    )


def _loops_carry_floats(flow: TextFlow) -> bool:
    """Returns True if a loop of a module carries a floating-point value."""
    loops = (each for each in flow.instructions if each.opcode == "while")
    return any(_FLOATS.search(loop.shape) for loop in loops)


def pipelines(program: Program, numerics: Numerics) -> Method:
    """Returns the method that tries ``xla-simplify`` and a few short pass orders.

    The passes run in the workers alone: in this process one that fails a CHECK would end it.
    """
    name, fingerprint = program.name, program.fingerprint
    plans = [
        Plan(name, fingerprint, steps, numerics=numerics, method=f"passes: {' '.join(steps)}")
        for steps in _STEPS
    ]
    return Listed(iter(plans))


class GreedyMerge(PlanSearch):
    """Merges the fastest plan with other plans that were faster than the default.

    The partners of the fastest plan are tried from fast to slow; when a merged plan is the
    fastest, its partners are tried.
    """

    def __init__(self) -> None:
        self._helpful: dict[str, PlanMeasurement] = {}
        self._asked: set[str] = set()

    def _next(self) -> Plan | None:
        """Returns the next merged plan that was not measured; None if there is none now."""
        ranked = sorted(self._helpful.values(), key=lambda outcome: -outcome.ratio)
        for other in ranked[1:]:
            merged = _merged(ranked[0].plan, other.plan)
            if merged is not None and merged.digest not in self._asked:
                self._asked.add(merged.digest)
                return merged
        return None

    def _take(self, result: PlanMeasurement) -> None:
        """Takes note of a plan's speed."""
        self._asked.add(result.plan.digest)
        if result.ratio >= HELPS:
            self._helpful[result.plan.digest] = result
        else:
            self._helpful.pop(result.plan.digest, None)  # its lead did not last


def greedy(program: Program, numerics: Numerics) -> Method:
    """Returns the method that merges what helped."""
    del program, numerics
    return GreedyMerge()


def _merged(best: Plan, other: Plan) -> Plan | None:
    """Returns the plans merged, the best one's decisions first; None if they contradict."""
    try:
        return other | best
    except PlanError:
        return None
