"""States that orders of passes lead to, and the passes between them."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.search.budget import Budget
from experiments.search.state_space import Node, StateSpace
from hlograph.errors import PassError
from hlograph.inspection.module_view import Snapshot
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.isolation.pass_call import note
from hlograph.module import Module
from hlograph.transforms.registry import Pass, passes

_INSTRUCTION_BYTES = 2048
"""Estimated memory of an instruction of a kept state, which holds two copies of its module; see
``hlograph.decisions.benchmarks``."""


@dataclass(eq=False, slots=True)
class PassNode(Node[int]):
    """State in a space of passes; moves are numbers of passes in the registry."""

    idle: tuple[int, ...]
    """Numbers of the passes that find no opcode here that they act on."""


class PassSpace(StateSpace[PassNode, int]):
    """States of one benchmark, and the passes of the registry between them.

    No pass is called in a state without any of the opcodes that it acts on. The path of a node was
    run step by step, so its result holds on a fresh module too.

    Args:
        module: The benchmark's module; it is not changed.
        benchmark: Its name.
        budget: Counts the pass calls.
        max_bytes: Memory for modules, by estimate. A state whose module was dropped is rebuilt by
            calling its passes, and these calls count.
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
        self.benchmark = benchmark
        self._quarantine = quarantine or Quarantine()
        self._recorder = recorder
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[PassNode, _Kept] = OrderedDict()
        self._root_module = module
        self._called = np.zeros(len(passes), np.int64)
        self._changed = np.zeros(len(passes), np.int64)
        super().__init__(self._node(module.snapshot(), None, None), budget)

    def named(self, actions: Iterable[int]) -> tuple[str, ...]:
        """Returns the names of passes."""
        return tuple(passes[action].name for action in actions)

    def moves(self, node: PassNode) -> Sequence[int]:
        """Returns the numbers of all passes."""
        return range(len(passes))

    def value(self, node: PassNode) -> tuple[float, ...]:
        """Returns the op count."""
        return (node.op_count,)

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

    def module(self, node: PassNode) -> Module:
        """Returns the module of a state, which must not be changed; rebuilds a dropped one."""
        return self._keep(node).module

    def _apply(self, node: PassNode, move: int) -> PassNode:
        child = self._call(node, move)
        self._called[move] += 1
        self._changed[move] += child is not node
        return child

    def _call(self, node: PassNode, action: int) -> PassNode:
        entry = passes[action]
        if entry.name in self._quarantine.passes_at(node.fingerprint):
            return node
        kept = self._keep(node)
        self.budget.spend()
        module = kept.working or kept.module.clone()
        kept.working = None
        reported, snapshot = self._run(module, entry, node)
        if snapshot is None:
            # A pass that reports a change may have reordered computations: no later state may
            # depend on that.
            kept.working = None if reported else module
            return node
        known = self._nodes.get(snapshot.fingerprint)
        if known is not None:
            return known
        child = self._nodes[snapshot.fingerprint] = self._node(snapshot, node, action)
        self._put(child, module)
        return child

    def _node(self, snapshot: Snapshot, parent: PassNode | None, action: int | None) -> PassNode:
        """Makes a state; passes that find nothing to act on are known to change nothing there."""
        idle = np.flatnonzero(~passes.may_act(snapshot.op_counts))
        numbers = tuple(idle.tolist())
        node = PassNode(snapshot.fingerprint, snapshot.op_count, parent, action, numbers)
        node.children.update(dict.fromkeys(node.idle, node))
        self._called[idle] += 1
        return node

    def _run(self, module: Module, entry: Pass, node: PassNode) -> tuple[bool, Snapshot | None]:
        """Runs a pass; returns True if it reports a change, and the new state if there is one."""
        if self._recorder is not None:
            applied = self.named(node.path())
            self._recorder.begin(note(entry.name, node.fingerprint, self.benchmark, applied))
        try:
            result = module.run_with_snapshot(entry)
            return result.reported, result.snapshot
        except PassError:
            # The module was built again from its last state.
            return True, None
        finally:
            if self._recorder is not None:
                self._recorder.end()

    def _keep(self, node: PassNode) -> _Kept:
        """Returns the module of a state, found or rebuilt."""
        kept = self._kept.get(node)
        if kept is not None:
            self._kept.move_to_end(node)
            return kept
        if node.parent is None:
            return self._put(node, self._root_module)
        assert node.move is not None
        module = self._keep(node.parent).module.clone()
        self.budget.spend()
        self._run(module, passes[node.move], node.parent)
        return self._put(node, module)

    def _put(self, node: PassNode, module: Module) -> _Kept:
        self._kept[node] = kept = _Kept(module)
        self._bytes += _INSTRUCTION_BYTES * node.op_count
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            dropped, _ = self._kept.popitem(last=False)
            self._bytes -= _INSTRUCTION_BYTES * dropped.op_count
        return kept


@dataclass(slots=True)
class _Kept:
    """Module of a state, and the copy that passes are tried on."""

    module: Module
    working: Module | None = None
