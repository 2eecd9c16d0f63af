"""Monte Carlo tree search over rewrites (``search.puct``), with a policy or without one.

Without a policy, priors are a softmax of what rewrites say they would gain, and a new state is
worth what greedy rewriting comes to from there on; with one, both are the policy's. A rewrite
seldom stands in the way of another, so what is played from two neighbours soon meets, and
costs nothing from there on.
"""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from experiments.search.puct import Tree
from experiments.search.rewriting.guide import RewriteGuide
from experiments.search.rewriting.methods import greedy_step
from experiments.search.rewriting.space import Node, RewriteSpace
from hlograph.transforms.rewriting import Rewrite

_DEEPEST = 1000
"""Rewrites from the start to a new state, at most."""
_SHARPNESS = 3.0
"""The rewrite that gains most is preferred e to this to one that gains nothing."""
_IDLE = 300
"""Visits one after the other without a rewrite applied, after which nothing new is to be found."""


def mcts(
    space: RewriteSpace, random: np.random.Generator, guide: RewriteGuide | None = None
) -> None:
    """Searches the tree until the budget is spent, or visits lead to nothing new.

    Args:
        space: Where to search.
        random: Not used: nothing is drawn.
        guide: The policy; None goes by what rewrites say of themselves.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    tree = Tree(_Expected(space) if guide is None else _Guided(space, guide), _DEEPEST)
    idle = 0
    while idle < _IDLE:
        space.budget.check()
        before = space.budget.calls
        tree.visit()
        idle = 0 if space.budget.calls > before else idle + 1


class _Rewrites(ABC):
    """The rewrites of a state as moves; worth is minus the logarithm of what is to become small."""

    def __init__(self, space: RewriteSpace) -> None:
        self.root = space.root
        self._space = space
        self._played: dict[Node, float] = {}
        """Best worth from a state on, where the default policy was played through it."""

    @abstractmethod
    def offered(self, node: Node) -> list[Rewrite]:
        """The moves of a state."""

    @abstractmethod
    def priors(self, node: Node) -> NDArray[np.float64]:
        """Their probabilities."""

    @abstractmethod
    def default(self, node: Node, seen: set[Node]) -> Node | None:
        """The state that the default policy goes to; None where it ends."""

    def useless(self, node: Node) -> list[int]:
        places = [rewrite.place for rewrite in self.offered(node)]
        return [n for n, place in enumerate(places) if node.children.get(place, node) is None]

    def step(self, node: Node, move: int) -> Node:
        return self._space.step(node, self.offered(node)[move].place) or node

    def worth(self, node: Node) -> float:
        return -math.log(max(self._space.worth(node)[0], 1e-12))

    def promise(self, node: Node) -> float:
        way, seen = [], {node}
        while node not in self._played:
            child = self.default(node, seen)
            if child is None or child in seen:
                break
            way.append(node)
            seen.add(child)
            node = child
        best = max(self.worth(node), self._played.get(node, -math.inf))
        for before in reversed(way):
            best = max(best, self.worth(before))
            self._played[before] = best
        return best


class _Expected(_Rewrites):
    """By what rewrites say of themselves."""

    def offered(self, node: Node) -> list[Rewrite]:
        return self._space.rewrites(node)

    def priors(self, node: Node) -> NDArray[np.float64]:
        here = self._space.worth(node)[0]
        offered = self.offered(node)
        gains = np.array([here - self._space.expected(node, r)[0] for r in offered], np.float64)
        scale = np.abs(gains).max(initial=0.0) or 1.0
        weights = np.exp(_SHARPNESS * gains / scale)
        return weights / max(weights.sum(), 1e-12)

    def default(self, node: Node, seen: set[Node]) -> Node | None:
        return greedy_step(self._space, node, seen)


class _Guided(_Rewrites):
    """By a trained policy."""

    def __init__(self, space: RewriteSpace, guide: RewriteGuide) -> None:
        super().__init__(space)
        self._guide = guide

    def offered(self, node: Node) -> list[Rewrite]:
        return self._guide.judge(node).offered

    def priors(self, node: Node) -> NDArray[np.float64]:
        return self._guide.judge(node).probabilities

    def default(self, node: Node, seen: set[Node]) -> Node | None:
        rewrite = self._guide.judge(node).greedy()
        if rewrite is None or len(seen) > self._guide.horizon:
            return None
        # Of one that fails the policy is asked again, for it is hidden from it then.
        child = self._space.step(node, rewrite.place)
        return self.default(node, seen) if child is None else child
