"""States that orders of passes lead to, and the passes between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.search.budget import Budget
from experiments.search.state_space import Node, StateSpace
from hlograph.decisions.passes import PassProcess
from hlograph.decisions.process import LiveModule
from hlograph.errors import PassError
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.module import Module
from hlograph.transforms.registry import passes

PassNode = Node[int]
"""State in a space of passes; moves are numbers of passes in the registry."""


class PassSpace(StateSpace[int]):
    """States of one benchmark, and the passes of the registry between them.

    No pass is called in a state without any of the opcodes that it acts on.

    Args:
        module: The benchmark's module; it is not changed.
        benchmark: Its name.
        budget: Counts the pass calls.
        max_bytes: See ``StateSpace``.
        quarantine: States and passes that are not to be tried.
        recorder: Where each pass is noted before it runs.
    """

    def __init__(
        self,
        module: Module,
        benchmark: str,
        budget: Budget,
        max_bytes: int = 1 << 30,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        self._root_module = module
        self._called = np.zeros(len(passes), np.int64)
        self._changed = np.zeros(len(passes), np.int64)
        process = PassProcess(quarantine=quarantine, recorder=recorder)
        super().__init__(process, module, benchmark, budget, max_bytes)

    def moves(self, node: PassNode) -> Sequence[int]:
        """Returns the numbers of all passes."""
        return range(len(passes))

    @property
    def exhausted(self) -> bool:
        """True if every pass was called in every state, or is known to be idle there."""
        return int(self._called.sum()) == len(self) * len(passes)

    def uses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns in how many states each pass is known, and in how many it changes something.

        Both are int64 [passes].
        """
        return self._called.copy(), self._changed.copy()

    def shortest(self) -> tuple[int, ...]:
        """Returns the fewest passes that are known to lead to the least op count; costs no call.

        The table may know a shorter path to a state than the one that reached it first, made of
        steps of several paths. A fingerprint does not tell the order of computations, on which a
        pass may depend: the shorter path is run once on a fresh module, and counts if it leads to
        the same op count.
        """
        actions = self._shortcut()
        if self.fresh_op_count(actions) == self.best.op_count:
            return actions
        return tuple(self.best.path())

    def fresh_op_count(self, actions: Iterable[int]) -> int:
        """Runs passes on a fresh module, up to one that fails; costs no call."""
        module = self._root_module.clone()
        with suppress(PassError):
            for action in actions:
                module.run(passes[action])
        return module.op_count

    def _shortcut(self) -> tuple[int, ...]:
        """Finds the first state with the least op count, breadth first from the root."""
        paths: dict[PassNode, tuple[int, ...]] = {self.root: ()}
        queue = deque(paths)
        while queue:
            node = queue.popleft()
            if node.op_count == self.best.op_count:
                return paths[node]
            for action, child in node.children.items():
                if child not in paths:
                    paths[child] = (*paths[node], action)
                    queue.append(child)
        raise AssertionError("the best state is in the table")

    def _name(self, move: int) -> str:
        return passes[move].name

    def _apply(self, node: PassNode, move: int) -> PassNode:
        child = super()._apply(node, move)
        self._called[move] += 1
        self._changed[move] += child is not node
        return child

    def _node(self, player: LiveModule[Any], parent: PassNode | None, move: int | None) -> PassNode:
        """Makes a state; passes that find nothing to act on are known to change nothing there."""
        node = super()._node(player, parent, move)
        idle = np.flatnonzero(~passes.may_act(player.state.snapshot.op_counts))
        node.idle = tuple(idle.tolist())
        node.children.update(dict.fromkeys(node.idle, node))
        self._called[idle] += 1
        return node
