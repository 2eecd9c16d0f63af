"""Operands that an instruction writes in place.

XLA inserts the copies that this needs before the module is optimized, for the program that it
sees. A cut has other values, parameters, which nothing may write.
"""

from __future__ import annotations

from hlograph.plans.placing.kernels import inner_instructions
from hlograph.plans.placing.kinds import IN_PLACE
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape


def written_operands(
    module: ModuleText, home: Computation, one: Instruction
) -> dict[int, frozenset[int]]:
    """Returns the operands that an instruction may write, by number.

    Args:
        module: The module.
        home: The computation of the instruction.
        one: The instruction.

    Returns:
        Numbers of the elements that may be written, for an operand that is a tuple; 0 for an array.
        An operand without any is left out.
    """
    if one.opcode == "while":
        return {0: _changed(module, one)}
    if one.opcode in ("call", "conditional"):
        # A branch that returns its operand shares its buffer, too.
        return {n: _all(home.by_name[name].shape) for n, name in enumerate(one.operands)}
    inner = (one, *inner_instructions(module, one))
    sizes = {_elements(part.shape) for part in inner if part.opcode in IN_PLACE}
    return {
        number: frozenset({0})
        for number, name in enumerate(one.operands)
        if _elements(home.by_name[name].shape) in sizes
    }


def _changed(module: ModuleText, loop: Instruction) -> frozenset[int]:
    """Returns the numbers of the elements of its state that a loop changes."""
    body = module.computations[loop.attributes["body"].lstrip("%")]
    by_name = body.by_name
    changed = set()
    for number, name in enumerate(body.root.operands):
        one = by_name[name]
        same = one.opcode == "get-tuple-element" and by_name[one.operands[0]].opcode == "parameter"
        if not (same and one.attributes["index"] == str(number)):
            changed.add(number)
    return frozenset(changed)


def _all(shape: str) -> frozenset[int]:
    return frozenset(range(shape.count("["))) if shape.startswith("(") else frozenset({0})


def _elements(shape: str) -> int:
    found = array_shape(shape)
    return -1 if found is None else found.elements
