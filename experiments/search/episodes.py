"""Searches that play episodes: of random moves, of a heuristic, of a policy that draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.search.budget import Patience
from experiments.search.space import PassSpace
from experiments.search.state_space import Heuristic, StateSpace, Steps, step

if TYPE_CHECKING:
    from experiments.search.guide import Guide

_WARMING = 1.2
"""Factor on the temperature after an episode that found nothing new."""


def random_search(
    space: StateSpace[Any],
    random: np.random.Generator,
    horizon: int = 40,
    patience: Patience | None = None,
) -> Steps[None]:
    """Draws moves uniformly among those not known to change nothing, episode after episode.

    Moves that the table knows cost no call, so an episode in known states is free. That makes this
    search stronger than drawing blindly. The horizon is the number of moves of an episode, by
    default as many as policies make in training; patience ends the search.
    """
    patience = patience or Patience(space)
    while True:
        patience.check()
        node = space.root
        for _ in range(horizon):
            moves = space.promising(node)
            if not moves:
                break
            node = yield from step(node, moves[random.integers(len(moves))])


def random_rewrites(space: StateSpace[str], random: np.random.Generator) -> Steps[None]:
    """Draws rewrites in episodes of 200, until five episodes have found no new state."""
    return random_search(space, random, 200, Patience(space, 5, space.__len__))


def greedy_episode(
    space: StateSpace[Any], random: np.random.Generator, heuristic: Heuristic[Any]
) -> Steps[None]:
    """Follows a heuristic greedily once, and leaves the rest of the budget; nothing is drawn."""
    yield from heuristic.rollout(space.root)


def policy_episodes(space: PassSpace, random: np.random.Generator, guide: Guide) -> Steps[None]:
    """Plays the policy greedily once, then draws episodes from it.

    An episode in known states is free. Each one raises the temperature of the distribution,
    p ** (1 / temperature), so that later episodes follow the policy less.
    """
    yield from guide.rollout(space.root)
    temperature = 1.0
    patience = Patience(space, tries=60)
    while True:
        patience.check()
        calls, node = space.budget.calls, space.root
        for _ in range(guide.horizon):
            move = guide.drawn(node, temperature, random)
            if move is None:
                break
            node = yield from step(node, move)
        if space.budget.calls == calls:
            temperature *= _WARMING
