"""Searches over rewrites, by name."""

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.search.beam import descend
from experiments.search.patience import Patience
from experiments.search.puct import mcts
from experiments.search.random_walks import random_search
from experiments.search.rewriting.estimates import Estimates
from experiments.search.rewriting.guide import RewriteGuide, policy_episode
from experiments.search.rewriting.space import RewriteSpace

Method = Callable[[RewriteSpace, np.random.Generator], None]
"""Moves in a space until ``BudgetSpentError``, or until it has nothing left to try."""
GuidedMethod = Callable[[RewriteSpace, np.random.Generator, RewriteGuide], None]
"""As ``Method``, with a policy."""

_tree_search = partial(mcts, max_depth=1000, tries=300)


def random_rewrites(space: RewriteSpace, random: np.random.Generator) -> None:
    """Draws rewrites in episodes of 200, until five episodes have found no new state."""
    random_search(space, random, 200, Patience(space, 5, space.__len__))


def greedy_rewrites(space: RewriteSpace, random: np.random.Generator) -> None:
    """Follows the estimates of rewrites until none promises to be no worse."""
    for _ in Estimates(space).rollout(space.root):
        pass


def beam_rewrites(space: RewriteSpace, random: np.random.Generator, width: int) -> None:
    """Keeps the best states of each depth, and applies to each the rewrites that promise most."""
    best_first = partial(sorted, key=lambda node: node.value)
    descend(space, width, Estimates(space).ranked, best_first, children=width)


def mcts_rewrites(space: RewriteSpace, random: np.random.Generator) -> None:
    """Searches the tree with priors and rollouts by the estimates of rewrites."""
    _tree_search(space, random, Estimates(space))


METHODS: dict[str, Method] = {
    "random": random_rewrites,
    "greedy": greedy_rewrites,
    "beam-4": partial(beam_rewrites, width=4),
    "mcts": mcts_rewrites,
}
"""Searches that need no policy."""
GUIDED: dict[str, GuidedMethod] = {"policy": policy_episode, "mcts": _tree_search}
"""Searches that take a policy."""
DRAWS = frozenset({"random"})
"""Searches whose result depends on the seed."""
