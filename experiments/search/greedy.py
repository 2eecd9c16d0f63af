"""Greedy search that looks further ahead where nothing near is better."""

import numpy as np

from experiments.search.space import Node, SearchSpace


def greedy_search(space: SearchSpace, random: np.random.Generator) -> None:
    """Goes to the best state that one pass leads to, or two where no one pass helps, and so on.

    Every pass is called in a state before the best of what they lead to is taken. Where that is
    no better than the present state, every pass is called in each of those states in turn, those
    with the least op count first, until something better is found; then in the states after
    those. Ends when no state that can be reached is better.

    Args:
        space: Where to search.
        random: Breaks ties.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    node: Node | None = space.root
    while node is not None:
        node = _better(space, node, random)


def _better(space: SearchSpace, begin: Node, random: np.random.Generator) -> Node | None:
    """The nearest state with fewer instructions; None if there is none."""
    front, seen = [begin], {begin}
    while front:
        found: list[Node] = []
        for node in front:
            space.budget.check()
            new: list[Node] = []
            for action in random.permutation(len(space.passes)).tolist():
                child = space.step(node, action)
                if child not in seen:
                    seen.add(child)
                    new.append(child)
            # The first of equals is a random one, for passes were tried in random order.
            best = min(new, key=lambda child: child.op_count, default=begin)
            if best.op_count < begin.op_count:
                return best
            found += new
        front = sorted(found, key=lambda child: child.op_count)
    return None
