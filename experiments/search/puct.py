"""Monte Carlo tree search over passes or rewrites, for a single player who keeps the best state.

The tree is searched by PUCT as in AlphaZero (Silver et al. 2018, "A general reinforcement learning
algorithm that masters chess, shogi, and Go through self-play"). A heuristic gives the priors. A new
state is worth the best state of the heuristic's rollout from there on: on validation benchmarks
that was better than a policy's value head. An edge is worth the best that was ever found beyond it,
not the mean: there is no opponent, and moves are deterministic (Bjornsson and Finnsson 2009,
"CadiaPlayer", and Schadd et al. 2008, "Single-Player Monte-Carlo Tree Search", keep the best in
this way). Worths are scaled to the range that was seen, as in MuZero (Schrittwieser et
al. 2020, appendix B). Paths that meet share their node.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.search.budget import Patience
from experiments.search.state_space import Heuristic, Node, StateSpace, Steps, step

_EXPLORATION = 1.0
"""Weight of the priors against the worths found, c_puct."""


def mcts(
    space: StateSpace[Any],
    random: np.random.Generator,
    heuristic: Heuristic[Any],
    max_depth: int,
    tries: int,
) -> Steps[None]:
    """Searches the tree until the budget is spent.

    A heuristic gives priors and rollouts. A new state is at most ``max_depth`` moves from the root.
    The search also ends after so many consecutive visits without a call as ``tries``.
    """
    tree = Tree(Game(space, heuristic), max_depth)
    patience = Patience(space, tries)
    while True:
        patience.check()
        yield from tree.visit()


mcts_passes = partial(mcts, max_depth=60, tries=1000)


class Game:
    """Game of one player: a space, with the moves that a heuristic considers.

    Moves are numbered as the heuristic lists them. Worth is minus the logarithm of what the space
    minimizes.

    Args:
        space: The space.
        heuristic: Gives priors and rollouts.
    """

    def __init__(self, space: StateSpace[Any], heuristic: Heuristic[Any]) -> None:
        self.root = space.root
        """State in which every visit begins."""
        self._heuristic = heuristic
        self._best_beyond: dict[Node[Any], float] = {}
        """Best worth from a state on, for states that rollouts went through."""

    def priors(self, node: Node[Any]) -> NDArray[np.float64]:
        """Returns the probabilities of the moves that a state offers, [moves]."""
        return self._heuristic.priors(node)

    def useless(self, node: Node[Any]) -> list[int]:
        """Returns the numbers of the moves that are known to change nothing."""
        moves = self._heuristic.moves(node)
        return [n for n, move in enumerate(moves) if node.children.get(move) is node]

    def step(self, node: Node[Any], move: int) -> Steps[Node[Any]]:
        """Returns the state that a move leads to; the same one if it changes nothing."""
        return step(node, self._heuristic.moves(node)[move])

    def worth(self, node: Node[Any]) -> float:
        """Returns the worth of a state itself; more is better."""
        return -math.log(max(node.value[0], 1e-12))

    def promise(self, node: Node[Any]) -> Steps[float]:
        """Returns the best worth on the heuristic's rollout from a state."""
        path = [node]
        if node not in self._best_beyond:
            # A rollout from a state of an earlier one does the same again.
            path += yield from self._heuristic.rollout(node, self._best_beyond.__contains__)
        end = path.pop()
        best = max(self.worth(end), self._best_beyond.get(end, -math.inf))
        for before in reversed(path):
            best = max(best, self.worth(before))
            self._best_beyond[before] = best
        return best


@dataclass(frozen=True, slots=True)
class _Edges:
    """Statistics of the moves of a state, all [moves]."""

    priors: NDArray[np.float64]
    worth: NDArray[np.float64]
    """Best worth found beyond each move; the state's own promise for a move not tried, -inf for one
    that changes nothing."""
    visits: NDArray[np.int64]


class Tree:
    """Tree of the states visited, with the best worth found beyond each.

    Args:
        game: The game to search.
        max_depth: Moves from the root to a new state, at most.
    """

    def __init__(self, game: Game, max_depth: int) -> None:
        self._game, self._max_depth = game, max_depth
        self._edges: dict[Node[Any], _Edges] = {}
        self._low, self._high = math.inf, -math.inf

    def visit(self) -> Steps[None]:
        """Goes from the root to a new state, and updates the edges on the path with its worth."""
        node, path = yield from self._descend()
        worth = self._game.worth(node)
        if node not in self._edges:
            worth = yield from self._added(node)
        for edges, move in reversed(path):
            if not edges.visits[move]:
                edges.worth[move] = worth
            edges.worth[move] = max(edges.worth[move], worth)
            edges.visits[move] += 1

    def _descend(self) -> Steps[tuple[Node[Any], list[tuple[_Edges, int]]]]:
        """Returns a new state, or the end of a path that is a cycle or too deep, and its edges."""
        node, path = self._game.root, []
        seen = {node}
        while (edges := self._edges.get(node)) is not None and len(path) < self._max_depth:
            move = self._choose(edges)
            if move is None:
                break
            child = yield from self._game.step(node, move)
            if child is node:
                edges.worth[move] = -math.inf
                continue
            path.append((edges, move))
            node = child
            if node in seen:
                break
            seen.add(node)
        return node, path

    def _choose(self, edges: _Edges) -> int | None:
        """Returns the move of highest upper bound; None if all are known to change nothing."""
        if not len(edges.worth):
            return None
        span = max(self._high - self._low, 1e-9)
        total = math.sqrt(edges.visits.sum() + 1)
        explored = _EXPLORATION * edges.priors * total / (1 + edges.visits)
        # A move that changes nothing stays at -inf.
        bound = (edges.worth - self._low) / span + explored
        move = int(bound.argmax())
        return move if np.isfinite(bound[move]) else None

    def _added(self, node: Node[Any]) -> Steps[float]:
        """Adds a state to the tree; returns its worth."""
        worth = yield from self._game.promise(node)
        self._low, self._high = min(self._low, worth), max(self._high, worth)
        priors = self._game.priors(node)
        beyond = np.full(len(priors), worth)
        beyond[list(self._game.useless(node))] = -math.inf
        self._edges[node] = _Edges(priors, beyond, np.zeros(len(priors), np.int64))
        return worth
