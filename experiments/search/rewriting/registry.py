"""The searches over rewrites, by name."""

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.search.rewriting.guide import RewriteGuide, policy_episode
from experiments.search.rewriting.mcts import mcts
from experiments.search.rewriting.methods import beam_rewrites, greedy_rewrites, random_rewrites
from experiments.search.rewriting.space import RewriteSpace

Method = Callable[[RewriteSpace, np.random.Generator], None]
"""Moves in a space until ``BudgetSpentError``, or until it has nothing left to try."""
GuidedMethod = Callable[[RewriteSpace, np.random.Generator, RewriteGuide], None]
"""The same, with a policy."""

METHODS: dict[str, Method] = {
    "random": random_rewrites,
    "greedy": greedy_rewrites,
    "beam-4": partial(beam_rewrites, width=4),
    "mcts": mcts,
}
"""Those that need no policy."""
GUIDED: dict[str, GuidedMethod] = {"policy": policy_episode, "mcts": mcts}
"""Those that take one."""
DRAWS = frozenset({"random"})
"""Those of which another seed is another search."""
