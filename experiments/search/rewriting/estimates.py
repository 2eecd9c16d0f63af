"""Searches over rewrites without a policy, by the estimates that rewrites come with."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.search.beam import descend
from experiments.search.episodes import greedy_episode
from experiments.search.puct import mcts
from experiments.search.rewriting.space import RewriteNode, RewriteSpace
from experiments.search.state_space import Heuristic, Steps, step

_SHARPNESS = 3.0
"""Logarithm of the ratio of the priors of the best rewrite and one that gains nothing."""


class Estimates:
    """Ranks the rewrites of a state by the value that they predict.

    Args:
        space: Where to search.
    """

    def __init__(self, space: RewriteSpace) -> None:
        self._space = space

    def moves(self, node: RewriteNode) -> Sequence[str]:
        """Returns the places of all rewrites of a state."""
        return self._space.moves(node)

    def priors(self, node: RewriteNode) -> NDArray[np.float64]:
        """Returns a softmax of the predicted gains, scaled to the largest, [moves]."""
        here = node.value[0]
        offered = self._space.rewrites(node)
        gains = np.array([here - self._space.expected(node, r)[0] for r in offered], np.float64)
        scale = np.abs(gains).max(initial=0.0) or 1.0
        weights = np.exp(_SHARPNESS * gains / scale)
        return weights / max(weights.sum(), 1e-12)

    def ranked(self, node: RewriteNode) -> list[str]:
        """Returns the places of all rewrites of a state, those that promise most first."""
        return [place for _, place in self._predictions(node)]

    def rollout(
        self, node: RewriteNode, until: Callable[[RewriteNode], bool] = lambda node: False
    ) -> Steps[list[RewriteNode]]:
        """Applies what promises most, as long as anything promises to be no worse.

        A rewrite that changes neither measure may make room for others: it is applied where
        nothing better is possible and it leads to a new state. HloEnv calls this greedy.
        """
        path = {node: None}  # in its order
        while (child := (yield from self._next(node, path))) is not None:
            path[child] = None
            node = child
            if until(node):
                break
        return [*path][1:]

    def _next(self, node: RewriteNode, seen: Collection[RewriteNode]) -> Steps[RewriteNode | None]:
        here = node.value[0]
        for predicted, place in self._predictions(node):
            if predicted > here:
                return None
            child = yield from step(node, place)
            if child not in seen and child.value[0] <= here:
                return child
        return None

    def _predictions(self, node: RewriteNode) -> list[tuple[float, str]]:
        """Returns predicted value and place of each rewrite, best first."""
        predicted = [(self._space.expected(node, r), r.place) for r in self._space.rewrites(node)]
        return [(value[0], place) for value, place in sorted(predicted, key=lambda pair: pair[0])]


def greedy_rewrites(space: RewriteSpace, random: np.random.Generator) -> Steps[None]:
    """Follows the estimates of rewrites until none promises to be no worse."""
    return greedy_episode(space, random, Estimates(space))


def beam_4(space: RewriteSpace, random: np.random.Generator) -> Steps[bool]:
    """Keeps the best states of each depth, and applies to each the rewrites that promise most."""
    best_first = partial(sorted, key=lambda node: node.value)
    return descend(space, 4, Estimates(space).ranked, best_first, children=4)


def mcts_rewrites(
    space: RewriteSpace, random: np.random.Generator, guide: Heuristic[str] | None = None
) -> Steps[None]:
    """Searches the tree with priors and rollouts of a policy, or by the estimates of rewrites."""
    return mcts(space, random, guide or Estimates(space), max_depth=1000, tries=300)
