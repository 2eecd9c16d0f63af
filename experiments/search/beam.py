"""Beam search by op count (Lowerre 1976, "The HARPY speech recognition system", for the idea)."""

import numpy as np

from experiments.search.space import Node, SearchSpace


def beam_search(space: SearchSpace, random: np.random.Generator, width: int) -> None:
    """Keeps the states with the least op count of each depth, and tries every pass on them.

    When a depth brings nothing new, the width is doubled and the search begins anew: what was
    called before costs nothing then. Ends when the beam holds every state that there is.

    Args:
        space: Where to search.
        random: Breaks ties.
        width: States kept at first.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    while True:
        whole = _descend(space, random, width)
        if whole:
            return
        width *= 2


def _descend(space: SearchSpace, random: np.random.Generator, width: int) -> bool:
    """Goes down as far as there are new states; returns whether none had to be left out."""
    front = [space.root]
    seen = {space.root}
    whole = True
    while front:
        found: dict[Node, None] = {}
        for node in front:
            space.budget.check()
            for action in range(len(space.passes)):
                child = space.step(node, action)
                if child not in seen:
                    seen.add(child)
                    found[child] = None
        order = random.permutation(len(found))
        ranked = sorted(
            zip(found, order, strict=True), key=lambda pair: (pair[0].op_count, pair[1])
        )
        whole = whole and len(ranked) <= width
        front = [node for node, _ in ranked[:width]]
    return whole
