"""Monte Carlo tree search with a policy's probabilities, for one player who keeps the best.

Which pass is tried follows PUCT as in AlphaZero (Silver et al. 2018, "A general reinforcement
learning algorithm that masters chess, shogi, and Go through self-play"). An edge is worth the
best that was ever found beyond it, not the mean, for nobody plays against us and every pass does
the same each time (Schadd et al. 2008, "Single-Player Monte-Carlo Tree Search"; Bjornsson and
Finnsson 2009 for the maximum). Worths are scaled to the range that was seen, as in MuZero
(Schrittwieser et al. 2020, appendix B). Ways that meet share their node.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from experiments.search.budget import Patience
from experiments.search.guide import STOP, Guide
from experiments.search.space import Node, SearchSpace

_EXPLORATION = 1.0
"""c_puct: how much the policy's probabilities weigh against what was found."""
_VALUE_WEIGHT = 0.5
"""Share of the value head in what a new state is worth; the rest is its op count."""
_DEEPEST = 60


@dataclass(slots=True)
class _Edges:
    """What the search knows of a state and the passes that lead on from it."""

    priors: np.ndarray
    """[passes]: the policy's probabilities."""
    worth: np.ndarray
    """[passes]: the best found beyond each; what the state itself is worth for one not tried."""
    visits: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.visits = np.zeros(len(self.priors))


class _Tree:
    def __init__(self, space: SearchSpace, guide: Guide) -> None:
        self._space, self._guide = space, guide
        self._edges: dict[Node, _Edges] = {}
        self._low, self._high = math.inf, -math.inf

    def visit(self) -> None:
        """Goes from the start to a new state, and tells all on the way what it is worth."""
        node = self._space.root
        way: list[tuple[_Edges, int]] = []
        on_the_way = {node}
        while (edges := self._edges.get(node)) is not None and len(way) < _DEEPEST:
            action = self._choose(edges)
            if action is None:
                break
            child = self._space.step(node, action)
            if child is node:
                edges.priors[action] = 0.0
                edges.worth[action] = -math.inf
                continue
            way.append((edges, action))
            if child in on_the_way:
                node = child
                break
            on_the_way.add(child)
            node = child
        worth = self._worth(node) if node not in self._edges else -math.log(node.op_count)
        for edges, action in reversed(way):
            if not edges.visits[action]:
                edges.worth[action] = worth
            edges.worth[action] = max(edges.worth[action], worth)
            edges.visits[action] += 1

    def _choose(self, edges: _Edges) -> int | None:
        """The pass of highest upper bound; None if all are known to change nothing."""
        possible = np.isfinite(edges.worth)
        if not possible.any():
            return None
        span = max(self._high - self._low, 1e-9)
        scaled = (edges.worth - self._low) / span
        total = math.sqrt(edges.visits.sum() + 1)
        bound = scaled + _EXPLORATION * edges.priors * total / (1 + edges.visits)
        return int(np.where(possible, bound, -math.inf).argmax())

    def _worth(self, node: Node) -> float:
        """What a new state is worth: minus the logarithm of the instructions to expect."""
        judged = self._guide.judge(node)
        now, later = math.log(node.op_count), math.log(judged.op_count)
        worth = -((1 - _VALUE_WEIGHT) * now + _VALUE_WEIGHT * later)
        self._low, self._high = min(self._low, worth), max(self._high, worth)
        priors = np.exp(judged.log_probs[:STOP])
        beyond = np.full(STOP, worth)
        # What another way to this state found out.
        beyond[[action for action, child in node.children.items() if child is node]] = -math.inf
        self._edges[node] = _Edges(priors, beyond)
        return worth


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
    patience = Patience(space.budget, tries=1000)
    while True:
        patience.check()
        tree.visit()
