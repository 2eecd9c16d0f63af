"""Placement ``library``: a dot, convolution or reduction by a library, or by XLA's own code."""

from __future__ import annotations

import re

from hlograph.errors import PlanError
from hlograph.plans.placing.operations import (
    ELEMENTWISE,
    LOOP,
    PLAIN,
    is_cheap,
    is_library_fusion,
    is_loop_fusion,
    set_library,
)
from hlograph.plans.placing.partitions import check_no_kernel_around
from hlograph.plans.placing.splitting import plain_root, split
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import ArrayShape, array_shape, numbers

_KINDS = {"ynn": "__ynn_fusion", "onednn": "__onednn_fusion"}
_REDUCERS = ("add", "maximum", "minimum")
_FLOATS = ("f32", "f64")
_LEAST_REDUCED, _LEAST_DOT, _LEAST_CHANNELS = 4096, 8, 16


def place_library(module: ModuleText, name: str, value: str) -> None:
    """Gives a dot, convolution or reduction to a library, or takes it from one.

    Raises:
        PlanError: The library does not take it, or it is in no library.
    """
    home, op = module.find(name)
    if value == "none":
        check_no_library(module, op)
        _take_from_library(module, home, op)
    elif value in _KINDS:
        check_library(module, home, op, value)
        _give(module, home, op, value)
    else:
        raise PlanError(f"expected ynn, onednn or none for library, got {value!r}")


def check_no_library(module: ModuleText, op: Instruction) -> None:
    """Checks that XLA's own code can do what a library does.

    Raises:
        PlanError: It is in no library, or has an operation that XLA has no code for.
    """
    if not is_library_fusion(op):
        raise PlanError(f"expected a library's fusion for the value none, got {op.name}")
    if op.shape.startswith("("):
        raise PlanError(f"{op.name} has several results; expected one array")
    for inner in module.computations[op.calls[0]].instructions:
        if inner.opcode not in LOOP | PLAIN | {"parameter", "constant"}:
            raise PlanError(f"{op.name} has a {inner.opcode}, which only its library does")


def check_library(module: ModuleText, home: Computation, op: Instruction, library: str) -> None:
    """Checks that a library takes an operation.

    Raises:
        PlanError: It does not.
    """
    check_no_kernel_around(module, home)
    computation, core = home, op
    if is_loop_fusion(op):
        computation = module.computations[op.calls[0]]
        core = computation.root
        if any(not is_cheap(i, computation) for i in computation.instructions if not i.is_root):
            raise PlanError(f"expected a single operation for a library, got the fusion {op.name}")
        if any(
            i.opcode not in ("parameter", "constant", core.opcode) for i in computation.instructions
        ):
            raise PlanError(f"expected a single operation for a library, got the fusion {op.name}")
    names = [computation.by_name[operand].shape for operand in core.operands]
    shapes = [array_shape(text) for text in (core.shape, *names)]
    arrays = [shape for shape in shapes if shape is not None and shape.is_row_major]
    if len(arrays) != len(shapes):
        raise PlanError(f"expected row-major arrays for a library, got those of {op.name}")
    taken = {
        "dot": lambda: _takes_dot(core, arrays),
        "convolution": lambda: library == "ynn" and _takes_convolution(core, arrays),
        "reduce": lambda: library == "ynn" and _takes_reduce(module, core, arrays),
    }.get(core.opcode, lambda: False)
    if not taken():
        raise PlanError(f"the library {library} does not take the {core.opcode} {op.name}")


def _takes_dot(core: Instruction, shapes: list[ArrayShape]) -> bool:
    out, left, right = shapes
    if {out.type, left.type, right.type} - {"f32"} and {s.type for s in shapes} != {"f64"}:
        return False
    batch = numbers(core.attributes.get("lhs_batch_dims", ""))
    rank = len(batch) + 2
    if batch != tuple(range(len(batch))) or batch != numbers(
        core.attributes.get("rhs_batch_dims", "")
    ):
        return False
    if any(len(shape.dimensions) != rank for shape in shapes):
        return False
    contracted = numbers(core.attributes.get("rhs_contracting_dims", ""))
    if numbers(core.attributes.get("lhs_contracting_dims", "")) != (rank - 1,):
        return False
    if len(contracted) != 1 or contracted[0] < len(batch):
        return False
    m, n = out.dimensions[-2:]
    k = left.dimensions[-1]
    return m > 1 and n > 1 and k > 0 and max(m, k, n) >= _LEAST_DOT and out.elements > 0


def _takes_convolution(core: Instruction, shapes: list[ArrayShape]) -> bool:
    out, image, filters = shapes
    window = core.attributes.get("window", "")
    if {s.type for s in shapes} not in ({"f32"}, {"f64"}):
        return False
    if core.attributes.get("dim_labels") != "b01f_01io->b01f":
        return False
    if "batch_group_count" in core.attributes or re.search(r"lhs_dilate|rhs_reversal", window):
        return False
    if max(image.dimensions[3], out.dimensions[3]) <= _LEAST_CHANNELS or not out.elements:
        return False
    return all(
        0 < out.dimensions[1 + i] <= image.dimensions[1 + i]
        and filters.dimensions[i] <= image.dimensions[1 + i]
        for i in range(2)
    )


def _takes_reduce(module: ModuleText, core: Instruction, shapes: list[ArrayShape]) -> bool:
    if len(core.operands) != 2 or {s.type for s in shapes} not in ({"f32"}, {"f64"}):
        return False
    reducer = module.computations[core.calls[0]]
    parameters = [op.name for op in reducer.parameters]
    return (
        len(reducer.instructions) == 3
        and reducer.root.opcode in _REDUCERS
        and sorted(reducer.root.operands) == sorted(parameters)
        and numbers(core.attributes.get("dimensions", "")) != ()
        and shapes[1].elements >= _LEAST_REDUCED
    )


def _give(module: ModuleText, home: Computation, op: Instruction, library: str) -> None:
    if op.opcode != "fusion":
        _wrap(module, home, op)
    set_library(op, _KINDS[library])


def _wrap(module: ModuleText, home: Computation, op: Instruction) -> None:
    """Makes a fusion of one instruction, under its name."""
    body = Computation(module.fresh(f"{op.name}_computation"), False, [])
    root = op.copy(f"{body.name}.root")
    root.is_root, root.operands = True, []
    shapes, numbers_of = home.by_name, {}
    for operand in op.operands:
        if operand not in numbers_of:
            number = str(len(numbers_of))
            name = numbers_of[operand] = f"{body.name}.{number}"
            shape = shapes[operand].shape
            body.instructions.append(Instruction(name, shape, "parameter", [], argument=number))
        root.operands.append(numbers_of[operand])
    root.attributes.pop("control-predecessors", None)
    root.attributes.pop("backend_config", None)
    body.instructions.append(root)
    kept = {k: v for k, v in op.attributes.items() if k == "control-predecessors"}
    op.opcode, op.operands = "fusion", list(numbers_of)
    op.attributes = {"kind": "kLoop", "calls": f"%{body.name}"} | kept
    module.add(body)


def _take_from_library(module: ModuleText, home: Computation, op: Instruction) -> None:
    inner = module.computations[op.calls[0]]
    set_library(op, "")
    # XLA's loops would compute these again for each element that needs them.
    parts = [
        part.name
        for part in inner.instructions
        if not part.is_root
        and not is_cheap(part, inner)
        and (
            part.opcode in PLAIN
            or part.opcode == "reduce"
            or (part.opcode in ELEMENTWISE and len(inner.users(part.name)) > 1)
        )
    ]
    split(module, home, op, parts)
    if inner.root.opcode in PLAIN:
        plain_root(module, home, op)
