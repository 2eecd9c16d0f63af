"""Monte Carlo tree search for one player who keeps the best, whatever it moves in.

What is tried follows PUCT as in AlphaZero (Silver et al. 2018, "A general reinforcement learning
algorithm that masters chess, shogi, and Go through self-play"). A new state is worth what a default
policy, played from there on, comes to. An edge is worth the best that was ever found beyond it,
not the mean, for nobody plays against us and every move does the same each time (Bjornsson and
Finnsson 2009, "CadiaPlayer", and Schadd et al. 2008, "Single-Player Monte-Carlo Tree Search", keep
the best in this way). Worths are scaled to the range that was seen, as in MuZero (Schrittwieser et
al. 2020, appendix B). Ways that meet share their node.
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

N = TypeVar("N", bound=Hashable)
"""A state."""

_EXPLORATION = 1.0
"""c_puct: how much the priors weigh against what was found."""


class Game(Protocol[N]):
    """What is searched."""

    @property
    def root(self) -> N:
        """Where every visit begins."""
        ...

    def priors(self, node: N) -> NDArray[np.float64]:
        """Probabilities of the moves that a state offers, [moves]."""
        ...

    def useless(self, node: N) -> Iterable[int]:
        """Numbers of the moves that are known to lead nowhere else."""
        ...

    def step(self, node: N, move: int) -> N:
        """The state that a move leads to; the same one if it changes nothing."""
        ...

    def worth(self, node: N) -> float:
        """What a state itself is worth; more is better."""
        ...

    def promise(self, node: N) -> float:
        """The best worth that the default policy comes to from a state on."""
        ...


@dataclass(frozen=True, slots=True)
class _Edges:
    """What the search knows of a state and the moves that lead on from it, all [moves]."""

    priors: NDArray[np.float64]
    worth: NDArray[np.float64]
    """The best found beyond each; for one not tried, what the state itself promises; -inf for one
    that changes nothing."""
    visits: NDArray[np.int64]


class Tree(Generic[N]):
    """States visited, and what was found beyond each.

    Args:
        game: What is searched.
        deepest: Moves from the start to a new state, at most.
    """

    def __init__(self, game: Game[N], deepest: int) -> None:
        self._game, self._deepest = game, deepest
        self._edges: dict[N, _Edges] = {}
        self._low, self._high = math.inf, -math.inf

    def visit(self) -> None:
        """Goes from the start to a new state, and tells all on the way what it is worth."""
        node, way = self._descend()
        worth = self._added(node) if node not in self._edges else self._game.worth(node)
        for edges, move in reversed(way):
            if not edges.visits[move]:
                edges.worth[move] = worth
            edges.worth[move] = max(edges.worth[move], worth)
            edges.visits[move] += 1

    def _descend(self) -> tuple[N, list[tuple[_Edges, int]]]:
        """A state that is new, or the end of a way that goes in a circle or too deep."""
        node, way = self._game.root, []
        seen = {node}
        while (edges := self._edges.get(node)) is not None and len(way) < self._deepest:
            move = self._choose(edges)
            if move is None:
                break
            child = self._game.step(node, move)
            if child is node:
                edges.worth[move] = -math.inf
                continue
            way.append((edges, move))
            node = child
            if node in seen:
                break
            seen.add(node)
        return node, way

    def _choose(self, edges: _Edges) -> int | None:
        """The move of highest upper bound; None if all are known to change nothing."""
        if not len(edges.worth):
            return None
        span = max(self._high - self._low, 1e-9)
        total = math.sqrt(edges.visits.sum() + 1)
        explored = _EXPLORATION * edges.priors * total / (1 + edges.visits)
        # What changes nothing stays at -inf.
        bound = (edges.worth - self._low) / span + explored
        move = int(bound.argmax())
        return move if np.isfinite(bound[move]) else None

    def _added(self, node: N) -> float:
        """Adds a state to the tree; returns what it is worth."""
        worth = self._game.promise(node)
        self._low, self._high = min(self._low, worth), max(self._high, worth)
        priors = self._game.priors(node)
        beyond = np.full(len(priors), worth)
        beyond[list(self._game.useless(node))] = -math.inf
        self._edges[node] = _Edges(priors, beyond, np.zeros(len(priors), np.int64))
        return worth
