"""The module that jaxlib generated code from, read from its text.

Every step of XLA:CPU's runtime implements an instruction of this module. Its text is read, because
jaxlib has neither the attributes of instructions nor classes for the proto.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from hlograph.errors import HloError
from hlograph.plans import jaxlib_modules

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable

CONTROL = frozenset({"while", "conditional", "call"})
"""Opcodes whose computations have steps of their own at run time."""

_COMPUTATION = re.compile(r"(ENTRY )?%([\w.\-]+) \((.*)\) -> .* \{$")
_PARAMETER = re.compile(r"([\w.\-]+): ")
_INSTRUCTION = re.compile(r"  (?:ROOT )?%([\w.\-]+) = ")
_OPCODE = re.compile(r"([\w\-]+)\(")
_OPERAND = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(
    r"\b(?:calls|to_apply|body|condition|true_computation|false_computation|branch_computations"
    r"|called_computations)=(\{[^}]*\}|%[\w.\-]+)"
)
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
METADATA = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
"""Metadata in the text of an instruction."""
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_OPENING, _CLOSING = "([{", ")]}"

# Versions of one program have most lines in common.
_KEPT_LINES = 1 << 14


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of an optimized module.

    Attributes:
        name: Its name, which is unique in the module.
        computation: Name of its computation.
        opcode: XLA's name of the opcode, such as ``dynamic-slice``.
        shape: Its shape and layout, such as ``f32[16,8]{1,0}``.
        operands: Names of its operands.
        attributes: Text of its attributes without metadata.
        called: Names of the computations that it calls.
        op_name: Name of the operation in the source, such as ``jit(f)/dot_general``; may be empty.
    """

    name: str
    computation: str
    opcode: str
    shape: str
    operands: tuple[str, ...] = ()
    attributes: str = ""
    called: tuple[str, ...] = ()
    op_name: str = ""


@dataclass(frozen=True)
class OptimizedModule:
    """An optimized module.

    Attributes:
        name: Its name.
        text: Its HLO text.
        entry: Name of the entry computation.
        parameters: Names of its parameters, in order.
        computations: The instructions of each computation, in the order of its schedule.
        instructions: All instructions by name.
    """

    name: str
    text: str
    entry: str
    parameters: tuple[str, ...]
    computations: dict[str, tuple[Instruction, ...]]
    instructions: dict[str, Instruction] = field(repr=False)

    @classmethod
    def of(cls, executable: LoadedExecutable) -> OptimizedModule:
        """Returns the module of an executable.

        Raises:
            HloError: It is no executable of jaxlib, or one of several modules.
        """
        from jaxlib._hlo import HloPrintOptions

        if not hasattr(executable, "hlo_modules"):
            raise HloError(
                "expected an executable of jaxlib, such as Compiled.runtime_executable(), got "
                f"{type(executable).__name__}"
            )
        modules = executable.hlo_modules()
        if len(modules) != 1:
            raise HloError(f"expected an executable of one module, got one of {len(modules)}")
        options = HloPrintOptions()
        options.print_large_constants = False
        return cls.from_text(modules[0].to_string(options))

    @classmethod
    def from_proto(cls, proto: bytes) -> OptimizedModule:
        """Returns the module of a serialized ``HloModuleProto``, without its large constants.

        Raises:
            PlanError: jaxlib does not read it.
        """
        return cls.from_text(jaxlib_modules.text_of(proto, literals=False))

    @classmethod
    def from_text(cls, text: str) -> OptimizedModule:
        """Returns the module of a text that XLA printed with its default options.

        Raises:
            HloError: The text has no entry computation.
        """
        computations: dict[str, tuple[Instruction, ...]] = {}
        entry, parameters = "", ()
        for header, instructions in _computations(text):
            name = header.group(2)
            computations[name] = instructions
            if header.group(1):
                entry, parameters = name, tuple(_PARAMETER.findall(header.group(3)))
        if not entry:
            raise HloError(f"expected the text of an HLO module, got {text[:80]!r}")
        return cls(
            name=text.removeprefix("HloModule ").partition(",")[0].split()[0],
            text=text,
            entry=entry,
            parameters=parameters,
            computations=computations,
            instructions={i.name: i for many in computations.values() for i in many},
        )

    def callers(self) -> dict[str, tuple[str, ...]]:
        """Returns the loops, branches and calls that run each computation, by computation."""
        found: dict[str, tuple[str, ...]] = {}
        for instruction in self.instructions.values():
            for called in instruction.called if instruction.opcode in CONTROL else ():
                found[called] = (*found.get(called, ()), instruction.name)
        return found


def known_trips(text: str) -> list[int]:
    """Returns how often the loops in a text run, of those for which XLA has found it out.

    Args:
        text: Text of instructions or of their attributes.
    """
    return [int(trips) for trips in _TRIPS.findall(text)]


def _computations(text: str) -> Iterator[tuple[re.Match[str], tuple[Instruction, ...]]]:
    """Yields the header and the instructions of each computation."""
    header: re.Match[str] | None = None
    instructions: list[Instruction] = []
    for line in text.splitlines():
        if found := _COMPUTATION.match(line):
            header, instructions = found, []
        elif header and line.startswith("}"):
            yield header, tuple(instructions)
            header = None
        elif header and (begin := _INSTRUCTION.match(line)):
            instructions.append(_instruction(header.group(2), begin.group(1), line[begin.end() :]))


@lru_cache(_KEPT_LINES)
def _instruction(computation: str, name: str, text: str) -> Instruction:
    """Returns the instruction of a line, from its shape on."""
    shape_end = _closing(text, 0) if text.startswith("(") else text.index(" ")
    opcode = _OPCODE.match(text, shape_end + 1)
    if opcode is None:
        raise HloError(f"expected an opcode after the shape of {name}, got {text[:80]!r}")
    operands_end = _closing(text, opcode.end() - 1)
    rest = text[operands_end:]
    attributes = METADATA.sub("", rest)
    op_name = _OP_NAME.search(rest)
    return Instruction(
        name=name,
        computation=computation,
        opcode=opcode.group(1),
        shape=text[:shape_end],
        operands=tuple(_OPERAND.findall(text, opcode.end(), operands_end)),
        attributes=attributes.removeprefix(", "),
        called=tuple(c for found in _CALLED.findall(attributes) for c in _OPERAND.findall(found)),
        op_name=op_name.group(1).replace('\\"', '"') if op_name else "",
    )


def _closing(text: str, start: int) -> int:
    """Returns the position after the bracket that closes the one at ``start``."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] in _OPENING:
            depth += 1
        elif text[position] in _CLOSING:
            depth -= 1
            if depth == 0:
                return position + 1
    return len(text)
