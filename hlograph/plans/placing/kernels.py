"""Placement ``one-kernel``: a loop or a call, compiled with all that it calls as one kernel.

The form is that of XLA's ``small-while-loop-hoisting``, which does the same for loops that touch
few bytes. All runs on one thread then, dots without a library.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlograph.errors import PlanError
from hlograph.plans.placing.kinds import is_library_fusion, partitions_of, set_partitions
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

_ATTRIBUTES = "frontend_attributes"
SMALL_CALL = 'xla_cpu_small_call="true"'
"""The frontend attribute of such a call."""

# What the emitter of calls cannot do, by XLA's own list and for safety what has effects.
_UNAVAILABLE = frozenset(
    [
        "custom-call",
        "infeed",
        "outfeed",
        "scatter",
        "sort",
        "fft",
        "partition-id",
        "replica-id",
        "cholesky",
        "topk",
        "triangular-solve",
        "send",
        "recv",
        "send-done",
        "recv-done",
        "all-reduce",
        "all-gather",
        "all-to-all",
        "collective-permute",
        "reduce-scatter",
        "rng",
        "rng-bit-generator",
        "rng-get-and-update-state",
        "async-start",
        "async-update",
        "async-done",
        "conditional",
        "call",
        "map",
        "after-all",
        "domain",
    ]
)


def place_one_kernel(module: ModuleText, name: str, value: str) -> None:
    """Marks a call, or a call made around a loop, to be compiled as one kernel.

    Raises:
        PlanError: It is neither, it is one already, or it has an operation that needs its own.
    """
    home, one = module.find(name)
    if value:
        raise PlanError(f"expected no value for one-kernel, got {value!r}")
    check_one_kernel(module, home, one)
    for inner in inner_instructions(module, one):
        if partitions_of(inner):
            set_partitions(inner, ())
    attributes = one.attributes.get(_ATTRIBUTES, "{}").strip("{}")
    if one.opcode == "call":
        joined = f"{attributes},{SMALL_CALL}" if attributes else SMALL_CALL
        one.attributes[_ATTRIBUTES] = f"{{{joined}}}"
        return
    body = Computation(module.fresh(f"{name}_computation"), False, [])
    inner = one.copy(module.fresh(f"{name}.inner"))
    parameter = Instruction(module.fresh(f"{name}.state"), one.shape, "parameter", [], argument="0")
    inner.operands, inner.is_root = [parameter.name], True
    inner.attributes.pop("control-predecessors", None)
    body.instructions = [parameter, inner]
    kept = {k: v for k, v in one.attributes.items() if k == "control-predecessors"}
    one.opcode = "call"
    one.attributes = kept | {"to_apply": f"%{body.name}", _ATTRIBUTES: f"{{{SMALL_CALL}}}"}
    module.add(body)


def check_one_kernel(
    module: ModuleText, home: Computation, one: Instruction, *, libraries: bool = False
) -> None:
    """Checks that a loop or call can be compiled as one kernel.

    Args:
        module: The module.
        home: The computation of the loop or call.
        one: The loop or call.
        libraries: True accepts calls of libraries in it, which have to be replaced before.

    Raises:
        PlanError: It cannot.
    """
    if one.opcode not in ("call", "while"):
        raise PlanError(
            f"expected a call or a loop for one-kernel, got the {one.opcode} {one.name}"
        )
    if SMALL_CALL in one.attributes.get(_ATTRIBUTES, ""):
        raise PlanError(f"{one.name} is one kernel already")
    check_no_kernel_around(module, home)
    for inner in inner_instructions(module, one):
        if libraries and is_library_fusion(inner):
            continue
        if inner.opcode in _UNAVAILABLE or inner.kind == "kCustom":
            what = "library call" if inner.kind == "kCustom" else inner.opcode
            raise PlanError(f"{one.name} has the {what} {inner.name}, which no single kernel takes")


def check_no_kernel_around(module: ModuleText, home: Computation) -> None:
    """Checks that a computation is not a part of one kernel, in which nothing is divided.

    Raises:
        PlanError: It is.
    """
    called_from, waiting, seen = module.called_from(), [home.name], {home.name}
    while waiting:
        for outer, caller in called_from.get(waiting.pop(), ()):
            if SMALL_CALL in caller.attributes.get(_ATTRIBUTES, ""):
                raise PlanError(f"this is a part of {caller.name}, which is one kernel already")
            if outer.name not in seen:
                seen.add(outer.name)
                waiting.append(outer.name)


def inner_instructions(module: ModuleText, one: Instruction) -> Iterator[Instruction]:
    """Yields the instructions of all computations that an instruction calls."""
    for name in one.calls:
        for inner in module.computations[name].instructions:
            yield inner
            yield from inner_instructions(module, inner)
