"""HLO text as objects to edit: computations, instructions and their names.

XLA has no Python interface that edits modules. Its text names everything, and jaxlib reads and
writes it, so that no other XLA is needed. What is not edited is printed as it was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hlograph.errors import HloError
from hlograph.reading.hlo_text import (
    ComputationText,
    InstructionText,
    attribute_items,
    names_in,
    read_module,
)

PREDECESSORS = "control-predecessors"
"""Attribute with the instructions that have to run before one, beside its operands."""

_CALLS = (
    "calls",
    "to_apply",
    "body",
    "condition",
    "branch_computations",
    "true_computation",
    "false_computation",
    "called_computations",
    "select",
    "scatter",
)
_CALLING = frozenset(_CALLS)


@dataclass(eq=False, slots=True)
class Instruction:
    """One instruction; equal to itself alone.

    Attributes:
        name: Name, without the percent sign.
        shape: Shape with layout, as text.
        opcode: XLA's name of the operation.
        operands: Names of the operands.
        attributes: Attributes as text, by their names; metadata is one of them.
        is_root: True for the result of its computation.
        argument: What stands in the place of operands: the number of a parameter, a literal.
        origin: Name of the instruction that this one is a copy of, or its own.
        sign: What stands before each name: a percent sign or nothing.
    """

    name: str
    shape: str
    opcode: str
    operands: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    is_root: bool = False
    argument: str = ""
    origin: str = ""
    sign: str = "%"

    @classmethod
    def of(cls, text: InstructionText) -> Instruction:
        """Returns a new instruction that a line describes.

        Raises:
            HloError: A bracket of its attributes is not closed.
        """
        return cls(
            text.name,
            text.shape,
            text.opcode,
            list(text.operands),
            dict(attribute_items(text.tail)),
            text.is_root,
            text.argument,
            text.name,
            text.sign,
        )

    @property
    def calls(self) -> list[str]:
        """Names of the computations that it calls; of a loop the body first."""
        if _CALLING.isdisjoint(self.attributes):
            return []
        return [
            name
            for key in _CALLS
            if key in self.attributes
            for name in names_in(self.attributes[key])
        ]

    @property
    def predecessors(self) -> list[str]:
        """Names of the instructions that have to run before it, beside its operands."""
        return names_in(self.attributes.get(PREDECESSORS, ""))

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
            self.sign,
        )

    def text(self) -> InstructionText:
        """Returns what it is now, as text."""
        items = self.attributes.items()
        return InstructionText(
            self.name,
            self.shape,
            self.opcode,
            tuple(self.operands),
            self.argument,
            ", ".join(f"{key}={value}" if value else key for key, value in items),
            self.is_root,
            self.sign,
        )

    def __str__(self) -> str:
        return str(self.text())


class _Index:
    """Holds what is looked up again and again in a computation that does not change."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self.by_name = {op.name: op for op in instructions}
        self.users: dict[str, list[Instruction]] = {}
        self.opcodes = frozenset(op.opcode for op in instructions)
        self.predecessors: set[str] = set()
        for op in instructions:
            for name in dict.fromkeys(op.operands):
                self.users.setdefault(name, []).append(op)
            if PREDECESSORS in op.attributes:
                self.predecessors.update(op.predecessors)


@dataclass(eq=False)
class Computation:
    """A computation: instructions in an order in which each follows its operands."""

    name: str
    is_entry: bool
    instructions: list[Instruction]
    tail: str = ""
    sign: str = "%"
    _index: _Index | None = field(default=None, repr=False)

    @property
    def root(self) -> Instruction:
        """The instruction whose value is the result."""
        return next(op for op in self.instructions if op.is_root)

    @property
    def parameters(self) -> list[Instruction]:
        """The parameters by their numbers."""
        parameters = [op for op in self.instructions if op.opcode == "parameter"]
        return sorted(parameters, key=lambda op: int(op.argument))

    @property
    def by_name(self) -> dict[str, Instruction]:
        """The instructions by their names."""
        if self._index is not None:
            return self._index.by_name
        return {op.name: op for op in self.instructions}

    def users(self, name: str) -> list[Instruction]:
        """Returns the instructions that have an operand of that name."""
        if self._index is not None:
            return self._index.users.get(name, [])
        return [op for op in self.instructions if name in op.operands]

    @property
    def opcodes(self) -> frozenset[str]:
        """The opcodes of the instructions."""
        if self._index is not None:
            return self._index.opcodes
        return frozenset(op.opcode for op in self.instructions)

    def is_predecessor(self, name: str) -> bool:
        """Returns True if an instruction has to run after that one, beside its operands."""
        if self._index is not None:
            return name in self._index.predecessors
        return any(name in op.predecessors for op in self.instructions)

    def copy(self) -> Computation:
        """Returns a copy that can be edited."""
        instructions = [op.copy(op.name) for op in self.instructions]
        return Computation(self.name, self.is_entry, instructions, self.tail, self.sign)

    def index(self) -> None:
        """Makes look-ups fast until ``forget``; the computation must not change meanwhile."""
        if self._index is None:
            self._index = _Index(self.instructions)

    def forget(self) -> None:
        """Ends what ``index`` began."""
        self._index = None

    def __str__(self) -> str:
        texts = tuple(instruction.text() for instruction in self.instructions)
        return str(ComputationText(self.name, texts, self.is_entry, self.tail, self.sign))


@dataclass
class ModuleText:
    """A module.

    Attributes:
        header: What stands before the computations: its first line, and the source of metadata.
        computations: The computations by their names.
    """

    header: str
    computations: dict[str, Computation]
    _called_from: dict[str, list[tuple[Computation, Instruction]]] | None = None
    _names: set[str] | None = None
    _homes: dict[str, list[tuple[Computation, Instruction]]] | None = None

    @classmethod
    def parse(cls, text: str) -> ModuleText:
        """Reads a module's text.

        Raises:
            HloError: A line has a form that XLA does not print.
        """
        header, computations = read_module(text)
        return cls(
            header,
            {
                read.name: Computation(
                    read.name,
                    read.is_entry,
                    [Instruction.of(text) for text in read.instructions],
                    read.tail,
                    read.sign,
                )
                for read in computations
            },
        )

    def __str__(self) -> str:
        """Returns the text, without the signatures of computations, which XLA does not need."""
        computations = "".join(f"{computation}\n" for computation in self._callees_first())
        return f"{self.header}\n\n{computations}"

    @property
    def entry(self) -> Computation:
        """The computation that runs first."""
        return next(body for body in self.computations.values() if body.is_entry)

    def find(self, name: str) -> tuple[Computation, Instruction]:
        """Returns the instruction of a name and its computation.

        Raises:
            HloError: There is none, or several.
        """
        if self._homes is not None:
            named = self._homes.get(name, [])
        else:
            named = [pair for pair in self.instructions() if pair[1].name == name]
        if len(named) != 1:
            raise HloError(
                f"expected the name of one instruction of the optimized module, and {name!r} "
                f"belongs to {len(named)}"
            )
        return named[0]

    def instructions(self) -> Iterator[tuple[Computation, Instruction]]:
        """Yields every instruction with its computation."""
        for computation in self.computations.values():
            for op in computation.instructions:
                yield computation, op

    def called_from(self) -> dict[str, list[tuple[Computation, Instruction]]]:
        """Returns the instructions that call a computation, by its name, with where they are.

        They are collected once; call ``changed`` before and after an edit.
        """
        if self._called_from is None:
            self._called_from = {}
            for computation, op in self.instructions():
                for name in op.calls:
                    self._called_from.setdefault(name, []).append((computation, op))
        return self._called_from

    def changed(self) -> None:
        """Forgets what was collected of the module's calls and instructions."""
        self._called_from = self._homes = None
        for computation in self.computations.values():
            computation.forget()

    def index(self) -> None:
        """Makes look-ups fast until ``changed``."""
        if self._homes is None:
            self._homes = {}
            for pair in self.instructions():
                self._homes.setdefault(pair[1].name, []).append(pair)
        for computation in self.computations.values():
            computation.index()

    def copy(self) -> ModuleText:
        """Returns a copy that can be edited."""
        return ModuleText(
            self.header, {name: body.copy() for name, body in self.computations.items()}
        )

    def fresh(self, name: str) -> str:
        """Returns a name that no instruction and no computation has, made from another one."""
        number, free = 1, name
        while free in self._taken():
            free, number = f"{name}.p{number}", number + 1
        self._taken().add(free)
        return free

    def free_prefix(self, prefix: str) -> str:
        """Returns a text that no name begins with, made from another one."""
        number, free = 1, prefix
        while any(name.startswith(f"{free}.") for name in self._taken()):
            free, number = f"{prefix}.p{number}", number + 1
        return free

    def add(self, computation: Computation) -> None:
        """Adds a computation."""
        self.computations[computation.name] = computation
        self._taken().update(op.name for op in computation.instructions)

    def _taken(self) -> set[str]:
        if self._names is None:
            self._names = {op.name for _, op in self.instructions()} | set(self.computations)
        return self._names

    def _callees_first(self) -> Iterator[Computation]:
        """Yields the computations in the order that XLA's parser needs."""
        done: set[str] = set()
        waiting = list(reversed(self.computations))
        while waiting:
            name = waiting[-1]
            body = self.computations[name].instructions
            missing = [n for op in body for n in op.calls if n not in done]
            if name in done or not missing:
                waiting.pop()
                if name not in done:
                    done.add(name)
                    yield self.computations[name]
            else:
                waiting += missing
