"""Instructions of a module, read from its text: shapes without layouts, operands and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import hlograph
from hlograph.errors import HloError
from hlograph.reading.hlo_text import (
    ComputationText,
    InstructionText,
    array_shape,
    attribute_items,
    names_in,
    numbers,
    read_module,
    split,
)

# What says nothing about the values.
_LEFT_OUT = ("metadata", "frontend_attributes")


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        name: Its name, which is unique in its computation.
        shape: Its shape as HLO text, without layouts.
        opcode: Its opcode.
        operands: Names of its operands; for a constant or a parameter what stands in parentheses.
        attributes: Texts of its attributes by name, in their order.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: Mapping[str, str]

    @classmethod
    def of(cls, text: InstructionText) -> Instruction:
        """Returns the instruction of a line."""
        operands = text.operands or tuple(filter(None, (text.argument.strip(),)))
        items = attribute_items(text.attributes)
        attributes = {key: value for key, value in items if key not in _LEFT_OUT}
        return cls(text.name, _without_layout(text.shape), text.opcode, operands, attributes)

    @property
    def type(self) -> str:
        """The element type; empty for a tuple."""
        return "" if self.shape.startswith("(") else self.shape.partition("[")[0]

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of its dimensions; none of a tuple."""
        shape = array_shape(self.shape)
        return shape.dimensions if shape else ()

    def numbers(self, attribute: str) -> tuple[int, ...]:
        """Returns the integers of an attribute such as ``dimensions={0,1}`` or ``index=1``."""
        return numbers(self.attributes.get(attribute, ""))

    def called(self, attribute: str) -> str:
        """Returns the name of the computation that it calls by an attribute.

        Raises:
            HloError: It has no such attribute, or several computations.
        """
        names = self.all_called(attribute)
        if len(names) != 1:
            raise HloError(f"expected an instruction with one {attribute}, got {self}")
        return names[0]

    def all_called(self, *attributes: str) -> list[str]:
        """Returns the names of the computations that it calls by some attributes."""
        return [name for key in attributes for name in names_in(self.attributes.get(key, ""))]

    @property
    def tail(self) -> str:
        """The attributes as HLO text."""
        return ", ".join(f"{key}={value}" for key, value in self.attributes.items())

    def __str__(self) -> str:
        after = f", {self.tail}" if self.attributes else ""
        return f"{self.name} = {self.shape} {self.opcode}({', '.join(self.operands)}){after}"


@dataclass(frozen=True)
class Computation:
    """One computation: its instructions, operands before users, the last of which need not be used.

    Attributes:
        name: Its name.
        instructions: By name.
        root: Name of the root.
    """

    name: str
    instructions: Mapping[str, Instruction]
    root: str

    @classmethod
    def of(cls, text: ComputationText) -> Computation:
        """Returns the computation of its text."""
        instructions = {each.name: Instruction.of(each) for each in text.instructions}
        return cls(text.name, instructions, text.root.name)

    def all(self, opcode: str) -> list[Instruction]:
        """Returns its instructions of an opcode, in their order."""
        return [each for each in self.instructions.values() if each.opcode == opcode]

    @cached_property
    def parameters(self) -> list[Instruction]:
        """Its parameters by number."""
        return sorted(self.all("parameter"), key=lambda each: int(each.operands[0]))

    def __str__(self) -> str:
        lines = (
            f"  {'ROOT ' if name == self.root else ''}{each}\n"
            for name, each in self.instructions.items()
        )
        return f"{self.name} {{\n{''.join(lines)}}}\n"


@dataclass(frozen=True)
class Program:
    """The computations of a module by name, called ones before their callers."""

    computations: Mapping[str, Computation]
    entry: str

    @classmethod
    def of(cls, module: hlograph.Module) -> Program:
        """Reads a module."""
        return cls.from_text(module.to_text())

    @classmethod
    def from_text(cls, text: str) -> Program:
        """Reads the text of a module."""
        _, computations = read_module(text)
        entry = next(each.name for each in computations if each.is_entry)
        return cls({each.name: Computation.of(each) for each in computations}, entry)

    @property
    def main(self) -> Computation:
        """The entry computation."""
        return self.computations[self.entry]


def _without_layout(shape: str) -> str:
    if shape.startswith("("):
        return f"({', '.join(_without_layout(part.strip()) for part in split(shape[1:-1]))})"
    return shape.partition("{")[0]
