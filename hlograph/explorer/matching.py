"""Matches the instructions of one state of a module with those of the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from hlograph.explorer.instructions import Instructions

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
        left = _alone(mine, self.after)
        for key, number in _alone(theirs, self.before).items():
            if number != NONE and left.get(key, NONE) != NONE:
                self._pair(left[key], number)

    def by_identity(self) -> None:
        """Pairs what has no partner yet, and the same shape, attributes and operands.

        Operands come before users, so those of an instruction have their partners by then.
        """
        left: dict[Hashable, list[int]] = defaultdict(list)
        for number, partner in enumerate(self.after):
            if partner == NONE:
                operands = tuple(self._first.operands_of(number))
                left[_identity(self._first, number, operands)].append(number)
        if not left:
            return
        for number, partner in enumerate(self.before):
            if partner == NONE:
                operands = tuple(self.before[one] for one in self._second.operands_of(number))
                same = left.get(_identity(self._second, number, operands))
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
    found: dict[Hashable, int] = {}
    for number, (key, partner) in enumerate(zip(keys, partners, strict=True)):
        if partner == NONE:
            found[key] = NONE if key in found else number
    return found
