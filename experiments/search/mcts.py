"""Monte Carlo tree search over passes, with a policy's probabilities (``puct``).

A new state is worth what the policy, played greedily from there on, comes to: on validation that
was better than the value head. Worth is minus the logarithm of the op count.
"""

import math

import numpy as np
from numpy.typing import NDArray

from experiments.search.guide import STOP, Guide
from experiments.search.patience import Patience
from experiments.search.puct import Tree
from experiments.search.space import Node, SearchSpace

_DEEPEST = 60
"""Passes from the start to a new state, at most."""


def mcts(space: SearchSpace, random: np.random.Generator, guide: Guide) -> None:
    """Searches the tree until the budget is spent.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        guide: The policy.

    Raises:
        BudgetSpentError: The budget is spent, or visits lead to nothing new.
    """
    tree = Tree(_Passes(space, guide), _DEEPEST)
    patience = Patience(space, tries=1000)
    while True:
        patience.check()
        tree.visit()


class _Passes:
    """The passes of a state as moves, and the policy that is played from new ones on."""

    def __init__(self, space: SearchSpace, guide: Guide) -> None:
        self.root = space.root
        self._space, self._guide = space, guide
        self._played: dict[Node, int] = {}
        """Least op count from a state on, where the policy was played through it."""

    def priors(self, node: Node) -> NDArray[np.float64]:
        return np.exp(self._guide.judge(node).log_probs[:STOP])

    def useless(self, node: Node) -> list[int]:
        return [action for action, child in node.children.items() if child is node]

    def step(self, node: Node, move: int) -> Node:
        return self._space.step(node, move)

    def worth(self, node: Node) -> float:
        return -math.log(node.op_count)

    def promise(self, node: Node) -> float:
        return -math.log(self._play_on(node))

    def _play_on(self, node: Node) -> int:
        """Least op count that the policy comes to from a state on."""
        way = []
        for _ in range(self._guide.horizon):
            # The rest was played before: the policy does the same in the same state.
            if node in self._played:
                break
            action = self._guide.greedy(node)
            if action == STOP:
                break
            child = self._space.step(node, action)
            if child is not node:
                way.append(node)
                node = child
        least = min(node.op_count, self._played.get(node, node.op_count))
        for before in reversed(way):
            least = min(least, before.op_count)
            self._played[before] = least
        return least
