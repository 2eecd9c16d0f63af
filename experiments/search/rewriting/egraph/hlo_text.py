"""Parses the entry computation of a module's text into instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hlograph.errors import HloError

_INSTRUCTION = re.compile(r"\s*(ROOT )?(\S+) = (.+?) ([\w-]+)\((.*)", re.DOTALL)
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,]*)\](?:\{([\d,]*)\})?")
_COMMENT = re.compile(r"/\*.*?\*/")
_ENTRY = re.compile(r"^ENTRY [^\n]*\{\n(.*?)^\}\n?", re.DOTALL | re.MULTILINE)
_CALL = re.compile(
    r"\b(to_apply|calls|condition|body|select|scatter|called_computations|branch_computations"
    r"|(true|false)_computation)="
)
_NO_OPERANDS = ("constant", "parameter", "iota")


@dataclass(frozen=True)
class Shape:
    """Shape of an array in row-major layout."""

    type: str
    dims: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.type}[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True)
class Instruction:
    """Instruction of the entry computation."""

    name: str
    shape: str
    """Shape as the text has it."""
    opcode: str
    operands: tuple[str, ...]
    """Names of instructions; empty for constants, parameters and iotas."""
    payload: str
    """Text in the brackets of an instruction without operands."""
    attributes: str
    """Text after the brackets, without the first comma."""

    @property
    def calls(self) -> bool:
        """True if it names other computations."""
        return _CALL.search(self.attributes) is not None

    @property
    def array(self) -> Shape | None:
        """Returns the shape as ``array_of`` does."""
        return array_of(self.shape)

    def rewritten(self, name: str, operands: Sequence[str]) -> str:
        """Returns the line with another name and other operands."""
        inside = ", ".join(operands) if self.operands else self.payload
        tail = f", {self.attributes}" if self.attributes else ""
        return f"{name} = {self.shape} {self.opcode}({inside}){tail}"


@dataclass(frozen=True)
class Program:
    """Text of a module, split at the instructions of its entry computation."""

    header: str
    """Line that begins the module."""
    computations: str
    """Text of all other computations."""
    entry: str
    """Line that begins the entry computation."""
    instructions: tuple[Instruction, ...]
    root: str
    """Name of the instruction that is the result."""
    after: str

    def with_entry(self, lines: Sequence[str], root: str, computations: str) -> str:
        """Returns the text with another entry computation.

        Args:
            lines: Its instructions, each after its operands.
            root: Name of the instruction that is the result.
            computations: Text of all other computations.
        """
        marked = (f"ROOT {line}" if line.startswith(f"{root} = ") else line for line in lines)
        body = "".join(f"  {line}\n" for line in marked)
        return f"{self.header}\n{computations}\n{self.entry}{body}{self.after}"


def array_of(text: str) -> Shape | None:
    """Parses the shape of an array; returns None for other shapes and other layouts."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        return None
    dims = tuple(int(size) for size in match[2].split(",") if size)
    layout = tuple(int(dim) for dim in (match[3] or "").split(",") if dim)
    if match[3] is not None and layout != tuple(reversed(range(len(dims)))):
        return None
    return Shape(match[1], dims)


def parse(text: str) -> Program:
    """Parses a module's text as ``Module.to_text`` writes it.

    Raises:
        HloError: The text has another form, or instructions have control dependencies, which are
            no operands.
    """
    entry = _ENTRY.search(text)
    if entry is None:
        raise HloError("expected the text of a module with an entry computation")
    found, root = parse_body(entry[1])
    if any("control-predecessors" in one.attributes for one in found):
        raise HloError("instructions of the entry computation have control dependencies")
    header, _, computations = text[: entry.start()].partition("\n")
    begin = text[entry.start() : entry.start(1)]
    return Program(header, computations, begin, found, root, text[entry.end(1) :])


def parse_body(text: str) -> tuple[tuple[Instruction, ...], str]:
    """Parses the instructions of a computation, and returns them with the name of the root.

    Raises:
        HloError: The text has another form.
    """
    found: list[Instruction] = []
    root = None
    for line in _lines(text):
        match = _INSTRUCTION.fullmatch(line)
        if match is None:
            raise HloError(f"expected an instruction, got {line[:200]!r}")
        found.append(_instruction(match[2], match[3], match[4], match[5]))
        if match[1]:
            root = found[-1].name
    if root is None:
        raise HloError(f"expected a computation with a root, got {text[:200]!r}")
    return tuple(found), root


def _instruction(name: str, shape: str, opcode: str, rest: str) -> Instruction:
    if opcode in _NO_OPERANDS:
        end = _closing(rest)
        inside, operands = rest[:end], ()
    else:
        end = rest.index(")")
        inside = ""
        listed = _COMMENT.sub("", rest[:end])
        operands = tuple(part.strip() for part in listed.split(",") if part.strip())
    attributes = rest[end + 1 :].strip().removeprefix(",").strip()
    return Instruction(name, shape, opcode, operands, inside, attributes)


def _closing(text: str) -> int:
    """Returns the index of the bracket that closes one opened before the text."""
    depth = 1
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return place
    raise HloError(f"expected a closing bracket in {text[:200]!r}")


def _lines(text: str) -> list[str]:
    """Returns one string for each instruction; literals may span several lines."""
    found: list[str] = []
    open_brackets = 0
    for line in text.splitlines():
        if open_brackets:
            found[-1] += line
        elif line.strip():
            found.append(line)
        if found:
            open_brackets = sum(found[-1].count(a) - found[-1].count(b) for a, b in ("()", "{}"))
    return found
