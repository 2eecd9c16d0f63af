"""HLO text after XLA's optimizations, made into text that XLA optimizes again.

XLA dumps a module also after its passes: scheduled, with fusions, with bitcasts that only hold for
the layouts there, and with configurations of libraries. No compiler takes such a module as input.
What it computes is written in it all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from hlograph.reading.hlo_editing import PREDECESSORS, Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import ArrayShape, array_shape
from hlograph.reading.wire_format import fields

_SCHEDULED = re.compile(r", is_scheduled=true")
_OPTIMIZED = frozenset({"fusion", "bitcast"})
_SCHEDULE = 7  # number of the field of an HloModuleProto
# Of layouts: tiles, memory spaces, sizes of elements.
_TILES = re.compile(r"(\{[\d,]*):[^{}]*\}")


class LeftOut(NamedTuple):
    """Counts of the parts that were taken out of an optimized module.

    Attributes:
        schedule: True if the instructions had an order to run in.
        fusions: Number of fusions, which are calls now.
        bitcasts: Number of bitcasts, which are reshapes and transposes now.
        configurations: Number of instructions with a configuration of XLA's code generator.
    """

    schedule: bool
    fusions: int
    bitcasts: int
    configurations: int

    def __str__(self) -> str:
        """Returns the parts, as in a sentence."""
        parts = ["its schedule"] if self.schedule else []
        for count, name in (
            (self.fusions, "fusion"),
            (self.bitcasts, "bitcast"),
            (self.configurations, "configuration"),
        ):
            if count:
                parts.append(f"{count} {name}{'s' if count > 1 else ''}")
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def is_optimized(proto: bytes, opcodes: Iterable[str]) -> bool:
    """Returns True for a module after XLA's optimizations.

    Args:
        proto: The serialized ``HloModuleProto``.
        opcodes: Its opcodes.
    """
    if not _OPTIMIZED.isdisjoint(opcodes):
        return True
    return any(number == _SCHEDULE for number, _, _ in fields(proto))


def without_optimizations(text: str) -> tuple[str, LeftOut]:
    """Takes apart what XLA's optimizations made of a module.

    Args:
        text: HLO text as XLA prints it.

    Returns:
        Text of a module that computes the same, and what was taken out.

    Raises:
        HloError: A line has a form that XLA does not print.
    """
    module = ModuleText.parse(_TILES.sub(r"\1}", text))
    schedule = _SCHEDULED.search(module.header) is not None
    module.header = _SCHEDULED.sub("", module.header)
    fusions = bitcasts = configurations = 0
    for computation in module.computations.values():
        shapes = {op.name: op.shape for op in computation.instructions}
        instructions: list[Instruction] = []
        for op in computation.instructions:
            op.attributes.pop(PREDECESSORS, None)
            if op.opcode != "custom-call":
                configurations += op.attributes.pop("backend_config", None) is not None
            if op.opcode == "fusion":
                fusions += 1
                _make_call(op)
            if op.opcode == "bitcast":
                bitcasts += 1
                instructions += _without_bitcast(module, op, shapes[op.operands[0]])
            else:
                instructions.append(op)
        computation.instructions = instructions
        _join_copies(computation)
    return str(module), LeftOut(schedule, fusions, bitcasts, configurations)


def _make_call(op: Instruction) -> None:
    op.opcode = "call"
    called = op.attributes["calls"]
    kept = {key: op.attributes[key] for key in ("metadata", "sharding") if key in op.attributes}
    op.attributes = {"to_apply": called, **kept}


def _join_copies(computation: Computation) -> None:
    """Makes a copy of each pair of instructions that begin and end one."""
    starts = {op.name: op for op in computation.instructions if op.opcode == "copy-start"}
    for op in computation.instructions:
        if op.opcode == "copy-done":
            op.opcode, op.operands = "copy", list(starts[op.operands[0]].operands)
    computation.instructions = [op for op in computation.instructions if op.opcode != "copy-start"]


def _without_bitcast(module: ModuleText, op: Instruction, operand: str) -> list[Instruction]:
    """Returns instructions that compute a bitcast in any layout; itself if that is not known.

    The elements in the order of memory stay as they are: the operand is transposed to this order,
    reshaped, and transposed from the order of memory of the result.
    """
    before, after = array_shape(operand), array_shape(op.shape)
    if before is None or after is None:
        return [op]
    made: list[Instruction] = []

    def step(opcode: str, kind: str, sizes: tuple[int, ...], dimensions: str = "") -> None:
        name = module.fresh(f"{op.name}.{opcode}")
        source = made[-1].name if made else op.operands[0]
        attributes = {"dimensions": dimensions} if dimensions else {}
        shape = f"{kind}[{','.join(map(str, sizes))}]"
        made.append(Instruction(name, shape, opcode, [source], attributes, sign=op.sign))

    sizes = before.outer_sizes
    if not before.is_row_major:
        order = ",".join(map(str, reversed(before.minor_to_major)))
        step("transpose", before.type, sizes, f"{{{order}}}")
    if before.type != after.type:
        ratio, wider = _ratio(before, after)
        if ratio > 1 and wider:
            sizes = (after.elements, ratio)
            step("reshape", before.type, sizes)
            sizes = sizes[:1]
        elif ratio > 1:
            sizes = (*sizes, ratio)
        step("bitcast-convert", after.type, sizes)
    if sizes != after.outer_sizes:
        step("reshape", after.type, after.outer_sizes)
    if not after.is_row_major:
        order = tuple(reversed(after.minor_to_major))
        back = ",".join(str(order.index(number)) for number in range(len(order)))
        step("transpose", after.type, after.dimensions, f"{{{back}}}")
    if not made:
        step("reshape", after.type, after.dimensions)
    made[-1].name, made[-1].is_root = op.name, op.is_root
    return made


def _ratio(before: ArrayShape, after: ArrayShape) -> tuple[int, bool]:
    """Returns how many elements of one type another has, and True if the second is wider."""
    if before.elements >= after.elements:
        return before.elements // max(after.elements, 1), True
    return after.elements // max(before.elements, 1), False
