"""Greedy search that looks further ahead where no neighbor is better."""

from typing import Any

import numpy as np

from experiments.search.state_space import Node, StateSpace


def greedy_search(space: StateSpace[Any], random: np.random.Generator) -> None:
    """Goes to the best neighbor; where none is better, to the nearest better state.

    Every move is made in a state before the best child is chosen. If that child is no better than
    the present state, every move is made in each of the children, those with the least op count
    first, then in their children, until a better state is found. The search ends when no state
    that can be reached is better.

    Args:
        space: Where to search.
        random: Breaks ties.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    node = space.root
    while node is not None:
        node = _better(space, node, random)


def _better(
    space: StateSpace[Any], begin: Node[Any], random: np.random.Generator
) -> Node[Any] | None:
    """Returns the nearest state with fewer instructions; None if there is none."""
    front, seen = [begin], {begin}
    while front:
        found: list[Node[Any]] = []
        for node in front:
            space.budget.check()
            new: list[Node[Any]] = []
            moves = space.moves(node)
            for number in random.permutation(len(moves)).tolist():
                child = space.step(node, moves[number])
                if child not in seen:
                    seen.add(child)
                    new.append(child)
            # Moves were made in random order, so the first of equals is a random one.
            best = min(new, key=lambda child: child.op_count, default=begin)
            if best.op_count < begin.op_count:
                return best
            found += new
        front = sorted(found, key=lambda child: child.op_count)
    return None
