"""A model of the text of one instruction: split and not interpreted. Metadata is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from hlograph.plans.errors import PlanError
from hlograph.plans.placing.brackets import end_of, split

PREDECESSORS = "control-predecessors"
"""Attribute with the instructions that have to run before one, beside its operands."""

_REFERENCE = re.compile(r"%([^\s,{}()]+)")
_COMMENT = re.compile(r"/\*.*?\*/\s*")
_CALLS = (
    "calls",
    "to_apply",
    "body",
    "condition",
    "branch_computations",
    "true_computation",
    "false_computation",
    "called_computations",
)
_CALLING = frozenset(_CALLS)
# Versions of one program have most lines in common.
_KEPT_LINES = 1 << 14
_PLAIN_ARGUMENTS = ("parameter", "constant")


@dataclass(eq=False, slots=True)
class Instruction:
    """One instruction; equal to itself alone.

    Attributes:
        name: Name, without the percent sign.
        shape: Shape with layout, as text.
        opcode: XLA's name of the operation.
        operands: Names of the operands.
        attributes: Attributes as text, by their names.
        is_root: True for the result of its computation.
        argument: What stands in the place of operands: the number of a parameter, a literal.
        origin: Name of the instruction that this one is a copy of, or its own.
    """

    name: str
    shape: str
    opcode: str
    operands: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    is_root: bool = False
    argument: str = ""
    origin: str = ""

    @property
    def calls(self) -> list[str]:
        """Names of the computations that it calls."""
        if _CALLING.isdisjoint(self.attributes):
            return []
        return [
            name
            for key in _CALLS
            if key in self.attributes
            for name in _REFERENCE.findall(self.attributes[key])
        ]

    @property
    def predecessors(self) -> list[str]:
        """Names of the instructions that have to run before it, beside its operands."""
        return _REFERENCE.findall(self.attributes.get(PREDECESSORS, ""))

    @property
    def kind(self) -> str:
        """Kind of a fusion, such as ``kLoop``; empty for other instructions."""
        return self.attributes.get("kind", "")

    def copy(self, name: str) -> Instruction:
        """Returns a copy with another name."""
        return Instruction(
            name,
            self.shape,
            self.opcode,
            list(self.operands),
            dict(self.attributes),
            self.is_root,
            self.argument,
            self.origin,
        )

    def __str__(self) -> str:
        arguments = self.argument or ", ".join(f"%{name}" for name in self.operands)
        extra = "".join(
            f", {key}={value}" if value else f", {key}" for key, value in self.attributes.items()
        )
        root = "ROOT " if self.is_root else ""
        return f"  {root}%{self.name} = {self.shape} {self.opcode}({arguments}){extra}"


def read_instruction(line: str) -> Instruction:
    """Returns a new instruction.

    Args:
        line: A line of a computation in XLA's text of a module.

    Raises:
        PlanError: It is of a form that is not known.
    """
    read = _read(line)
    return Instruction(
        read.name,
        read.shape,
        read.opcode,
        list(read.operands),
        dict(read.attributes),
        read.is_root,
        read.argument,
        read.name,
    )


class _Line(NamedTuple):
    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    is_root: bool
    argument: str


@lru_cache(_KEPT_LINES)
def _read(line: str) -> _Line:
    head, equals, rest = line.strip().partition(" = ")
    is_root = head.startswith("ROOT ")
    name = head.removeprefix("ROOT ")
    if not equals or not name.startswith("%"):
        raise PlanError(f"expected an instruction of an HLO module, got {line[:200]!r}")
    end = end_of(rest, 0) if rest.startswith("(") else rest.index(" ")
    shape, rest = rest[:end], rest[end:].lstrip()
    start = rest.index("(")
    opcode, end = rest[:start], end_of(rest, start)
    arguments = rest[start + 1 : end - 1]
    parts = (part.partition("=") for part in split(rest[end:]))
    attributes = tuple((key, value) for key, _, value in parts)
    plain = opcode in _PLAIN_ARGUMENTS
    given = () if plain else split(arguments)
    operands = tuple(_COMMENT.sub("", one).lstrip("%") for one in given)
    argument = arguments if plain else ""
    return _Line(name[1:], shape, opcode, operands, attributes, is_root, argument)
