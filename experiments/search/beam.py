"""Beam search, and greedy search that looks further ahead where no neighbor is better.

For the beam, see Lowerre 1976, "The HARPY speech recognition system".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.search.state_space import Move, Node, StateSpace, Steps, step

if TYPE_CHECKING:
    from experiments.search.guide import Guide


def beam_search(space: StateSpace[Any], random: np.random.Generator, width: int) -> Steps[None]:
    """Keeps the states with the least op count of each depth, and makes every move in them.

    The width is the number of states kept at first; ties are broken at random. When a depth brings
    nothing new, the width is doubled and the search begins again; moves made before cost nothing
    then. The search ends when the beam holds every state that there is.
    """

    def ranked(states: list[Any]) -> list[Any]:
        ties = dict(zip(states, random.permutation(len(states)), strict=True))
        return sorted(states, key=lambda node: (node.op_count, ties[node]))

    while not (yield from descend(space, width, space.moves, ranked)):
        width *= 2


beam_4, beam_16 = partial(beam_search, width=4), partial(beam_search, width=16)


def policy_beam(
    space: StateSpace[int], random: np.random.Generator, guide: Guide, width: int = 4
) -> Steps[None]:
    """Makes the moves that a policy thinks likeliest, and keeps the best states of each depth.

    The width is the number of states kept at first, and of children that each of them gets. The
    best states are those for which the value head expects the fewest instructions to be left.
    When a depth brings nothing new, both numbers are doubled and the search begins again. The
    search ends when nothing was left out.

    Raises:
        ValueError: The policy's values do not predict op counts.
    """

    def ranked(states: list[Any]) -> list[Any]:
        return sorted(states, key=guide.expected_op_count)

    while not (
        yield from descend(space, width, guide.ranked, ranked, children=width, count_known=True)
    ):
        width *= 2


def descend(
    space: StateSpace[Move],
    width: int,
    moves: Callable[[Node[Move]], Iterable[Move]],
    ranked: Callable[[list[Node[Move]]], list[Node[Move]]],
    *,
    children: int | None = None,
    count_known: bool = False,
) -> Steps[bool]:
    """Runs one beam search, as deep as there are new states.

    Args:
        space: Where to search.
        width: States kept of each depth.
        moves: Moves to make in a state, best first.
        ranked: Sorts the new states of a depth, best first.
        children: Children after which no further move is made in a state; None makes all moves.
        count_known: True if children count that the search has seen elsewhere.

    Returns:
        True if nothing was left out.
    """
    front, seen, complete = [space.root], {space.root}, True
    while front:
        fresh: list[Node[Move]] = []
        for node in front:
            space.budget.check()
            counted: set[Node[Move]] = set()
            for move in moves(node):
                if len(counted) == children:
                    complete = False
                    break
                child = yield from step(node, move)
                if child is node:
                    continue
                if child not in seen or count_known:
                    counted.add(child)
                if child not in seen:
                    seen.add(child)
                    fresh.append(child)
        complete = complete and len(fresh) <= width
        front = ranked(fresh)[:width]
    return complete


def greedy_search(space: StateSpace[Any], random: np.random.Generator) -> Steps[None]:
    """Goes to the best neighbor; where none is better, to the nearest better state.

    Every move is made in a state before the best child is chosen. If that child is no better than
    the present state, every move is made in each of the children, those with the least op count
    first, then in their children, until a better state is found. The search ends when no state
    that can be reached is better.
    """
    node = space.root
    while node is not None:
        node = yield from _better(space, node, random)


def _better(
    space: StateSpace[Any], begin: Node[Any], random: np.random.Generator
) -> Steps[Node[Any] | None]:
    """Returns the nearest state with fewer instructions; None if there is none."""
    front, seen = [begin], {begin}
    while front:
        fresh: list[Node[Any]] = []
        for node in front:
            space.budget.check()
            new: list[Node[Any]] = []
            moves = space.moves(node)
            for number in random.permutation(len(moves)).tolist():
                child = yield from step(node, moves[number])
                if child not in seen:
                    seen.add(child)
                    new.append(child)
            # Moves were made in random order, so the first of equals is a random one.
            best = min(new, key=lambda child: child.op_count, default=begin)
            if best.op_count < begin.op_count:
                return best
            fresh += new
        front = sorted(fresh, key=lambda child: child.op_count)
    return None
