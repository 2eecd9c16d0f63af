"""Monte Carlo tree search with a policy's probabilities, for one player who keeps the best.

Which pass is tried follows PUCT as in AlphaZero (Silver et al. 2018, "A general reinforcement
learning algorithm that masters chess, shogi, and Go through self-play"). A new state is worth what
the policy, played greedily from there on, comes to: on validation that was better than the value
head. An edge is worth the best that was ever found beyond it, not the mean, for nobody plays
against us and every pass does the same each time (Bjornsson and Finnsson 2009, "CadiaPlayer",
and Schadd et al. 2008, "Single-Player Monte-Carlo Tree Search", keep the best in this way).
Worths are scaled to the range that was seen, as in MuZero (Schrittwieser et al. 2020, appendix
B). Ways that meet share their node.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.search.guide import STOP, Guide
from experiments.search.patience import Patience
from experiments.search.space import Node, SearchSpace

_EXPLORATION = 1.0
"""c_puct: how much the policy's probabilities weigh against what was found."""
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
    tree = _Tree(space, guide)
    patience = Patience(space, tries=1000)
    while True:
        patience.check()
        tree.visit()


@dataclass(frozen=True, slots=True)
class _Edges:
    """What the search knows of a state and the passes that lead on from it, all [passes]."""

    priors: NDArray[np.float64]
    """The policy's probabilities."""
    worth: NDArray[np.float64]
    """The best found beyond each; for one not tried, what the state itself is worth; -inf for one
    that changes nothing."""
    visits: NDArray[np.int64]


class _Tree:
    """States visited, and what was found beyond each; worth is minus the log of the op count."""

    def __init__(self, space: SearchSpace, guide: Guide) -> None:
        self._space, self._guide = space, guide
        self._edges: dict[Node, _Edges] = {}
        self._played: dict[Node, int] = {}
        """Least op count from a state on, where the policy was played through it."""
        self._low, self._high = math.inf, -math.inf

    def visit(self) -> None:
        """Goes from the start to a new state, and tells all on the way what it is worth."""
        node, way = self._descend()
        worth = self._added(node) if node not in self._edges else -math.log(node.op_count)
        for edges, action in reversed(way):
            if not edges.visits[action]:
                edges.worth[action] = worth
            edges.worth[action] = max(edges.worth[action], worth)
            edges.visits[action] += 1

    def _descend(self) -> tuple[Node, list[tuple[_Edges, int]]]:
        """A state that is new, or the end of a way that goes in a circle or too deep."""
        node, way = self._space.root, []
        seen = {node}
        while (edges := self._edges.get(node)) is not None and len(way) < _DEEPEST:
            action = self._choose(edges)
            if action is None:
                break
            child = self._space.step(node, action)
            if child is node:
                edges.worth[action] = -math.inf
                continue
            way.append((edges, action))
            node = child
            if node in seen:
                break
            seen.add(node)
        return node, way

    def _choose(self, edges: _Edges) -> int | None:
        """The pass of highest upper bound; None if all are known to change nothing."""
        span = max(self._high - self._low, 1e-9)
        total = math.sqrt(edges.visits.sum() + 1)
        explored = _EXPLORATION * edges.priors * total / (1 + edges.visits)
        # What changes nothing stays at -inf.
        bound = (edges.worth - self._low) / span + explored
        action = int(bound.argmax())
        return action if np.isfinite(bound[action]) else None

    def _added(self, node: Node) -> float:
        """Adds a state to the tree; returns what it is worth."""
        worth = -math.log(self._play_on(node))
        self._low, self._high = min(self._low, worth), max(self._high, worth)
        beyond = np.full(STOP, worth)
        beyond[[action for action, child in node.children.items() if child is node]] = -math.inf
        priors = np.exp(self._guide.judge(node).log_probs[:STOP])
        self._edges[node] = _Edges(priors, beyond, np.zeros(STOP, np.int64))
        return worth

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
