"""Placement ``partitions``: the outer dimensions of a loop fusion, divided among threads.

XLA's own division (``cpu-parallel-task-assigner``) has run when the module arrives here, so that
what is written holds, without that pass disabled.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator

from hlograph.errors import PlanError
from hlograph.plans.placing.kernels import check_no_kernel_around
from hlograph.plans.placing.kinds import IN_PLACE, is_loop_fusion, partitions_of, set_partitions
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape

_MOST_PARTS = 4096
# A kernel of fewer elements runs shorter than it takes to wake a thread.
_WORTHWHILE_ELEMENTS = 4096


def place_partitions(module: ModuleText, name: str, value: str) -> None:
    """Sets the number of parts of a loop fusion's outer dimensions.

    Raises:
        PlanError: The instruction is no loop fusion of one array, or the numbers do not fit it.
    """
    home, one = module.find(name)
    _check(module, home, one)
    shape = array_shape(one.shape)
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
    set_partitions(one, () if math.prod(parts) == 1 else parts)


def partition_values(module: ModuleText, home: Computation, one: Instruction) -> Iterator[str]:
    """Yields values to try for a fusion: one thread, and powers of two up to twice the cores."""
    try:
        _check(module, home, one)
    except PlanError:
        return
    shape, now = array_shape(one.shape), partitions_of(one)
    if shape is None or shape.elements < _WORTHWHILE_ELEMENTS:
        return
    if now:
        yield "1"
    number = 2
    while number <= 2 * (os.cpu_count() or 1):
        if number <= shape.outer_sizes[0] and now != (number,):
            yield str(number)
        number *= 2


def _check(module: ModuleText, home: Computation, one: Instruction) -> None:
    shape = array_shape(one.shape)
    if not is_loop_fusion(one) or shape is None or not shape.elements:
        raise PlanError(f"expected a loop fusion of one array for partitions, got {one.name}")
    for inner in module.computations[one.calls[0]].instructions:
        if inner.opcode in IN_PLACE or inner.opcode.startswith("rng"):
            raise PlanError(f"{one.name} has a {inner.opcode}, which is not divided among threads")
    check_no_kernel_around(module, home)
