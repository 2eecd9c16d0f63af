"""Placements ``partitions`` and ``one-kernel``: how the work of an instruction is divided.

The outer dimensions of a loop fusion are divided among threads. XLA's own division
(``cpu-parallel-task-assigner``) has run when the module arrives here, so that what is written
holds, without that pass disabled. Or a loop or a call is compiled with all that it calls as one
kernel, in the form of XLA's ``small-while-loop-hoisting``, which does the same for loops that touch
few bytes: all runs on one thread then, dots without a library.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator

from hlograph.errors import PlanError
from hlograph.plans.placing.operations import (
    IN_PLACE,
    is_library_fusion,
    is_loop_fusion,
    partitions_of,
    set_partitions,
)
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape

_ATTRIBUTES = "frontend_attributes"
SMALL_CALL = 'xla_cpu_small_call="true"'
"""The frontend attribute of such a call."""

# What the emitter of calls cannot do, by XLA's own list and for safety what has effects.
_UNAVAILABLE = frozenset((
    "custom-call", "infeed", "outfeed", "scatter", "sort", "fft", "partition-id", "replica-id",
    "cholesky", "topk", "triangular-solve", "send", "recv", "send-done", "recv-done", "all-reduce",
    "all-gather", "all-to-all", "collective-permute", "reduce-scatter", "rng", "rng-bit-generator",
    "rng-get-and-update-state", "async-start", "async-update", "async-done", "conditional", "call",
    "map", "after-all", "domain",
))  # fmt: skip


def place_one_kernel(module: ModuleText, name: str, value: str) -> None:
    """Marks a call, or a call made around a loop, to be compiled as one kernel.

    Raises:
        PlanError: It is neither, it is one already, or it has an operation that needs its own.
    """
    home, op = module.find(name)
    if value:
        raise PlanError(f"expected no value for one-kernel, got {value!r}")
    check_one_kernel(module, home, op)
    for inner in inner_instructions(module, op):
        if partitions_of(inner):
            set_partitions(inner, ())
    attributes = op.attributes.get(_ATTRIBUTES, "{}").strip("{}")
    if op.opcode == "call":
        joined = f"{attributes},{SMALL_CALL}" if attributes else SMALL_CALL
        op.attributes[_ATTRIBUTES] = f"{{{joined}}}"
        return
    body = Computation(module.fresh(f"{name}_computation"), False, [])
    inner = op.copy(module.fresh(f"{name}.inner"))
    parameter = Instruction(module.fresh(f"{name}.state"), op.shape, "parameter", [], argument="0")
    inner.operands, inner.is_root = [parameter.name], True
    inner.attributes.pop("control-predecessors", None)
    body.instructions = [parameter, inner]
    kept = {k: v for k, v in op.attributes.items() if k == "control-predecessors"}
    op.opcode = "call"
    op.attributes = kept | {"to_apply": f"%{body.name}", _ATTRIBUTES: f"{{{SMALL_CALL}}}"}
    module.add(body)


def check_one_kernel(
    module: ModuleText, home: Computation, op: Instruction, *, libraries: bool = False
) -> None:
    """Checks that a loop or call can be compiled as one kernel.

    Args:
        module: The module.
        home: The computation of the loop or call.
        op: The loop or call.
        libraries: True accepts calls of libraries in it, which have to be replaced before.

    Raises:
        PlanError: It cannot.
    """
    if op.opcode not in ("call", "while"):
        raise PlanError(f"expected a call or a loop for one-kernel, got the {op.opcode} {op.name}")
    if SMALL_CALL in op.attributes.get(_ATTRIBUTES, ""):
        raise PlanError(f"{op.name} is one kernel already")
    check_no_kernel_around(module, home)
    for inner in inner_instructions(module, op):
        if libraries and is_library_fusion(inner):
            continue
        if inner.opcode in _UNAVAILABLE or inner.kind == "kCustom":
            culprit = "library call" if inner.kind == "kCustom" else inner.opcode
            raise PlanError(
                f"{op.name} has the {culprit} {inner.name}, which no single kernel takes"
            )


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


def inner_instructions(module: ModuleText, op: Instruction) -> Iterator[Instruction]:
    """Yields the instructions of all computations that an instruction calls."""
    for name in op.calls:
        for inner in module.computations[name].instructions:
            yield inner
            yield from inner_instructions(module, inner)


_MOST_PARTS = 4096
# A kernel of fewer elements runs shorter than it takes to wake a thread.
_WORTHWHILE_ELEMENTS = 4096


def place_partitions(module: ModuleText, name: str, value: str) -> None:
    """Sets the number of parts of a loop fusion's outer dimensions.

    Raises:
        PlanError: The instruction is no loop fusion of one array, or the numbers do not fit it.
    """
    home, op = module.find(name)
    _check(module, home, op)
    shape = array_shape(op.shape)
    assert shape is not None
    if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", value):
        raise PlanError(f"expected partitions such as 4 or 2,2, got {value!r}")
    parts = tuple(map(int, value.split(",")))
    sizes = shape.outer_sizes
    fits = len(parts) <= len(sizes) and all(a <= b for a, b in zip(parts, sizes, strict=False))
    if parts != (1,) and not (fits and math.prod(parts) <= _MOST_PARTS):
        raise PlanError(
            f"expected at most as many parts as each outer dimension of {name} has elements "
            f"({','.join(map(str, sizes))}) and {_MOST_PARTS} in all, got {value!r}"
        )
    set_partitions(op, () if math.prod(parts) == 1 else parts)


def partition_values(module: ModuleText, home: Computation, op: Instruction) -> Iterator[str]:
    """Yields values to try for a fusion: one thread, and powers of two up to twice the cores."""
    try:
        _check(module, home, op)
    except PlanError:
        return
    shape, now = array_shape(op.shape), partitions_of(op)
    if shape is None or shape.elements < _WORTHWHILE_ELEMENTS:
        return
    if now:
        yield "1"
    number = 2
    while number <= 2 * (os.cpu_count() or 1):
        if number <= shape.outer_sizes[0] and now != (number,):
            yield str(number)
        number *= 2


def _check(module: ModuleText, home: Computation, op: Instruction) -> None:
    shape = array_shape(op.shape)
    if not is_loop_fusion(op) or shape is None or not shape.elements:
        raise PlanError(f"expected a loop fusion of one array for partitions, got {op.name}")
    for inner in module.computations[op.calls[0]].instructions:
        if inner.opcode in IN_PLACE or inner.opcode.startswith("rng"):
            raise PlanError(f"{op.name} has a {inner.opcode}, which is not divided among threads")
    check_no_kernel_around(module, home)
