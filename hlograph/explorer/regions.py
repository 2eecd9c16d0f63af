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
    first: Instructions, second: Instructions, matching: Matching, limit: int
) -> list[Region]:
    """Returns the regions of the changes between two states, in the order of the instructions.

    Changes hang together if one is an operand of the other, before or after, or if one takes the
    place of the other as the root of a computation.

    Args:
        first: The state before.
        second: The state after.
        matching: Their instructions by partner.
        limit: Largest number of changes in all regions together.
    """
    union = _Union(first, second, matching)
    remaining = limit
    regions: list[Region] = []
    for group in union.groups():
        if remaining <= 0:
            break
        regions.append(union.region(group[:remaining]))
        remaining -= len(group[:remaining])
    return regions


class _Union:
    """The changes of both states as nodes of one graph.

    Nodes are instructions of the second state, and behind them the removed ones of the first.
    """

    def __init__(self, first: Instructions, second: Instructions, matching: Matching) -> None:
        self._first, self._second, self._matching = first, second, matching
        self._size = len(second)
        removed = [self._size + number for number in matching.removed]
        self._changes = dict.fromkeys(sorted({*matching.added, *matching.changed}) + removed)
        self._instead = self._replaced_roots()

    def groups(self) -> Iterator[list[int]]:
        """Yields changes that hang together, at most ``MOST_IN_REGION`` at once."""
        remaining = dict(self._changes)
        while remaining:
            # Breadth first, so that a piece of a large group hangs together too.
            queue = [next(iter(remaining))]
            del remaining[queue[0]]
            for node in queue:
                if len(queue) >= MOST_IN_REGION:
                    break
                for near in self._near(node):
                    if near in remaining and len(queue) < MOST_IN_REGION:
                        del remaining[near]
                        queue.append(near)
            yield queue

    def region(self, group: list[int]) -> Region:
        """Returns changes with the instructions around them, in both states."""
        mine = [self._mine(node) for node in group]
        theirs = [self._theirs(node) for node in group]
        before = _with_neighbours(self._first, [number for number in mine if number != NONE])
        after = _with_neighbours(self._second, [number for number in theirs if number != NONE])
        # What is around a change in one state is shown in the other as well.
        partners = [self._matching.after[number] for number in before]
        after = _limited(after, [number for number in partners if number != NONE])
        partners = [self._matching.before[number] for number in after]
        before = _limited(before, [number for number in partners if number != NONE])
        return Region(len(group), sorted(before), sorted(after))

    def _near(self, node: int) -> Iterator[int]:
        mine, theirs = self._mine(node), self._theirs(node)
        if mine != NONE:
            for number in _neighbours(self._first, mine):
                partner = self._matching.after[number]
                yield self._size + number if partner == NONE else partner
        if theirs != NONE:
            yield from _neighbours(self._second, theirs)
        if node in self._instead:
            yield self._instead[node]

    def _replaced_roots(self) -> dict[int, int]:
        """Returns nodes of roots that take each other's place in a computation, by node."""
        first, second = self._first, self._second
        roots = [number for number in self._matching.removed if first.is_root(number)]
        gone = {first.computations[number]: number for number in roots}
        pairs = [
            (self._size + gone[second.computations[number]], number)
            for number in self._matching.added
            if second.is_root(number) and second.computations[number] in gone
        ]
        return dict(pairs) | {theirs: mine for mine, theirs in pairs}

    def _mine(self, node: int) -> int:
        return node - self._size if node >= self._size else self._matching.before[node]

    def _theirs(self, node: int) -> int:
        return NONE if node >= self._size else node


def _neighbours(state: Instructions, number: int) -> list[int]:
    return state.operands_of(number) + state.users_of(number)


def _with_neighbours(state: Instructions, chosen: list[int]) -> list[int]:
    """Returns instructions, then their operands and some of their users."""
    around = [near for number in chosen for near in state.operands_of(number)[:_MOST_OPERANDS]]
    around += [near for number in chosen for near in state.users_of(number)[:_MOST_USERS]]
    return _limited(chosen, around)


def _limited(some: list[int], others: Iterable[int]) -> list[int]:
    """Returns the distinct ones of two lists, as many as can be drawn."""
    return list(dict.fromkeys([*some, *others]))[:_MOST_DRAWN]
