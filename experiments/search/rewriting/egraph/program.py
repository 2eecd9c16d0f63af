"""Holds a module's text as the instructions of its entry computation, and all else around them.

Computations of one text are one, whatever their names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hlograph.errors import HloError
from hlograph.reading.hlo_text import (
    ArrayShape,
    ComputationText,
    InstructionText,
    array_shape,
    called_in,
    read_module,
    with_renamed_calls,
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


class Computations:
    """Computations by name, where one name stands for one content.

    Modules that rewrites lead to may have different computations of one name. Those that are added
    later get other names. Computations that differ in the names of instructions alone are one, but
    for those of the first program, which keeps them all.
    """

    def __init__(self) -> None:
        self._kept: dict[str, ComputationText] = {}
        self._names: dict[Hashable, str] = {}
        self._contents: dict[str, Hashable] = {}
        self._is_new = True

    def add(self, program: ProgramText) -> ProgramText:
        """Adds the computations of a program, and returns the program with their names here."""
        names: dict[str, str] = {}
        first, self._is_new = self._is_new, False
        for computation in program.computations:
            name = computation.name
            renamed = computation._replace(instructions=_renamed(computation.instructions, names))
            content = _content(renamed)
            if self._contents.get(name) == content:
                names[name] = name
            elif content in self._names and not first:
                names[name] = self._names[content]
            else:
                names[name] = self._keep(renamed, content)
        return replace(program, instructions=_renamed(program.instructions, names))

    def _keep(self, computation: ComputationText, content: Hashable) -> str:
        free = self._free(computation.name)
        self._names.setdefault(content, free)
        self._kept[free], self._contents[free] = computation._replace(name=free), content
        return free

    def text(self, attributes: Iterable[str]) -> str:
        """Returns the text of the computations that instructions need, callees first.

        Args:
            attributes: The attributes of the instructions, which name the computations.
        """
        needed: set[str] = set()
        waiting = [name for text in attributes for name in called_in(text)]
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                for instruction in self._kept[name].instructions:
                    waiting += instruction.calls
        return "".join(f"{each}\n" for name, each in self._kept.items() if name in needed)

    def _free(self, name: str) -> str:
        number, free = 0, name
        while free in self._kept:
            number += 1
            free = f"{name}.form{number}"
        return free


def _content(computation: ComputationText) -> Hashable:
    """Returns what equal computations have in common: all but the names of instructions."""
    numbers = {each.name: number for number, each in enumerate(computation.instructions)}
    return (
        computation.tail,
        numbers[computation.root.name],
        tuple(
            (
                each.shape,
                each.opcode,
                each.argument,
                each.tail,
                *(numbers[name] for name in each.operands),
            )
            for each in computation.instructions
        ),
    )


def _renamed(
    instructions: tuple[InstructionText, ...], names: Mapping[str, str]
) -> tuple[InstructionText, ...]:
    """Returns instructions that call computations by other names."""
    if not any(name != other for name, other in names.items()):
        return instructions
    return tuple(
        each._replace(tail=with_renamed_calls(each.tail, names)) if each.calls else each
        for each in instructions
    )
