"""Beam search in which a policy says which passes are worth a call, and which states stay."""

import numpy as np

from experiments.search.guide import STOP, Guide
from experiments.search.space import Node, SearchSpace


def policy_beam(
    space: SearchSpace, random: np.random.Generator, guide: Guide, width: int = 4
) -> None:
    """Calls the passes that a policy thinks likeliest, and keeps the best states of each depth.

    The best are those of which the value head expects the fewest instructions to be left.

    When a depth brings nothing new, width and passes tried in a state are doubled and the search
    begins anew: what was called before costs nothing then. Ends when nothing had to be left out.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        guide: The policy.
        width: States kept at first, and new states that each is tried for.

    Raises:
        BudgetSpentError: The budget is spent.
        ValueError: The policy's values say nothing of op counts.
    """
    while not _descend(space, guide, width):
        width *= 2


def _descend(space: SearchSpace, guide: Guide, width: int) -> bool:
    """Goes down as far as there are new states; returns whether none had to be left out."""
    front = [space.root]
    seen = {space.root}
    whole = True
    while front:
        found: list[Node] = []
        for node in front:
            children, all_of_them = _children(space, guide, node, width)
            whole = whole and all_of_them
            new = [child for child in children if child not in seen]
            seen.update(new)
            found += new
        ranked = sorted(found, key=guide.expected_op_count)
        whole = whole and len(ranked) <= width
        front = ranked[:width]
    return whole


def _children(space: SearchSpace, guide: Guide, node: Node, wanted: int) -> tuple[list[Node], bool]:
    """Some states that one pass leads to, by likeliest passes; whether these are all there are."""
    space.budget.check()
    found: dict[Node, None] = {}
    for action in np.argsort(-guide.judge(node).log_probs, kind="stable").tolist():
        if action == STOP:
            continue
        if len(found) == wanted:
            return list(found), False
        child = space.step(node, action)
        if child is not node:
            found[child] = None
    return list(found), True
