"""Random search: episodes of random moves."""

from typing import Any

import numpy as np

from experiments.search.patience import Patience
from experiments.search.state_space import StateSpace


def random_search(
    space: StateSpace[Any],
    random: np.random.Generator,
    horizon: int = 40,
    patience: Patience | None = None,
) -> None:
    """Draws moves uniformly among those not known to change nothing, episode after episode.

    Moves that the table knows cost no call, so an episode in known states is free. That makes this
    search stronger than drawing blindly.

    Args:
        space: Where to search.
        random: Draws the moves.
        horizon: Moves of an episode, by default as many as policies make in training.
        patience: Ends the search.

    Raises:
        BudgetSpentError: The budget is spent, or episodes lead to nothing new.
    """
    patience = patience or Patience(space)
    while True:
        patience.check()
        node = space.root
        for _ in range(horizon):
            moves = space.promising(node)
            if not moves:
                break
            node = space.step(node, moves[random.integers(len(moves))])
