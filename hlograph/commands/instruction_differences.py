"""Instructions that only one of two modules has, whatever the names of instructions are.

Passes rename, number and move instructions. So an instruction counts as the same if its shape,
opcode and attributes are, and the shapes and opcodes of its operands. Two modules may have the same
instructions in this sense and still connect them differently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from hlograph.reading.hlo_text import InstructionText, read_module

# A computation may have the name of an attribute, as in body=body.
_NAME = re.compile(r"[\w.\-]+(?![\w.\-]|=)")
_CONSTANT = re.compile(r"constant\((.{60}).+\)")
_LONGEST = 160


class Differences(NamedTuple):
    """Instructions of two modules that differ.

    Attributes:
        removed: Those that only the first module has, in its order.
        added: Those that only the second module has, in its order.
    """

    removed: list[str]
    added: list[str]


def differences_of(first: str, second: str) -> Differences:
    """Returns the instructions that differ between two HLO texts, of ``Module.to_text``."""
    mine, theirs = list(_instructions(first)), list(_instructions(second))
    return Differences(_without(mine, theirs), _without(theirs, mine))


def _without(
    some: list[tuple[Hashable, InstructionText]], others: list[tuple[Hashable, InstructionText]]
) -> list[str]:
    """Returns the lines of instructions that are more often among some than among others."""
    unmatched = Counter(key for key, _ in others)
    lines = []
    for key, instruction in some:
        if unmatched[key]:
            unmatched[key] -= 1
        else:
            lines.append(_short(str(instruction)))
    return lines


def _instructions(text: str) -> Iterator[tuple[Hashable, InstructionText]]:
    """Yields a key without names of each instruction, and the instruction."""
    _, computations = read_module(text)
    called = {computation.name: "computation" for computation in computations}
    for computation in computations:
        operations: dict[str, str] = {}  # names of instructions are unique in a computation alone

        def nameless(word: re.Match[str], operations: dict[str, str] = operations) -> str:
            return operations.get(word[0]) or called.get(word[0], word[0])

        for each in computation.instructions:
            operation = f"{each.shape} {each.opcode}"
            operands = tuple(operations.get(name, name) for name in each.operands)
            has_names = each.calls or "control-predecessors=" in each.tail
            attributes = _NAME.sub(nameless, each.tail) if has_names else each.tail
            yield (each.is_root, operation, operands, each.argument, attributes), each
            operations[each.name] = operation


def _short(line: str) -> str:
    line = _CONSTANT.sub(r"constant(\1...)", line)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
