"""A model of a module's text: computations and instructions, split and not interpreted.

XLA has no Python interface that edits modules. Its text names everything, and jaxlib reads and
writes it, so that no other XLA is needed. Metadata is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hlograph.plans.errors import PlanError
from hlograph.plans.placing.instruction_text import PREDECESSORS, Instruction, read_instruction

_COMPUTATION = re.compile(r"(ENTRY )?%(\S+) (?:\(.*\) -> .* )?\{")


class _Index:
    """Holds what is looked up again and again in a computation that does not change."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self.by_name = {one.name: one for one in instructions}
        self.users: dict[str, list[Instruction]] = {}
        self.opcodes = frozenset(one.opcode for one in instructions)
        self.predecessors: set[str] = set()
        for one in instructions:
            for name in dict.fromkeys(one.operands):
                self.users.setdefault(name, []).append(one)
            if PREDECESSORS in one.attributes:
                self.predecessors.update(one.predecessors)


@dataclass(eq=False)
class Computation:
    """A computation: instructions in an order in which each follows its operands."""

    name: str
    is_entry: bool
    instructions: list[Instruction]
    tail: str = ""
    _index: _Index | None = field(default=None, repr=False)

    @property
    def root(self) -> Instruction:
        """The instruction whose value is the result."""
        return next(one for one in self.instructions if one.is_root)

    @property
    def parameters(self) -> list[Instruction]:
        """The parameters by their numbers."""
        found = [one for one in self.instructions if one.opcode == "parameter"]
        return sorted(found, key=lambda one: int(one.argument))

    @property
    def by_name(self) -> dict[str, Instruction]:
        """The instructions by their names."""
        if self._index is not None:
            return self._index.by_name
        return {one.name: one for one in self.instructions}

    def users(self, name: str) -> list[Instruction]:
        """Returns the instructions that have an operand of that name."""
        if self._index is not None:
            return self._index.users.get(name, [])
        return [one for one in self.instructions if name in one.operands]

    @property
    def opcodes(self) -> frozenset[str]:
        """The opcodes of the instructions."""
        if self._index is not None:
            return self._index.opcodes
        return frozenset(one.opcode for one in self.instructions)

    def is_predecessor(self, name: str) -> bool:
        """Returns True if an instruction has to run after that one, beside its operands."""
        if self._index is not None:
            return name in self._index.predecessors
        return any(name in one.predecessors for one in self.instructions)

    def copy(self) -> Computation:
        """Returns a copy that can be edited."""
        instructions = [one.copy(one.name) for one in self.instructions]
        return Computation(self.name, self.is_entry, instructions, self.tail)

    def index(self) -> None:
        """Makes look-ups fast until ``forget``; the computation must not change meanwhile."""
        if self._index is None:
            self._index = _Index(self.instructions)

    def forget(self) -> None:
        """Ends what ``index`` began."""
        self._index = None

    def __str__(self) -> str:
        body = "\n".join(map(str, self.instructions))
        return f"{'ENTRY ' if self.is_entry else ''}%{self.name} {{\n{body}\n}}{self.tail}\n"


@dataclass
class ModuleText:
    """A module: its first line, and its computations by their names."""

    header: str
    computations: dict[str, Computation]
    _called_from: dict[str, list[tuple[Computation, Instruction]]] | None = None
    _names: set[str] | None = None
    _homes: dict[str, list[tuple[Computation, Instruction]]] | None = None

    @classmethod
    def parse(cls, text: str) -> ModuleText:
        """Splits a module's text.

        Raises:
            PlanError: A line is of a form that is not known.
        """
        header, _, body = text.partition("\n")
        module = cls(header, {})
        current: Computation | None = None
        for line in body.splitlines():
            if current is None:
                if match := _COMPUTATION.fullmatch(line):
                    current = Computation(match[2], bool(match[1]), [])
                elif line:
                    raise PlanError(f"expected a computation of an HLO module, got {line[:200]!r}")
            elif line.startswith("}"):
                current.tail = line[1:]
                module.computations[current.name] = current
                current = None
            else:
                current.instructions.append(read_instruction(line))
        return module

    def __str__(self) -> str:
        return "\n\n".join([self.header, *map(str, self._callees_first())])

    @property
    def entry(self) -> Computation:
        """The computation that runs first."""
        return next(one for one in self.computations.values() if one.is_entry)

    def find(self, name: str) -> tuple[Computation, Instruction]:
        """Returns the instruction of a name and its computation.

        Raises:
            PlanError: There is none, or several.
        """
        if self._homes is not None:
            found = self._homes.get(name, [])
        else:
            found = [pair for pair in self.instructions() if pair[1].name == name]
        if len(found) != 1:
            raise PlanError(
                f"expected the name of one instruction of the optimized module, and {name!r} "
                f"belongs to {len(found)}"
            )
        return found[0]

    def instructions(self) -> Iterator[tuple[Computation, Instruction]]:
        """Yields every instruction with its computation."""
        for computation in self.computations.values():
            for one in computation.instructions:
                yield computation, one

    def called_from(self) -> dict[str, list[tuple[Computation, Instruction]]]:
        """Returns the instructions that call a computation, by its name, with where they are.

        They are collected once; call ``changed`` before and after an edit.
        """
        if self._called_from is None:
            self._called_from = {}
            for computation, one in self.instructions():
                for name in one.calls:
                    self._called_from.setdefault(name, []).append((computation, one))
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
            self.header, {name: one.copy() for name, one in self.computations.items()}
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
        self._taken().update(one.name for one in computation.instructions)

    def _taken(self) -> set[str]:
        if self._names is None:
            self._names = {one.name for _, one in self.instructions()} | set(self.computations)
        return self._names

    def _callees_first(self) -> Iterator[Computation]:
        """Yields the computations in the order that XLA's parser needs."""
        done: set[str] = set()
        waiting = list(reversed(self.computations))
        while waiting:
            name = waiting[-1]
            body = self.computations[name].instructions
            missing = [n for one in body for n in one.calls if n not in done]
            if name in done or not missing:
                waiting.pop()
                if name not in done:
                    done.add(name)
                    yield self.computations[name]
            else:
                waiting += missing
