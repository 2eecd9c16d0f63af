"""Episodes of a heuristic or policy: one greedy episode, then drawn ones."""

from typing import Any

import numpy as np

from experiments.search.guide import Guide
from experiments.search.patience import Patience
from experiments.search.space import PassSpace
from experiments.search.state_space import Heuristic, StateSpace

_WARMING = 1.2
"""Factor on the temperature after an episode that found nothing new."""


def greedy_episode(
    space: StateSpace[Any], random: np.random.Generator, heuristic: Heuristic[Any]
) -> None:
    """Follows a heuristic greedily once, and leaves the rest of the budget.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        heuristic: The advice to follow.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    for _ in heuristic.rollout(space.root):
        pass


def policy_episodes(space: PassSpace, random: np.random.Generator, guide: Guide) -> None:
    """Plays the policy greedily once, then draws episodes from it.

    An episode in known states is free. Each one raises the temperature of the distribution,
    p ** (1 / temperature), so that later episodes follow the policy less.

    Args:
        space: Where to search.
        random: Draws the passes.
        guide: The policy.

    Raises:
        BudgetSpentError: The budget is spent, or episodes lead to nothing new.
    """
    greedy_episode(space, random, guide)
    temperature = 1.0
    patience = Patience(space, tries=60)
    while True:
        patience.check()
        calls, node = space.budget.calls, space.root
        for _ in range(guide.horizon):
            move = guide.drawn(node, temperature, random)
            if move is None:
                break
            node = space.step(node, move)
        if space.budget.calls == calls:
            temperature *= _WARMING
