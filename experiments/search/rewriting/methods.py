"""Searches over rewrites that draw, or go by what rewrites say of themselves."""

from collections.abc import Collection

import numpy as np

from experiments.search.rewriting.space import Node, RewriteSpace

_HORIZON = 200
"""Rewrites of a random episode."""
_IDLE_EPISODES = 5
"""Random episodes without a new state, after which there is nothing left to find that way."""


def random_rewrites(space: RewriteSpace, random: np.random.Generator) -> None:
    """Episodes of rewrites drawn uniformly; then begins anew.

    Args:
        space: Where to search.
        random: Draws the rewrites.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    idle = 0
    while idle < _IDLE_EPISODES:
        before = len(space)
        node: Node | None = space.root
        for _ in range(_HORIZON):
            offered = space.rewrites(node)
            if not offered:
                break
            after = space.step(node, offered[int(random.integers(len(offered)))].place)
            node = node if after is None else after
        idle = 0 if len(space) > before else idle + 1


def greedy_rewrites(space: RewriteSpace, random: np.random.Generator) -> None:
    """Applies what promises most, as long as anything promises to be no worse.

    A rewrite that changes neither measure may make room for others: it is applied where nothing
    better is offered and the state that it leads to is new. HloEnv calls this greedy.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    node: Node | None = space.root
    seen = {space.root}
    while node is not None:
        node = greedy_step(space, node, seen)
        if node is not None:
            seen.add(node)


def greedy_step(space: RewriteSpace, node: Node, seen: Collection[Node]) -> Node | None:
    """The state that greedy rewriting goes to next; None if nothing promises to be no worse.

    Args:
        space: Where the state is.
        node: The state.
        seen: States to which it does not go back.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    here = space.worth(node)
    offered = [(space.expected(node, r), n, r) for n, r in enumerate(space.rewrites(node))]
    for worth, _, rewrite in sorted(offered, key=lambda entry: entry[:2]):
        if worth[0] > here[0]:
            return None
        child = space.step(node, rewrite.place)
        if child is not None and child not in seen and space.worth(child)[0] <= here[0]:
            return child
    return None


def beam_rewrites(space: RewriteSpace, random: np.random.Generator, width: int) -> None:
    """Keeps the best states of each depth, and applies to each what promises most.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        width: States kept, and rewrites applied to each.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    front, seen = [space.root], {space.root}
    while front:
        found: list[Node] = []
        for node in front:
            ranked = sorted(space.rewrites(node), key=lambda rewrite: space.expected(node, rewrite))
            taken = 0
            for rewrite in ranked:
                child = space.step(node, rewrite.place)
                if child is None or child in seen:
                    continue
                seen.add(child)
                found.append(child)
                taken += 1
                if taken == width:
                    break
        front = sorted(found, key=space.worth)[:width]
