"""Heuristic of searches over rewrites without a policy: the estimates that rewrites come with."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.search.rewriting.space import RewriteNode, RewriteSpace

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

    def rollout(self, node: RewriteNode) -> Iterator[RewriteNode]:
        """Applies what promises most, as long as anything promises to be no worse.

        A rewrite that changes neither measure may make room for others: it is applied where
        nothing better is offered and it leads to a new state. HloEnv calls this greedy.
        """
        seen = {node}
        while (child := self._next(node, seen)) is not None:
            seen.add(child)
            yield child
            node = child

    def _next(self, node: RewriteNode, seen: Collection[RewriteNode]) -> RewriteNode | None:
        here = node.value[0]
        for predicted, place in self._predictions(node):
            if predicted > here:
                return None
            child = self._space.step(node, place)
            if child not in seen and child.value[0] <= here:
                return child
        return None

    def _predictions(self, node: RewriteNode) -> list[tuple[float, str]]:
        """Returns predicted value and place of each rewrite, best first."""
        found = [(self._space.expected(node, r), r.place) for r in self._space.rewrites(node)]
        return [(value[0], place) for value, place in sorted(found, key=lambda pair: pair[0])]
