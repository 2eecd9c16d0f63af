"""Beam search in which a policy says which passes are worth a call, and which states stay."""

from typing import Literal

import numpy as np

from experiments.search.guide import STOP, Guide
from experiments.search.space import Node, SearchSpace

Score = Literal["probability", "value"]


def policy_beam(
    space: SearchSpace,
    random: np.random.Generator,
    guide: Guide,
    width: int = 4,
    score: Score = "value",
) -> None:
    """Calls the passes that a policy thinks likeliest, and keeps the best states of each depth.

    When a depth brings nothing new, width and passes tried in a state are doubled and the search
    begins anew: what was called before costs nothing then. Ends when nothing had to be left out.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        guide: The policy.
        width: States kept at first, and new states that each is tried for.
        score: What keeps a state: the probability of its way from the start, or the instructions
            that the value head expects to be left in the end.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    while not _descend(space, guide, width, score):
        width *= 2


def _descend(space: SearchSpace, guide: Guide, width: int, score: Score) -> bool:
    """Goes down as far as there are new states; returns whether none had to be left out."""
    front: list[tuple[float, Node]] = [(0.0, space.root)]
    seen = {space.root}
    whole = True
    while front:
        found: list[tuple[float, Node]] = []
        for way, node in front:
            children, all_of_them = _children(space, guide, node, width)
            whole = whole and all_of_them
            for log_prob, child in children:
                if child not in seen:
                    seen.add(child)
                    found.append((way + log_prob, child))
        ranked = sorted(found, key=lambda pair: _rank(guide, *pair, score))
        whole = whole and len(ranked) <= width
        front = ranked[:width]
    return whole


def _children(
    space: SearchSpace, guide: Guide, node: Node, wanted: int
) -> tuple[list[tuple[float, Node]], bool]:
    """Some states that one pass leads to, by likeliest passes; whether these are all there are."""
    space.budget.check()
    log_probs = guide.judge(node).log_probs
    found: dict[Node, float] = {}
    for action in np.argsort(-log_probs, kind="stable").tolist():
        if action == STOP:
            continue
        if len(found) == wanted:
            return [(log_prob, child) for child, log_prob in found.items()], False
        child = space.step(node, action)
        if child is not node:
            found.setdefault(child, float(log_probs[action]))
    return [(log_prob, child) for child, log_prob in found.items()], True


def _rank(guide: Guide, way: float, node: Node, score: Score) -> float:
    return -way if score == "probability" else guide.judge(node).op_count
