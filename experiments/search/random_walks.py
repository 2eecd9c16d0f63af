"""Random search: episodes of random passes."""

import numpy as np

from experiments.search.patience import Patience
from experiments.search.space import SearchSpace

_HORIZON = 40
"""Passes drawn in an episode, as many as a policy has in training."""


def random_search(space: SearchSpace, random: np.random.Generator) -> None:
    """Draws passes uniformly, but none that is known to change nothing; then begins anew.

    Knowing what changes nothing makes it stronger than drawing blindly: what the table knows
    costs no call, so an episode in known states is free.

    Args:
        space: Where to search.
        random: Draws the passes.

    Raises:
        BudgetSpentError: The budget is spent, or episodes lead to nothing new.
    """
    patience = Patience(space)
    while True:
        patience.check()
        node = space.root
        for _ in range(_HORIZON):
            actions = space.promising(node)
            if not actions:
                break
            node = space.step(node, int(random.choice(actions)))
