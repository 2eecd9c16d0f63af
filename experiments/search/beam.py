"""Beam search by op count; a beam of one is greedy."""

import numpy as np

from experiments.search.space import Node, SearchSpace


def beam_search(space: SearchSpace, random: np.random.Generator, width: int) -> None:
    """Keeps the states with the least op count of each depth, and tries every pass on them.

    When a depth brings nothing new, the width is doubled and the search begins anew: what was
    called before costs nothing then.

    Args:
        space: Where to search.
        random: Breaks ties.
        width: States kept at first.

    Raises:
        BudgetSpentError: The budget is spent, or every state was expanded.
    """
    while True:
        _descend(space, random, width)
        width *= 2


def _descend(space: SearchSpace, random: np.random.Generator, width: int) -> None:
    front = [space.root]
    seen = {space.root}
    while front:
        found: dict[Node, None] = {}
        for node in front:
            for action in range(len(space.passes)):
                child = space.step(node, action)
                if child not in seen:
                    seen.add(child)
                    found[child] = None
        order = random.permutation(len(found))
        ranked = sorted(
            zip(found, order, strict=True), key=lambda pair: (pair[0].op_count, pair[1])
        )
        front = [node for node, _ in ranked[:width]]
