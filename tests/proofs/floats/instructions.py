"""Instructions of a module, read from its text: names, shapes, operands and attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import hlograph
from hlograph.errors import HloError

_LINE = re.compile(r"\s*(ROOT )?%?([\w.\-]+) = (.*)")
_HEADER = re.compile(r"(ENTRY )?%?([\w.\-]+)(?: \(.*)? \{")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
_REFERENCE = re.compile(r"(to_apply|condition|body|select|scatter|calls)=%?([\w.\-]+)")


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        name: Its name, which is unique in its computation.
        shape: Its shape as HLO text, without layouts.
        opcode: Its opcode.
        operands: Names of its operands; for a constant or a parameter what stands in parentheses.
        attributes: What follows the operands, without layouts.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str

    @property
    def element_type(self) -> str:
        """The element type; empty for a tuple."""
        match = _ARRAY.match(self.shape)
        return match[1] if match else ""

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of its dimensions."""
        match = _ARRAY.match(self.shape)
        assert match, f"{self.name} is no array: {self.shape}"
        return tuple(int(size) for size in match[2].split(",") if size)

    def numbers(self, attribute: str) -> tuple[int, ...]:
        """Returns the integers of an attribute such as ``dimensions={0,1}`` or ``index=1``."""
        match = re.search(rf"\b{attribute}=\{{?([\d,]*)\}}?", self.attributes)
        return tuple(int(n) for n in match[1].split(",") if n) if match else ()

    def called(self, attribute: str) -> str:
        """Returns the name of a computation that it calls."""
        for name, computation in _REFERENCE.findall(self.attributes):
            if name == attribute:
                return computation
        raise HloError(f"expected an instruction with {attribute}, got {self}")

    def __str__(self) -> str:
        operands = ", ".join(self.operands)
        after = f", {self.attributes}" if self.attributes else ""
        return f"{self.name} = {self.shape} {self.opcode}({operands}){after}"


@dataclass(frozen=True)
class Computation:
    """One computation: its instructions, operands before users, the last of which need not be used.

    Attributes:
        instructions: By name.
        root: Name of the root.
        text: Its text, without layouts.
    """

    instructions: dict[str, Instruction]
    root: str
    text: str

    @property
    def parameters(self) -> list[Instruction]:
        """Its parameters by number."""
        found = [i for i in self.instructions.values() if i.opcode == "parameter"]
        return sorted(found, key=lambda instruction: int(instruction.operands[0]))

    def by_opcode(self, opcode: str) -> list[Instruction]:
        """Returns its instructions of an opcode."""
        return [each for each in self.instructions.values() if each.opcode == opcode]


@dataclass(frozen=True)
class Program:
    """The computations of a module by name, called ones before their callers."""

    computations: dict[str, Computation]
    entry: str

    @classmethod
    def of(cls, module: hlograph.Module) -> Program:
        """Reads a module."""
        return cls.from_text(module.to_text())

    @classmethod
    def from_text(cls, text: str) -> Program:
        """Reads the text of a module."""
        plain = re.sub(r"/\*.*?\*/", "", re.sub(r"\]\{[\d,]*\}", "]", text))
        computations, entry = {}, ""
        for block in re.findall(r"^\S[^\n]* \{\n.*?^\}", plain, flags=re.MULTILINE | re.DOTALL):
            header, *lines = block.splitlines()
            match = _HEADER.match(header)
            assert match, header
            computations[match[2]] = _computation(lines[:-1], block)
            entry = match[2] if match[1] else entry
        return cls(computations, entry)

    @property
    def main(self) -> Computation:
        """The entry computation."""
        return self.computations[self.entry]


def _computation(lines: list[str], text: str) -> Computation:
    instructions, root = {}, ""
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        shape, rest = _split_shape(match[3])
        opcode, rest = rest.split("(", 1)
        end = _closing(rest)
        inside, after = rest[:end], rest[end + 1 :].removeprefix(", ")
        is_literal = opcode in ("constant", "parameter")
        operands = (inside,) if is_literal else tuple(filter(None, inside.split(", ")))
        attributes = re.sub(r"(, )?(metadata|frontend_attributes)=\{.*?\}", "", after)
        instructions[match[2]] = Instruction(match[2], shape, opcode, operands, attributes)
        root = match[2] if match[1] else root
    return Computation(instructions, root, text)


def _split_shape(text: str) -> tuple[str, str]:
    if not text.startswith("("):
        shape, rest = text.split(" ", 1)
        return shape, rest
    end = _closing(text[1:]) + 2
    return text[:end], text[end + 1 :]


def _closing(text: str) -> int:
    """Returns the position of the parenthesis that closes one before the text."""
    depth = 1
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return i
    raise HloError(f"expected a closing parenthesis in {text[:80]}")
