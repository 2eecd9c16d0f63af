"""Holds a module's text as the instructions of its entry computation, and all else around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlograph.errors import HloError
from hlograph.reading.hlo_text import (
    ArrayShape,
    ComputationText,
    InstructionText,
    array_shape,
    read_module,
)


@dataclass(frozen=True)
class ProgramText:
    """Text of a module, split at the instructions of its entry computation.

    Attributes:
        header: What stands before the computations.
        computations: All computations but the entry.
        name: Name of the entry computation.
        instructions: Its instructions. None is marked as the root, so that equal ones are equal.
        root: Name of the instruction that is the result.
    """

    header: str
    computations: tuple[ComputationText, ...]
    name: str
    instructions: tuple[InstructionText, ...]
    root: str

    def with_entry(self, lines: Sequence[str], root: str, computations: str) -> str:
        """Returns the text with another entry computation.

        Args:
            lines: Its instructions, each after its operands.
            root: Name of the instruction that is the result.
            computations: Text of all other computations.
        """
        marked = (f"ROOT {line}" if line.startswith(f"{root} = ") else line for line in lines)
        body = "".join(f"  {line}\n" for line in marked)
        return f"{self.header}\n\n{computations}ENTRY {self.name} {{\n{body}}}\n"


def parse(text: str) -> ProgramText:
    """Parses a module's text as ``Module.to_text`` writes it.

    Raises:
        HloError: The text has another form, or instructions have control dependencies, which are
            no operands.
    """
    header, computations = read_module(text)
    entry = next((each for each in computations if each.is_entry), None)
    if entry is None:
        raise HloError("expected the text of a module with an entry computation")
    if any("control-predecessors" in each.tail for each in entry.instructions):
        raise HloError("instructions of the entry computation have control dependencies")
    return ProgramText(
        header,
        tuple(each for each in computations if each is not entry),
        entry.name,
        tuple(each._replace(is_root=False, computation="") for each in entry.instructions),
        entry.root.name,
    )


def rewritten(instruction: InstructionText, name: str, operands: Sequence[str]) -> str:
    """Returns the line of an instruction with another name and other operands."""
    return str(instruction._replace(name=name, operands=tuple(operands)))


def row_major_shape(text: str) -> ArrayShape | None:
    """Returns the shape of an array; None for other shapes and other layouts."""
    shape = array_shape(text)
    return shape if shape is not None and shape.is_row_major else None
