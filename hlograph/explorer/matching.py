"""The instructions of one state of a module, and their partners in the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import EDGE_TYPES
from hlograph.module import Module
from hlograph.reading.hlo_text import InstructionText, read_instructions

_DATA, _CONTROL = EDGE_TYPES.index("data"), EDGE_TYPES.index("control")


@dataclass(frozen=True)
class Instructions:
    """The N instructions of one state of a module, operands before users.

    Attributes:
        names: Name of each, which is unique in its computation.
        computations: Name of its computation.
        opcodes: XLA's name of its opcode.
        texts: What HLO text says of it.
        operand_offsets: int64 ``[N + 1]``, offsets in the next.
        operands: int64 ``[M]``, instruction numbers of operands, in order, then of control
            predecessors.
        user_offsets: int64 ``[N + 1]``, offsets in the next.
        users: int64 ``[M]``, instruction numbers of users.
    """

    names: list[str]
    computations: list[str]
    opcodes: list[str]
    texts: list[InstructionText]
    operand_offsets: NDArray[np.int64]
    operands: NDArray[np.int64]
    user_offsets: NDArray[np.int64]
    users: NDArray[np.int64]

    @classmethod
    def of(cls, module: Module) -> Instructions:
        """Returns the instructions of a module as it is now."""
        graph = module.graph()
        names = graph.names()
        count = graph.num_nodes - graph.num_computations
        computation = [names[count + number] for number in graph.computation[:count].tolist()]
        texts = {
            (each.computation, each.name): each for each in read_instructions(module.to_text())
        }
        own = [texts[key] for key in zip(computation, names[:count], strict=True)]
        opcodes = [graph.opcode_name(node) for node in range(count)]
        source, target = _edges(graph)
        return cls(
            names[:count],
            computation,
            opcodes,
            own,
            *_grouped(target, source, count),
            *_grouped(source, target, count),
        )

    def __len__(self) -> int:
        return len(self.names)

    def operands_of(self, number: int) -> list[int]:
        """Returns the operands of an instruction, then its control predecessors."""
        begin, end = self.operand_offsets[number], self.operand_offsets[number + 1]
        return self.operands[begin:end].tolist()

    def users_of(self, number: int) -> list[int]:
        """Returns the instructions that use an instruction, or wait for it; each once."""
        begin, end = self.user_offsets[number], self.user_offsets[number + 1]
        return list(dict.fromkeys(self.users[begin:end].tolist()))

    def is_root(self, number: int) -> bool:
        """Returns True for the root of a computation."""
        return self.texts[number].is_root

    def parts(self, number: int) -> tuple[str, str, str]:
        """Returns an instruction's shape, its literal or number, and its attributes."""
        text = self.texts[number]
        return text.shape, text.argument, text.tail


def _edges(graph: HloGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns sources and targets of operands, in their order, then of control dependencies."""
    kept = (graph.edge_type == _DATA) | (graph.edge_type == _CONTROL)
    order = np.lexsort((graph.edge_position[kept], graph.edge_type[kept] == _CONTROL))
    source, target = graph.edge_index[:, kept][:, order]
    return source, target


def _grouped(
    key: NDArray[np.int64], value: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns offsets by key, and the values of each key in their order."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=count), out=offsets[1:])
    return offsets, value[np.argsort(key, kind="stable")]


NONE = -1
"""In place of a number: there is no such instruction in the other state."""


@dataclass(frozen=True)
class Matching:
    """Pairs of instructions of two states.

    Attributes:
        after: By instruction of the first state the one of the second, or ``NONE``.
        before: By instruction of the second state the one of the first, or ``NONE``.
        changed: Instructions of the second state that have a partner, and other operands, another
            shape or other attributes than it.
        renamed: Those that have a partner of another name or in another computation.
    """

    after: list[int]
    before: list[int]
    changed: frozenset[int]
    renamed: frozenset[int]

    @property
    def added(self) -> list[int]:
        """Instructions of the second state that the first does not have."""
        return [number for number, partner in enumerate(self.before) if partner == NONE]

    @property
    def removed(self) -> list[int]:
        """Instructions of the first state that the second does not have."""
        return [number for number, partner in enumerate(self.after) if partner == NONE]


def match(first: Instructions, second: Instructions) -> Matching:
    """Matches the instructions of two states of one module.

    Instructions of the same opcode are the same if they have the same name in the same computation,
    or else the same name in another computation, or else the same identity: shape, attributes and
    operands. XLA keeps the name of an instruction that a pass does not touch; it gives new names to
    what it copies into another computation.

    Args:
        first: The state before.
        second: The state after.
    """
    pairs = _Pairs(first, second)
    pairs.by(_places(first), _places(second))
    pairs.by(_names(first), _names(second))
    pairs.by_identity()
    both = [(mine, theirs) for theirs, mine in enumerate(pairs.before) if mine != NONE]
    changed = [theirs for mine, theirs in both if not pairs.is_same(mine, theirs)]
    renamed = [
        theirs
        for mine, theirs in both
        if first.names[mine] != second.names[theirs]
        or first.computations[mine] != second.computations[theirs]
    ]
    return Matching(pairs.after, pairs.before, frozenset(changed), frozenset(renamed))


def _places(state: Instructions) -> Iterable[Hashable]:
    return zip(state.computations, state.names, state.opcodes, strict=True)


def _names(state: Instructions) -> Iterable[Hashable]:
    return zip(state.names, state.opcodes, strict=True)


class _Pairs:
    """Pairs of two states while they are found."""

    def __init__(self, first: Instructions, second: Instructions) -> None:
        self._first, self._second = first, second
        self.after = [NONE] * len(first)
        self.before = [NONE] * len(second)

    def by(self, mine: Iterable[Hashable], theirs: Iterable[Hashable]) -> None:
        """Pairs what has no partner yet and a key that is alone in each state.

        Args:
            mine: Key of each instruction of the first state.
            theirs: Key of each instruction of the second state.
        """
        unmatched = _alone(mine, self.after)
        for key, number in _alone(theirs, self.before).items():
            if number != NONE and unmatched.get(key, NONE) != NONE:
                self._pair(unmatched[key], number)

    def by_identity(self) -> None:
        """Pairs what has no partner yet, and the same shape, attributes and operands.

        Operands come before users, so those of an instruction have their partners by then.
        """
        unmatched: dict[Hashable, list[int]] = defaultdict(list)
        for number, partner in enumerate(self.after):
            if partner == NONE:
                operands = tuple(self._first.operands_of(number))
                unmatched[_identity(self._first, number, operands)].append(number)
        if not unmatched:
            return
        for number, partner in enumerate(self.before):
            if partner == NONE:
                operands = tuple(
                    self.before[operand] for operand in self._second.operands_of(number)
                )
                same = unmatched.get(_identity(self._second, number, operands))
                if same:
                    self._pair(same.pop(0), number)

    def is_same(self, mine: int, theirs: int) -> bool:
        """Returns True if partners differ in nothing but names."""
        first, second = self._first, self._second
        operands = [self.before[operand] for operand in second.operands_of(theirs)]
        if first.operands_of(mine) != operands:
            return False
        if first.texts[mine] == second.texts[theirs]:
            return True
        same_root = first.is_root(mine) == second.is_root(theirs)
        return same_root and first.parts(mine) == second.parts(theirs)

    def _pair(self, mine: int, theirs: int) -> None:
        self.after[mine], self.before[theirs] = theirs, mine


def _identity(state: Instructions, number: int, operands: tuple[int, ...]) -> Hashable:
    opcode = state.opcodes[number]
    # A parameter is one of its computation.
    where = state.computations[number] if opcode == "parameter" else ""
    return opcode, where, state.parts(number), operands


def _alone(keys: Iterable[Hashable], partners: list[int]) -> dict[Hashable, int]:
    """Returns the instructions without a partner by key; ``NONE`` where several have one key."""
    numbers: dict[Hashable, int] = {}
    for number, (key, partner) in enumerate(zip(keys, partners, strict=True)):
        if partner == NONE:
            numbers[key] = NONE if key in numbers else number
    return numbers
