"""States of one benchmark's module and the moves between them, shared by all searches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.search.budget import Budget
from hlograph.module import Module

Move = TypeVar("Move", bound=Hashable)
"""Type of a move: the number of a pass, or the place of a rewrite."""
AnyNode = TypeVar("AnyNode", bound="Node[Any]")
"""Type of the states of a space."""


@dataclass(eq=False, slots=True)
class Node(Generic[Move]):
    """State of the benchmark's module; it remembers the first path that reached it."""

    fingerprint: str
    op_count: int
    parent: Self | None
    move: Move | None
    """Move that led here from the parent; None for the root."""
    children: dict[Move, Self] = field(default_factory=dict, init=False)
    """State that each known move leads to; the node itself for a move that changes nothing."""

    def path(self) -> list[Move]:
        """Returns the moves that lead here from the root."""
        found: list[Move] = []
        node = self
        while node.parent is not None:
            assert node.move is not None
            found.append(node.move)
            node = node.parent
        return found[::-1]

    def no_ops(self) -> list[Move]:
        """Returns the moves that are known to change nothing here."""
        return [move for move, child in self.children.items() if child is self]


class StateSpace(ABC, Generic[AnyNode, Move]):
    """Transposition table of the states that moves lead to from one module.

    Two paths to the same fingerprint lead to one node, and no move is made twice in a state,
    whichever search asks for it.

    Args:
        root: State of the unchanged module.
        budget: Counts the moves that are made.
    """

    def __init__(self, root: AnyNode, budget: Budget) -> None:
        self.root, self.budget = root, budget
        self._nodes = {root.fingerprint: root}
        self.best = root
        """State with the least value; of several, the one reached first."""
        self.curve: list[tuple[int, float, int]] = [(0, 0.0, root.op_count)]
        """Calls spent, seconds and op count at each improvement."""

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def exhausted(self) -> bool:
        """True if it is known that no move is left to make in any state."""
        return False

    @abstractmethod
    def moves(self, node: AnyNode) -> Sequence[Move]:
        """Returns all moves that a state offers, in a fixed order."""

    @abstractmethod
    def value(self, node: AnyNode) -> tuple[float, ...]:
        """Returns what the search minimizes, with further measures that break ties."""

    @abstractmethod
    def module(self, node: AnyNode) -> Module:
        """Returns the module of a state, which must not be changed."""

    @abstractmethod
    def _apply(self, node: AnyNode, move: Move) -> AnyNode:
        """Makes a move that was not made in this state before; counts it against the budget."""

    def promising(self, node: AnyNode) -> list[Move]:
        """Returns the moves that are not known to change nothing in a state."""
        return [move for move in self.moves(node) if node.children.get(move) is not node]

    def step(self, node: AnyNode, move: Move) -> AnyNode:
        """Returns the state that a move leads to: the same one if it changes nothing or fails.

        Costs a call unless the move was made in this state before.

        Raises:
            BudgetSpentError: It would cost a call, and there is none left.
        """
        known = node.children.get(move)
        if known is not None:
            return known
        node.children[move] = child = self._apply(node, move)
        if self.value(child) < self.value(self.best):
            self.best = child
            self.curve.append((self.budget.calls, self.budget.seconds, child.op_count))
        return child

    def follow(self, node: AnyNode, moves: Iterable[Move]) -> AnyNode:
        """Returns the state that several moves lead to, one after the other."""
        for move in moves:
            node = self.step(node, move)
        return node


class Heuristic(Protocol[AnyNode]):
    """Advice on the states of one space: of a policy, or of estimates that moves come with."""

    def moves(self, node: AnyNode) -> Sequence[Any]:
        """Returns the moves that it considers in a state."""
        ...

    def priors(self, node: AnyNode) -> NDArray[np.float64]:
        """Returns the probabilities of these moves, [moves]."""
        ...

    def rollout(self, node: AnyNode) -> Iterator[AnyNode]:
        """Follows the advice greedily from a state on, and yields each new state on the path."""
        ...
