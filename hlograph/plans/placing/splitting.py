"""Placement ``unfuse``: parts of a fusion become kernels of their own.

The name of a fusion takes all its instructions apart that are worth a kernel; the name of an
instruction within a fusion takes that one out. A fusion keeps its name, for what remains of it.
"""

from __future__ import annotations

from hlograph.errors import PlanError
from hlograph.plans.placing.operations import (
    IN_PLACE,
    LOOP,
    PLAIN,
    is_cheap,
    is_loop_fusion,
    partitions_of,
    set_partitions,
)
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

_CONTROL = "control-predecessors"


def place_unfuse(module: ModuleText, name: str, value: str) -> None:
    """Takes a fusion apart, or an instruction out of its fusion.

    Raises:
        PlanError: It is neither, or no part of it can be a kernel.
    """
    if value:
        raise PlanError(f"expected no value for unfuse, got {value!r}")
    home, op = module.find(name)
    if op.opcode == "fusion":
        parts = parts_of(module, op)
        if not parts:
            raise PlanError(f"{name} has no part that can be a kernel of its own")
        split(module, home, op, parts)
        return
    fusion, outer = fusion_around(module, home, name)
    check_part(module, fusion, op)
    split(module, outer, fusion, [name])


def fusion_around(
    module: ModuleText, inner: Computation, name: str
) -> tuple[Instruction, Computation]:
    """Returns the fusion that an instruction is in, and the computation of that fusion.

    Raises:
        PlanError: It is in none.
    """
    callers = module.called_from().get(inner.name, ())
    if len(callers) != 1 or callers[0][1].opcode != "fusion":
        raise PlanError(f"expected a fusion, or an instruction within one, got {name}")
    outer, fusion = callers[0]
    return fusion, outer


def parts_of(module: ModuleText, fusion: Instruction) -> list[str]:
    """Returns the instructions of a fusion that can be kernels, operands first."""
    inner = module.computations[fusion.calls[0]]
    parts: list[str] = []
    for op in inner.instructions:
        try:
            check_part(module, fusion, op)
        except PlanError:
            continue
        parts.append(op.name)
    return parts


def check_part(module: ModuleText, fusion: Instruction, op: Instruction) -> None:
    """Checks that an instruction within a fusion can be a kernel of its own.

    Raises:
        PlanError: It cannot.
    """
    inner = module.computations[fusion.calls[0]]
    if not is_loop_fusion(fusion):
        raise PlanError(
            f"expected a loop fusion to take apart, got {fusion.name} of kind {fusion.kind}; "
            "for a library's use the placement library with the value none"
        )
    if op.is_root or is_cheap(op, inner) or op.opcode not in LOOP | PLAIN:
        raise PlanError(f"the {op.opcode} {op.name} of {fusion.name} is no kernel of its own")
    if op.shape.startswith("("):
        raise PlanError(f"{op.name} has several results; expected one array")
    cone = _cone(inner, op.name)
    if any(part.opcode in IN_PLACE for part in cone):
        raise PlanError(f"{op.name} needs a value that {fusion.name} writes in place")
    if _is_written(inner, op.name):
        raise PlanError(f"{fusion.name} writes into the value of {op.name}")


def split(module: ModuleText, outer: Computation, fusion: Instruction, parts: list[str]) -> None:
    """Makes kernels of some instructions of a fusion, which stand before it then."""
    inner = module.computations[fusion.calls[0]]
    for name in parts:
        part = inner.by_name[name]
        if part.opcode in PLAIN:
            for operand in part.operands:
                if inner.by_name[operand].opcode != "parameter":
                    _take_out(module, outer, fusion, inner, operand)
        _take_out(module, outer, fusion, inner, name)


def plain_root(module: ModuleText, outer: Computation, fusion: Instruction) -> None:
    """Replaces a fusion whose result is a dot or convolution by that operation."""
    inner = module.computations[fusion.calls[0]]
    root = inner.root
    split(
        module, outer, fusion, [n for n in dict.fromkeys(root.operands) if not _is_given(inner, n)]
    )
    numbers = {op.name: int(op.argument) for op in inner.parameters}
    operands = [fusion.operands[numbers[name]] for name in root.operands]
    kept = {k: v for k, v in fusion.attributes.items() if k == _CONTROL}
    fusion.opcode, fusion.operands, fusion.attributes = root.opcode, operands, kept
    fusion.attributes = dict(root.attributes) | kept
    del module.computations[inner.name]


def _is_given(inner: Computation, name: str) -> bool:
    return inner.by_name[name].opcode == "parameter"


def _take_out(
    module: ModuleText, outer: Computation, fusion: Instruction, inner: Computation, name: str
) -> None:
    part = inner.by_name[name]
    numbers = {op.name: int(op.argument) for op in inner.parameters}
    new = part.copy(module.fresh(f"{name}_part"))
    new.is_root = False
    ready = all(operand in numbers for operand in part.operands)
    if (part.opcode in PLAIN or part.opcode == "bitcast") and ready:
        new.operands = [fusion.operands[numbers[operand]] for operand in part.operands]
    else:
        cone = _cone(inner, name)
        new.opcode, new.attributes = "fusion", {"kind": "kLoop"}
        new.operands = [fusion.operands[numbers[op.name]] for op in cone if op.name in numbers]
        body = _body_of(module, cone, name)
        new.attributes["calls"] = f"%{body.name}"
        module.add(body)
        if new.shape == fusion.shape and (parts := partitions_of(fusion)):
            set_partitions(new, parts)
    outer.instructions.insert(outer.instructions.index(fusion), new)
    if _CONTROL in fusion.attributes:
        new.attributes[_CONTROL] = fusion.attributes[_CONTROL]
    _become_parameter(module, fusion, inner, part, new.name)


def _body_of(module: ModuleText, cone: list[Instruction], root: str) -> Computation:
    body = Computation(module.fresh(f"{root}_part_computation"), False, [])
    names: dict[str, str] = {}
    for op in cone:
        copy = op.copy(f"{body.name}.{op.name}")
        names[op.name] = copy.name
        copy.operands = [names[operand] for operand in op.operands]
        copy.is_root = op.name == root
        if op.opcode == "parameter":
            copy.argument = str(sum(other.opcode == "parameter" for other in body.instructions))
        body.instructions.append(copy)
    return body


def _become_parameter(
    module: ModuleText, fusion: Instruction, inner: Computation, part: Instruction, value: str
) -> None:
    """Makes a parameter of an instruction of a fusion, and drops what is not needed then."""
    part.opcode, part.operands, part.attributes = "parameter", [], {}
    part.argument = str(len(fusion.operands))
    fusion.operands.append(value)
    needed = {op.name for op in _cone(inner, inner.root.name)}
    inner.instructions = [op for op in inner.instructions if op.name in needed]
    operands: list[str] = []
    for parameter in inner.parameters:
        operands.append(fusion.operands[int(parameter.argument)])
        parameter.argument = str(len(operands) - 1)
    fusion.operands = operands


def _cone(inner: Computation, name: str) -> list[Instruction]:
    """Returns an instruction and all that it needs, in the computation's order."""
    instructions, needed, waiting = inner.by_name, {name}, [name]
    while waiting:
        for operand in instructions[waiting.pop()].operands:
            if operand not in needed:
                needed.add(operand)
                waiting.append(operand)
    return [op for op in inner.instructions if op.name in needed]


def _is_written(inner: Computation, name: str) -> bool:
    for user in inner.users(name):
        if user.opcode in IN_PLACE and name in _targets(user):
            return True
        if user.opcode in ("bitcast", "reshape", "convert") and _is_written(inner, user.name):
            return True
    return False


def _targets(user: Instruction) -> list[str]:
    # A scatter of n arrays has n targets, one array of indices and n of updates.
    return (
        user.operands[:1] if user.opcode != "scatter" else user.operands[: len(user.operands) // 2]
    )
