"""Groups of changed instructions that hang together, small enough to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hlograph.explorer.matching import NONE, Instructions, Matching

MOST_IN_REGION = 60
"""Largest number of changes in one region: what is around them is drawn with them."""

_MOST_USERS = 3  # of an instruction that are drawn around it
_MOST_OPERANDS = 6
_MOST_DRAWN = 200


@dataclass(frozen=True)
class Region:
    """Changed instructions that hang together, and the instructions around them.

    Attributes:
        changes: Number of changes; an instruction of both states counts once.
        before: Instructions of the first state, ascending.
        after: Instructions of the second state, ascending.
    """

    changes: int
    before: list[int]
    after: list[int]


def regions_of(
    first: Instructions, second: Instructions, found: Matching, limit: int
) -> list[Region]:
    """Returns the regions of the changes between two states, in the order of the instructions.

    Changes hang together if one is an operand of the other, before or after, or if one takes the
    place of the other as the root of a computation.

    Args:
        first: The state before.
        second: The state after.
        found: Their instructions by partner.
        limit: Largest number of changes in all regions together.
    """
    union = _Union(first, second, found)
    left = limit
    regions: list[Region] = []
    for group in union.groups():
        if left <= 0:
            break
        regions.append(union.region(group[:left]))
        left -= len(group[:left])
    return regions


class _Union:
    """The changes of both states as nodes of one graph.

    Nodes are instructions of the second state, and behind them the removed ones of the first.
    """

    def __init__(self, first: Instructions, second: Instructions, found: Matching) -> None:
        self._first, self._second, self._found = first, second, found
        self._size = len(second)
        removed = [self._size + number for number in found.removed]
        self._changes = dict.fromkeys(sorted({*found.added, *found.changed}) + removed)
        self._instead = self._replaced_roots()

    def groups(self) -> Iterator[list[int]]:
        """Yields changes that hang together, at most ``MOST_IN_REGION`` at once."""
        left = dict(self._changes)
        while left:
            # Breadth first, so that a piece of a large group hangs together too.
            queue = [next(iter(left))]
            del left[queue[0]]
            for node in queue:
                if len(queue) >= MOST_IN_REGION:
                    break
                for near in self._near(node):
                    if near in left and len(queue) < MOST_IN_REGION:
                        del left[near]
                        queue.append(near)
            yield queue

    def region(self, group: list[int]) -> Region:
        """Returns changes with the instructions around them, in both states."""
        mine = [self._mine(node) for node in group]
        theirs = [self._theirs(node) for node in group]
        before = _with_neighbours(self._first, [one for one in mine if one != NONE])
        after = _with_neighbours(self._second, [one for one in theirs if one != NONE])
        # What is around a change in one state is shown in the other as well.
        partners = [self._found.after[one] for one in before]
        after = _limited(after, [one for one in partners if one != NONE])
        partners = [self._found.before[one] for one in after]
        before = _limited(before, [one for one in partners if one != NONE])
        return Region(len(group), sorted(before), sorted(after))

    def _near(self, node: int) -> Iterator[int]:
        mine, theirs = self._mine(node), self._theirs(node)
        if mine != NONE:
            for one in _neighbours(self._first, mine):
                partner = self._found.after[one]
                yield self._size + one if partner == NONE else partner
        if theirs != NONE:
            yield from _neighbours(self._second, theirs)
        if node in self._instead:
            yield self._instead[node]

    def _replaced_roots(self) -> dict[int, int]:
        """Returns nodes of roots that take each other's place in a computation, by node."""
        first, second = self._first, self._second
        gone = {first.computations[one]: one for one in self._found.removed if first.is_root(one)}
        pairs = [
            (self._size + gone[second.computations[one]], one)
            for one in self._found.added
            if second.is_root(one) and second.computations[one] in gone
        ]
        return dict(pairs) | {theirs: mine for mine, theirs in pairs}

    def _mine(self, node: int) -> int:
        return node - self._size if node >= self._size else self._found.before[node]

    def _theirs(self, node: int) -> int:
        return NONE if node >= self._size else node


def _neighbours(state: Instructions, number: int) -> list[int]:
    return state.operands_of(number) + state.users_of(number)


def _with_neighbours(state: Instructions, chosen: list[int]) -> list[int]:
    """Returns instructions, then their operands and some of their users."""
    around = [one for number in chosen for one in state.operands_of(number)[:_MOST_OPERANDS]]
    around += [one for number in chosen for one in state.users_of(number)[:_MOST_USERS]]
    return _limited(chosen, around)


def _limited(some: list[int], others: Iterable[int]) -> list[int]:
    """Returns the distinct ones of two lists, as many as can be drawn."""
    return list(dict.fromkeys([*some, *others]))[:_MOST_DRAWN]
