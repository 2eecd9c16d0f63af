"""Holds the computations that instructions of several modules call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from experiments.search.rewriting.egraph.hlo_text import Program, parse_body

_COMPUTATION = re.compile(r"^(\S+) \{\n(.*?)^(\}[^\n]*\n)", re.DOTALL | re.MULTILINE)
_ONE = re.compile(
    r"\b((?:to_apply|calls|condition|body|select|scatter|true_computation|false_computation)=)"
    r"([\w.-]+)"
)
_SEVERAL = re.compile(r"\b((?:called_computations|branch_computations|calls)=\{)([^}]*)\}")


class Computations:
    """Computations by name, where one name stands for one content.

    Modules that rewrites lead to may have different computations of one name. Those that are added
    later get other names. Computations that differ in the names of instructions alone are one, but
    for those of the first program, which keeps them all.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._names: dict[object, str] = {}
        self._contents: dict[str, object] = {}
        self._is_new = True

    def add(self, program: Program) -> Program:
        """Adds the computations of a program, and returns the program with their names here."""
        names: dict[str, str] = {}
        first, self._is_new = self._is_new, False
        for name, body, end in _COMPUTATION.findall(program.computations):
            text = _renamed(body, names)
            content = _content(text, end)
            if self._contents.get(name) == content:
                names[name] = name
            elif content in self._names and not first:
                names[name] = self._names[content]
            else:
                names[name] = self._keep(name, text + end, content)
        instructions = tuple(
            replace(one, attributes=_renamed(one.attributes, names)) if one.calls else one
            for one in program.instructions
        )
        return replace(program, instructions=instructions)

    def _keep(self, name: str, text: str, content: object) -> str:
        free = self._free(name)
        self._names.setdefault(content, free)
        self._texts[free], self._contents[free] = text, content
        return free

    def text(self, attributes: Iterable[str]) -> str:
        """Returns the text of the computations that instructions need, callees first.

        Args:
            attributes: The attributes of the instructions, which name the computations.
        """
        needed: set[str] = set()
        waiting = [name for text in attributes for name in _called(text)]
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += _called(self._texts[name])
        return "".join(
            f"{name} {{\n{text}\n" for name, text in self._texts.items() if name in needed
        )

    def _free(self, name: str) -> str:
        number, free = 0, name
        while free in self._texts:
            number += 1
            free = f"{name}.form{number}"
        return free


def _content(body: str, end: str) -> object:
    """Returns what equal computations have in common: all but the names of instructions."""
    instructions, root = parse_body(body)
    places = {one.name: place for place, one in enumerate(instructions)}
    return (
        end,
        places[root],
        tuple(
            (
                one.shape,
                one.opcode,
                one.payload,
                one.attributes,
                *(places[name] for name in one.operands),
            )
            for one in instructions
        ),
    )


def _called(text: str) -> list[str]:
    found = [name for _, name in _ONE.findall(text)]
    return found + [
        name.strip() for _, names in _SEVERAL.findall(text) for name in names.split(",")
    ]


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Returns attributes, or the text of instructions, with other names of computations."""
    if not any(name != other for name, other in names.items()):
        return text

    def several(match: re.Match[str]) -> str:
        inside = (name.strip() for name in match[2].split(","))
        return f"{match[1]}{', '.join(names.get(name, name) for name in inside)}}}"

    text = _ONE.sub(lambda match: match[1] + names.get(match[2], match[2]), text)
    return _SEVERAL.sub(several, text)
