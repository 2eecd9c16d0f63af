"""States of one benchmark in a decision process, and the moves between them, for all searches.

A search is a generator function of a space, a random generator and, if a policy guides it, the
policy's advice there. It yields moves to make in states, and is sent the states that they lead to.
``run`` asks for them as ``hlograph.decisions.searches.Search`` says, until the budget is spent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.search.budget import Budget, BudgetSpentError
from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.process import LiveModule, Process
from hlograph.decisions.searches import Search, Stepwise
from hlograph.module import Module

Move = TypeVar("Move", bound=Hashable)
"""Type of a move: the number of a pass, or the place of a rewrite."""

_INSTRUCTION_BYTES = 2048
"""Estimated memory of an instruction of a kept state, which holds two copies of its module; see
``hlograph.decisions.benchmarks.ModuleCache``."""


@dataclass(eq=False, slots=True)
class Node(Generic[Move]):
    """State of the benchmark's module; it remembers the first path that reached it."""

    fingerprint: str
    op_count: int
    value: tuple[float, ...]
    """Quantity that the search minimizes, with further measures that break ties."""
    parent: Node[Move] | None = None
    move: Move | None = None
    """Move that led here from the parent; None for the root."""
    idle: tuple[Move, ...] = ()
    """Moves that are known to change nothing before they are made."""
    children: dict[Move, Node[Move]] = field(default_factory=dict, init=False)
    """State that each known move leads to; the node itself for a move that changes nothing."""

    def path(self) -> list[Move]:
        """Returns the moves that lead here from the root."""
        moves: list[Move] = []
        node = self
        while node.parent is not None:
            assert node.move is not None
            moves.append(node.move)
            node = node.parent
        return moves[::-1]

    def no_ops(self) -> list[Move]:
        """Returns the moves that are known to change nothing here."""
        return [move for move, child in self.children.items() if child is self]


@dataclass(slots=True)
class _Kept:
    """Player in a state, which stays there, and the copy that moves are tried on."""

    player: LiveModule[Any]
    working: LiveModule[Any] | None = None


class StateSpace(ABC, Generic[Move]):
    """Transposition table of the states that moves lead to from one module.

    States are merged by fingerprint: two paths to one fingerprint lead to one node, and no move is
    made twice in a state, whichever search asks for it. The path of a node was taken step by step,
    so its result holds on a fresh module too.

    Args:
        process: The decision process.
        module: The benchmark's module; it is not changed.
        benchmark: Its name.
        budget: Counts the moves that are made.
        max_bytes: Memory for modules, by estimate. A state whose module was dropped is rebuilt by
            making its moves, and these count.
    """

    def __init__(
        self,
        process: Process[Any],
        module: Module,
        benchmark: str,
        budget: Budget,
        max_bytes: int = 1 << 30,
    ) -> None:
        self.benchmark, self.budget = benchmark, budget
        self._process, self._max_bytes, self._bytes = process, max_bytes, 0
        self._kept: OrderedDict[Node[Move], _Kept] = OrderedDict()
        self._start = process.start(NamedModule(benchmark, lambda: module))
        self.root = self._node(self._start, None, None)
        self._nodes = {self.root.fingerprint: self.root}
        self.best = self.root
        """State with the least value; of several, the one reached first."""
        self.curve: list[tuple[int, float, int]] = [(0, 0.0, self.root.op_count)]
        """Calls spent, seconds and op count at each improvement."""

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def exhausted(self) -> bool:
        """True if it is known that no move is left to make in any state."""
        return False

    @abstractmethod
    def moves(self, node: Node[Move]) -> Sequence[Move]:
        """Returns all moves that a state offers, in a fixed order."""

    def shortest(self) -> tuple[Move, ...]:
        """Returns the moves that lead to the best state."""
        return tuple(self.best.path())

    @abstractmethod
    def _name(self, move: Move) -> str:
        """Returns the name of a move in the process."""

    def named(self, moves: Iterable[Move]) -> tuple[str, ...]:
        """Returns the names of moves."""
        return tuple(map(self._name, moves))

    def module(self, node: Node[Move]) -> Module:
        """Returns the module of a state, which must not be changed; rebuilds a dropped one."""
        return self._keep(node).player.module

    def promising(self, node: Node[Move]) -> list[Move]:
        """Returns the moves that are not known to change nothing in a state."""
        return [move for move in self.moves(node) if node.children.get(move) is not node]

    def step(self, node: Node[Move], move: Move) -> Node[Move]:
        """Returns the state that a move leads to: the same one if it changes nothing or fails.

        Costs a call unless the move was made in this state before.

        Raises:
            BudgetSpentError: It would cost a call, and there is none left.
        """
        reached = node.children.get(move)
        if reached is not None:
            return reached
        node.children[move] = child = self._apply(node, move)
        if child.value < self.best.value:
            self.best = child
            self.curve.append((self.budget.calls, self.budget.seconds, child.op_count))
        return child

    def follow(self, node: Node[Move], moves: Iterable[Move]) -> Node[Move]:
        """Returns the state that several moves lead to, one after the other."""
        for move in moves:
            node = self.step(node, move)
        return node

    def _apply(self, node: Node[Move], move: Move) -> Node[Move]:
        """Makes a move that was not made in this state before; counts it against the budget."""
        if self._name(move) in self._process.quarantine.passes_at(node.fingerprint):
            return node
        kept = self._keep(node)
        self.budget.spend()
        working, kept.working = kept.working or kept.player.copy(), None
        before = working.state
        step = self._process.take(working, self._name(move))
        if not step.changed:
            # A pass that reports a change may have reordered computations, and one that fails has
            # its module built again from its last state: no later state may depend on that.
            if step.state is before and step.error is None:
                kept.working = working
            return node
        reached = self._nodes.get(working.state.fingerprint)
        if reached is not None:
            return reached
        child = self._nodes[working.state.fingerprint] = self._node(working, node, move)
        self._put(child, working)
        return child

    def _value(self, player: LiveModule[Any]) -> tuple[float, ...]:
        """Returns what the search minimizes, with further measures that break ties."""
        return (self._process.size(player.state),)

    def _node(
        self, player: LiveModule[Any], parent: Node[Move] | None, move: Move | None
    ) -> Node[Move]:
        """Makes a node of the state of a player."""
        snapshot = player.state.snapshot
        value = self._value(player)
        return Node(snapshot.fingerprint, snapshot.op_count, value, parent, move)

    def _keep(self, node: Node[Move]) -> _Kept:
        """Returns the player of a state, found or rebuilt."""
        kept = self._kept.get(node)
        if kept is not None:
            self._kept.move_to_end(node)
            return kept
        if node.parent is None:
            return self._put(node, self._start)
        assert node.move is not None
        player = self._keep(node.parent).player.copy()
        self.budget.spend()
        self._process.take(player, self._name(node.move))
        return self._put(node, player)

    def _put(self, node: Node[Move], player: LiveModule[Any]) -> _Kept:
        self._kept[node] = kept = _Kept(player)
        self._bytes += _INSTRUCTION_BYTES * node.op_count
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            dropped, _ = self._kept.popitem(last=False)
            self._bytes -= _INSTRUCTION_BYTES * dropped.op_count
        return kept


Value = TypeVar("Value")
Steps = Generator[Sequence[tuple[Node[Any], Any]], list[Node[Any]], Value]
"""Generator of batches of states with moves to make there; it is sent the states after them."""


def step(node: Node[Move], move: Move) -> Steps[Node[Move]]:
    """Returns the state that a move leads to, for a search; a known one is not asked for."""
    after = node.children.get(move)
    if after is None:
        (after,) = yield [(node, move)]
    return after


def taken(space: StateSpace[Any], steps: Steps[Value]) -> Value:
    """Makes the moves of a generator in a space, and returns what it returns.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    try:
        batch = next(steps)
        while True:
            batch = steps.send([space.step(node, move) for node, move in batch])
    except StopIteration as end:
        return end.value


def run(
    space: StateSpace[Any],
    search: Steps[Any] | Search[tuple[Node[Any], Any], Node[Any]],
    most: int = 1,
) -> None:
    """Makes the moves that a search asks for, until it has no more or the budget is spent.

    The space counts the calls, and keeps the best state.

    Args:
        space: Where to make them.
        search: The search, or the generator that it is written as.
        most: Largest number of moves to ask for at once.
    """
    search = Stepwise(search) if isinstance(search, Generator) else search
    with suppress(BudgetSpentError):
        while asked := search.ask(most):
            search.tell([space.step(node, move) for node, move in asked])


class Heuristic(Protocol[Move]):
    """Advice on the states of one space: of a policy, or of estimates that moves come with."""

    def moves(self, node: Node[Move]) -> Sequence[Move]:
        """Returns the moves that it considers in a state."""
        ...

    def priors(self, node: Node[Move]) -> NDArray[np.float64]:
        """Returns the probabilities of these moves, [moves]."""
        ...

    def rollout(
        self, node: Node[Move], until: Callable[[Node[Move]], bool] = lambda node: False
    ) -> Steps[list[Node[Move]]]:
        """Follows the advice greedily from a state on, and returns the new states on the path.

        Args:
            node: The state.
            until: Function that returns True for a state at which to end.
        """
        ...
