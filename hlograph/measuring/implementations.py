"""Lists the implementations of a program that jaxlib's default is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hlograph._native import has_engine
from hlograph.errors import (
    WorkerLostError,
    WorkerOutOfMemoryError,
    WorkerTimedOutError,
)
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.text_flow import TextFlow
from hlograph.execution.equivalence.verdict import (
    EngineName,
)
from hlograph.plans import Plan, Program
from hlograph.plans.flags import DISABLED_PASSES, LIBRARIES, FlagValue
from hlograph.plans.jaxlib_versions import jaxlib_support
from hlograph.plans.known_faults import faults_of
from hlograph.reading.parser_server import failed_check

# Opcodes that jaxlib may leave to a library.
_OF_LIBRARIES = frozenset({"dot", "convolution", "reduce", "reduce-window"})

# Custom call that returns its operand.
_ANNOTATION = "Sharding"

_OLDER_EMITTERS = "xla_cpu_disable_new_fusion_emitters"


class Implementation(NamedTuple):
    """One way to compute a program.

    Attributes:
        name: Name in reports.
        plan: Plan of jaxlib; None for an engine.
        engine: The engine; None for jaxlib.
        rank: Implementations of a higher rank are believed against those of lower ranks.
    """

    name: str
    plan: Plan | None = None
    engine: EngineName | None = None
    rank: int = 0


DEFAULT = Implementation("jaxlib's default", Plan())
"""The implementation that is judged."""

_PLAIN_NAME, _OLDER_NAME = "jaxlib without library fusions", "jaxlib with its older emitters"
_UNFUSED_NAME = "jaxlib without fusions"
ENGINE = Implementation("the engine's XLA", engine="compiled")
"""The implementation of the XLA that hlograph links."""

EVALUATOR = Implementation("XLA's evaluator", engine="evaluator", rank=2)
"""The implementation that is believed most; it may compute some outputs alone."""


def plain_plan(program: Program) -> Plan:
    """Returns the plan of the plain reference, whose code is not that of the default.

    It has no library fusions; a program without any is compiled with jaxlib's older emitters.
    """
    if _OF_LIBRARIES.intersection(program.flow.opcodes):
        return _plan(program, {LIBRARIES: ""}, _PLAIN_NAME)
    return _older_plan(program)


def last_resort(program: Program) -> Implementation:
    """Returns what jaxlib compiles with the least effort, for a program that it does not survive.

    Nothing is simplified or computed at compile time, and the code is not optimised.
    """
    flags: dict[str, FlagValue] = {
        LIBRARIES: "",
        DISABLED_PASSES: "algsimp,constant_folding,simplify-while-loops",
        "xla_backend_optimization_level": 0,
    }
    name = "jaxlib with few passes"
    return Implementation(name, _plan(program, flags, name))


def _older_plan(program: Program) -> Plan:
    support = jaxlib_support()
    if support is None or _OLDER_EMITTERS not in support.without_effect:
        return _plan(program, {LIBRARIES: "", _OLDER_EMITTERS: True}, _OLDER_NAME)
    return _plan(program, {LIBRARIES: "", DISABLED_PASSES: "fusion"}, _UNFUSED_NAME)


def _plan(program: Program, flags: Mapping[str, FlagValue], method: str) -> Plan:
    fingerprint = program.fingerprint
    return Plan(program.name, fingerprint, flags=flags, numerics="close", method=method)


def implementations_of(program: Program) -> list[tuple[Implementation, ...]]:
    """Returns the implementations that a program has, in the rounds in which they are asked."""
    plain, older = plain_plan(program), _older_plan(program)
    plans = {plain.digest, older.digest}
    mended = [fault for fault in faults_of(program.flow) if fault.plan.digest not in plans]
    engines = (ENGINE, EVALUATOR) if has_engine() else ()
    return [
        (Implementation(plain.method, plain), DEFAULT),
        tuple(
            Implementation(f"jaxlib, {f.plan.method} ({f.name})", f.plan, rank=1) for f in mended
        ),
        engines,
        () if older.digest == plain.digest else (Implementation(older.method, older),),
    ]


def evaluator_obstacles(flow: Flow | TextFlow) -> list[str]:
    """Describes the instructions that XLA's evaluator does not compute, or computes wrongly.

    It has no code for custom calls: an arbitrary function of the operands stands for each, which
    is the same in two modules, but not what jaxlib calls. It counts the leading zeros of a negative
    number as of one of 64 bits, and takes powers with negative and with large integers as exponents
    for others (seen in the XLA that hlograph links).

    Args:
        flow: Data flow of a program.

    Returns:
        One sentence for each kind of instruction.
    """
    reasons: set[str] = set()
    for node, opcode in enumerate(flow.opcodes):
        if opcode == "custom-call":
            target = flow.attribute(node, "custom_call_target", "")
            if target != _ANNOTATION:
                reasons.add(f"XLA's evaluator has no code for custom call {target}")
        if opcode in ("count-leading-zeros", "power"):
            element_type = flow.element_type(node)
            is_narrow = element_type.startswith("s") and element_type != "s64"
            if is_narrow or (opcode == "power" and element_type[0] in "su"):
                reasons.add(f"XLA's evaluator computes {opcode} of {element_type} wrongly")
    return sorted(reasons)


def death_of(error: BaseException) -> str:
    """Returns what becomes of an implementation that does not live, as the rest of a sentence."""
    if not isinstance(error, WorkerLostError):
        return f"does not run: {str(error).splitlines()[0]}"
    words = f"{error} {failed_check(error.output)}".strip()
    if isinstance(error, WorkerTimedOutError):
        return f"takes too long: {words}"
    if isinstance(error, WorkerOutOfMemoryError):
        return f"runs out of memory: {words}"
    return f"ends the process: {words}"
