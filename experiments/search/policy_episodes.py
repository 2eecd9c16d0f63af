"""A policy's own episodes: the greedy one, then drawn ones, and the best of all is kept."""

import numpy as np

from experiments.search.guide import STOP, Guide
from experiments.search.patience import Patience
from experiments.search.space import Node, SearchSpace

_WARMER = 1.2
"""What the temperature is multiplied with after an episode without anything new."""


def greedy_episode(space: SearchSpace, random: np.random.Generator, guide: Guide) -> None:
    """Plays the policy greedily once, and leaves the rest of the budget.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        guide: The policy.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    _play(space, random, guide, temperature=0.0)


def policy_episodes(space: SearchSpace, random: np.random.Generator, guide: Guide) -> None:
    """Plays the policy greedily once, then draws from it.

    Episodes in states that the table knows are free, and the more of them there are the less the
    policy is followed: each one warms the distribution, p ** (1 / temperature).

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
        calls = space.budget.calls
        _play(space, random, guide, temperature)
        if space.budget.calls == calls:
            temperature *= _WARMER


def _play(
    space: SearchSpace, random: np.random.Generator, guide: Guide, temperature: float
) -> None:
    node = space.root
    for _ in range(guide.horizon):
        action = _drawn(guide, node, temperature, random) if temperature else guide.greedy(node)
        if action == STOP:
            break
        node = space.step(node, action)


def _drawn(guide: Guide, node: Node, temperature: float, random: np.random.Generator) -> int:
    log_probs = guide.judge(node).log_probs
    warm = log_probs / temperature
    # Masked ones stay so, whatever the temperature: their logits are a large negative number.
    warm[log_probs < -1e6] = -np.inf
    odds = np.exp(warm - warm.max())
    return int(random.choice(len(odds), p=odds / odds.sum()))
