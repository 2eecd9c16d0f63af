"""A model of HLO text: computations and instructions, split into their parts and not interpreted.

It reads what XLA prints, with any of its options: ``Module.to_text`` writes names as they are, and
jaxlib with a percent sign. ``hlograph.reading.hlo_editing`` holds the same as objects to edit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from hlograph.errors import HloError

_CLOSING = {"(": ")", "{": "}", "[": "]"}
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# A string is one match, so that what is in it counts for nothing.
_BRACKETS = re.compile(_STRING + r"?|[(){}\[\]]", re.S)
_BRACKETS_AND_COMMAS = re.compile(_STRING + r"?|[(){}\[\],]", re.S)

_COMPUTATION = re.compile(r"(ENTRY )?(%?)([^\s%]+) (?:\(.*\) -> .* )?\{")
# Most lines have no bracket within those of a tuple's shape or of the operands.
_SIMPLE_LINE = re.compile(
    r'\s*(ROOT )?(%?)(\S+) = (\([^()]*\)|[^\s(]\S*) ([\w\-]+)\(([^()"]*)\)(?:, (.*))?', re.S
)
_BEGIN = re.compile(r"\s*(ROOT )?(%?)(\S+) = ")
_OPCODE = re.compile(r" ([\w\-]+)\(")
_SIMPLE_ATTRIBUTE = re.compile(r'([\w\-]+)=([^\s,(){}\[\]"]+|\{[^{}"]*\})(?:, |$)')
_COMMENT = re.compile(r"/\*.*?\*/")
_NAMES = re.compile(r"[^\s,%(){}]+")
_CALLED = re.compile(
    r"\b(calls|to_apply|body|condition|select|scatter|true_computation|false_computation"
    r"|branch_computations|called_computations)=(\{[^}]*\}|%?[\w.\-]+)"
)
# Each attribute that calls has one of these; most lines have none.
_CALLING = ("calls=", "to_apply=", "body=", "computation", "select=", "scatter=")
_METADATA = re.compile(rf'(?:, |^)metadata=(\{{[^"}}]*(?:{_STRING}[^"}}]*)*\}})')
_OP_NAME = re.compile(rf"op_name=({_STRING})")
_ESCAPED = re.compile(r"\\(.)")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)\})?")

_PLAIN_ARGUMENTS = ("parameter", "constant")
# With percent signs, XLA numbers every fifth operand in a comment.
_COMMENTED = 5
# Versions of one program have most lines in common. Long ones are literals, and not kept.
_KEPT_LINES, _LONGEST_KEPT = 1 << 14, 1 << 12


class InstructionText(NamedTuple):
    """One instruction as its line says it.

    Attributes:
        name: Name, without a percent sign.
        shape: Shape with layout, such as ``f32[16,8]{1,0}``.
        opcode: XLA's name of the operation, such as ``dynamic-slice``.
        operands: Names of the operands.
        argument: What stands in the place of operands: the number of a parameter, a literal.
        tail: What follows the operands: attributes and metadata.
        is_root: True for the result of its computation.
        sign: What stands before each name: a percent sign or nothing.
        computation: Name of its computation.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...] = ()
    argument: str = ""
    tail: str = ""
    is_root: bool = False
    sign: str = ""
    computation: str = ""

    @property
    def attributes(self) -> str:
        """The attributes without metadata."""
        return without_metadata(self.tail)

    def attribute(self, key: str) -> str:
        """Returns the value of an attribute as text; empty if there is none."""
        return dict(attribute_items(self.tail)).get(key, "") if f"{key}=" in self.tail else ""

    @property
    def metadata(self) -> str:
        """The metadata in braces: where the instruction comes from; may be empty."""
        match = _METADATA.search(self.tail) if "metadata={" in self.tail else None
        return match[1] if match else ""

    @property
    def op_name(self) -> str:
        """Name of the operation in the source, such as ``jit(f)/dot_general``; may be empty."""
        name = _OP_NAME.search(self.metadata)
        return unquoted(name[1]) if name else ""

    @property
    def calls(self) -> tuple[str, ...]:
        """Names of the computations that it calls, in the order of the line."""
        may_call = any(part in self.tail for part in _CALLING)
        return called_in(self.attributes) if may_call else ()

    def __str__(self) -> str:
        """Returns its line as XLA prints it, without the indentation."""
        sign, operands = self.sign, self.operands
        if sign and len(operands) > _COMMENTED:
            arguments = ", ".join(
                (f"/*index={number}*/" if number and not number % _COMMENTED else "") + sign + name
                for number, name in enumerate(operands)
            )
        else:
            arguments = sign + f", {sign}".join(operands) if operands else self.argument
        root, tail = "ROOT " if self.is_root else "", f", {self.tail}" if self.tail else ""
        return f"{root}{sign}{self.name} = {self.shape} {self.opcode}({arguments}){tail}"


class ComputationText(NamedTuple):
    """One computation. The signature, which repeats its parameters and its result, is left out.

    Attributes:
        name: Name, without a percent sign.
        instructions: The instructions, in the order of the text.
        is_entry: True for the computation that runs first.
        tail: What follows the closing brace, such as the name of a thread.
        sign: What stands before its name: a percent sign or nothing.
    """

    name: str
    instructions: tuple[InstructionText, ...]
    is_entry: bool = False
    tail: str = ""
    sign: str = ""

    @property
    def root(self) -> InstructionText:
        """The instruction whose value is the result.

        Raises:
            HloError: There is none.
        """
        for instruction in self.instructions:
            if instruction.is_root:
                return instruction
        raise HloError(f"expected a root in the computation {self.name}")

    def __str__(self) -> str:
        """Returns its lines as XLA prints them."""
        entry = "ENTRY " if self.is_entry else ""
        body = "".join(f"  {instruction}\n" for instruction in self.instructions)
        return f"{entry}{self.sign}{self.name} {{\n{body}}}{self.tail}\n"


@dataclass(frozen=True)
class ArrayShape:
    """Shape of an array with a known size and an ordinary layout.

    Attributes:
        type: XLA's name of the element type.
        dimensions: Sizes.
        minor_to_major: The dimensions in the order of the layout.
    """

    type: str
    dimensions: tuple[int, ...]
    minor_to_major: tuple[int, ...]

    @classmethod
    def row_major(cls, type: str, dimensions: tuple[int, ...]) -> Self:
        """Returns the shape whose last dimension is the minor one."""
        return cls(type, dimensions, tuple(reversed(range(len(dimensions)))))

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.dimensions)

    @property
    def is_row_major(self) -> bool:
        """True if the last dimension is the minor one."""
        return self.minor_to_major == tuple(reversed(range(len(self.dimensions))))

    @property
    def outer_sizes(self) -> tuple[int, ...]:
        """Sizes in the order of memory, the major dimension first."""
        return tuple(self.dimensions[number] for number in reversed(self.minor_to_major))

    def __str__(self) -> str:
        """Returns the type and the sizes, without the layout."""
        return f"{self.type}[{','.join(map(str, self.dimensions))}]"


def array_shape(text: str) -> ArrayShape | None:
    """Returns a shape from its text; None for tuples, tokens, and layouts with tiles."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        return None
    if match[3] is None:
        return ArrayShape.row_major(match[1], numbers(match[2]))
    return ArrayShape(match[1], numbers(match[2]), numbers(match[3]))


def numbers(text: str) -> tuple[int, ...]:
    """Returns the numbers of a text such as ``{1,0}`` or ``1,0``."""
    return tuple(int(part) for part in text.strip("{}").split(",") if part)


def read_module(text: str) -> tuple[str, list[ComputationText]]:
    """Reads a module.

    Returns:
        The text before the first computation, without the empty line, and the computations.

    Raises:
        HloError: A line has a form that XLA does not print.
    """
    header: list[str] = []
    computations: list[ComputationText] = []
    begin: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        if begin is None:
            begin = _COMPUTATION.fullmatch(line) if line.endswith("{") else None
            if begin is not None:
                lines = []
            elif not computations:
                header.append(line)
            elif line:
                raise HloError(f"expected a computation of an HLO module, got {line[:200]!r}")
        elif line.startswith("}"):
            entry, sign, name = begin.groups()
            instructions = tuple(read_instruction(line, name) for line in lines)
            computations.append(ComputationText(name, instructions, bool(entry), line[1:], sign))
            begin = None
        elif " = " in line or not lines:
            lines.append(line)
        else:
            lines[-1] += f"\n{line}"  # of a literal
    if begin is not None or not computations:
        raise HloError(f"expected the text of an HLO module, got {text[:80]!r}")
    return "\n".join(header).removesuffix("\n"), computations


def read_instructions(text: str) -> Iterator[InstructionText]:
    """Yields the instructions of a module's text, one computation after the other.

    Raises:
        HloError: A line has a form that XLA does not print.
    """
    for computation in read_module(text)[1]:
        yield from computation.instructions


def read_instruction(line: str, computation: str = "") -> InstructionText:
    """Reads one line of a computation.

    Args:
        line: The line.
        computation: Name of the computation, for the result.

    Raises:
        HloError: It has a form that XLA does not print.
    """
    return (_read_kept if len(line) <= _LONGEST_KEPT else _read)(line, computation)


def _read(line: str, computation: str) -> InstructionText:
    match = _SIMPLE_LINE.fullmatch(line)
    root, sign, name, shape, opcode, inside, tail = match.groups("") if match else _parts(line)
    if opcode in _PLAIN_ARGUMENTS:
        operands, argument = (), inside
    else:
        operands, argument = _operands(inside), ""
    return InstructionText(
        name, shape, opcode, operands, argument, tail, bool(root), sign, computation
    )


_read_kept = lru_cache(_KEPT_LINES)(_read)


def _parts(line: str) -> tuple[str, ...]:
    """Returns the groups of ``_SIMPLE_LINE`` for any line."""
    begin = _BEGIN.match(line)
    start = begin.end() if begin else 0
    end = end_of(line, start) if line.startswith("(", start) else line.find(" ", start)
    opcode = _OPCODE.match(line, end) if end >= 0 else None
    if begin is None or opcode is None:
        raise HloError(f"expected an instruction of an HLO module, got {line[:200]!r}")
    closed = end_of(line, opcode.end() - 1)
    tail = line[closed:].strip().removeprefix(",").lstrip()
    return *begin.groups(""), line[start:end], opcode[1], line[opcode.end() : closed - 1], tail


def _operands(text: str) -> tuple[str, ...]:
    if "/*" in text:
        text = _COMMENT.sub("", text)
    if "[" in text:  # an option of XLA: the shape before the name
        return tuple(part.rpartition(" ")[2].lstrip("%") for part in split(text))
    return tuple(_NAMES.findall(text))


@lru_cache(_KEPT_LINES)
def attribute_items(text: str) -> tuple[tuple[str, str], ...]:
    """Returns names and values of attributes; the value is empty where there is none."""
    simple = _SIMPLE_ATTRIBUTE.findall(text)
    if sum(len(key) + len(value) + 3 for key, value in simple) == len(text) + 2:
        return tuple(simple)
    parts = (part.partition("=") for part in split(text))
    return tuple((key, value) for key, _, value in parts)


def without_metadata(text: str) -> str:
    """Returns attributes, or the text of instructions, without metadata."""
    if "metadata={" not in text:
        return text
    return _METADATA.sub("", text).removeprefix(", ")


def called_in(attributes: str) -> tuple[str, ...]:
    """Returns the names of the computations that attributes call."""
    calls = _CALLED.findall(attributes)
    return tuple(name for _, value in calls for name in names_in(value))


def with_renamed_calls(attributes: str, names: Mapping[str, str]) -> str:
    """Returns attributes that call computations by other names."""

    def renamed(call: re.Match[str]) -> str:
        return f"{call[1]}={_NAMES.sub(lambda name: names.get(name[0], name[0]), call[2])}"

    return _CALLED.sub(renamed, attributes)


def names_in(value: str) -> list[str]:
    """Returns the names in the value of an attribute, such as ``%body`` or ``{%one, %two}``."""
    return _NAMES.findall(value)


def unquoted(text: str) -> str:
    """Returns what a text in quotes stands for."""
    return _ESCAPED.sub(r"\1", text[1:-1])


def end_of(text: str, start: int) -> int:
    """Returns the position after the bracket that closes the one at ``start``.

    Raises:
        HloError: It is not closed.
    """
    waiting: list[str] = []
    for match in _BRACKETS.finditer(text, start):
        token = match[0]
        if token in _CLOSING:
            waiting.append(_CLOSING[token])
        elif waiting and token == waiting[-1]:
            waiting.pop()
            if not waiting:
                return match.end()
    raise _unclosed(text)


def split(text: str) -> Iterator[str]:
    """Yields the parts between commas that are in no bracket and no string.

    Raises:
        HloError: A bracket is not closed.
    """
    start = 0
    waiting: list[str] = []
    for match in _BRACKETS_AND_COMMAS.finditer(text):
        token = match[0]
        if token in _CLOSING:
            waiting.append(_CLOSING[token])
        elif waiting:
            if token == waiting[-1]:
                waiting.pop()
        elif token == ",":
            if part := text[start : match.start()].strip():
                yield part
            start = match.end()
    if waiting:
        raise _unclosed(text)
    if part := text[start:].strip():
        yield part


def _unclosed(text: str) -> HloError:
    return HloError(f"expected a closing bracket in {text[:200]!r}")
