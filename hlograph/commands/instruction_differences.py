"""Instructions that only one of two modules has, whatever the names of instructions are.

Passes rename, number and move instructions. So an instruction counts as the same if its shape,
opcode and attributes are, and the shapes and opcodes of its operands. Two modules may have the same
instructions in this sense and still connect them differently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_INSTRUCTION = re.compile(r"\s+(ROOT )?([\w.\-]+) = (.*)$")
_COMPUTATION = re.compile(r"(ENTRY )?([\w.\-]+) (\(.*)?\{$")
_OPCODE = re.compile(r"((?:\(.*?\)|[\w\[\]{},:*()<=]+) [\w\-]+)\(")
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


def _without(some: list[tuple[str, str]], others: list[tuple[str, str]]) -> list[str]:
    """Returns the lines of instructions that are more often among some than among others."""
    left = Counter(key for key, _ in others)
    found = []
    for key, line in some:
        if left[key]:
            left[key] -= 1
        else:
            found.append(line)
    return found


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yields a key without names, and the line to show, of each instruction."""
    lines = text.splitlines()
    computations = {match[2] for line in lines if (match := _COMPUTATION.match(line))}
    called = dict.fromkeys(computations, "computation")
    known = dict(called)
    for line in lines:
        if _COMPUTATION.match(line):
            known = dict(called)  # names of instructions are unique in a computation alone
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        root, name, rest = match[1] or "", match[2], match[3]
        opcode = _OPCODE.match(rest)
        kind = opcode[1] if opcode else rest.partition("(")[0]
        yield root + kind + _nameless(rest[len(kind) :], known), _short(f"{root}{name} = {rest}")
        known[name] = kind


def _nameless(text: str, known: dict[str, str]) -> str:
    """Returns operands and attributes with what each name stands for in its place."""
    return _NAME.sub(lambda word: known.get(word[0], word[0]), text)


def _short(line: str) -> str:
    line = _CONSTANT.sub(r"constant(\1...)", line)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
