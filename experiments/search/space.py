"""The states that orders of passes lead to: what every search moves in."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from experiments.search.budget import Budget
from hlograph.errors import PassError
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.isolation.pass_call import note
from hlograph.module import Module, Snapshot
from hlograph.transforms.registry import Pass, passes

_INSTRUCTION_BYTES = 2048
"""Of a kept state, whose module is held twice; see ``envs.module_cache``."""


@dataclass(eq=False, slots=True)
class Node:
    """One state of the benchmark's module, as it was first come to."""

    fingerprint: str
    op_count: int
    parent: Node | None
    action: int | None
    """Number of the pass that led here from the parent."""
    idle: tuple[int, ...]
    """Numbers of the passes that find no opcode here that they act on."""
    children: dict[int, Node] = field(default_factory=dict)
    """By number of the pass; the node itself for one that changes nothing."""

    def actions(self) -> list[int]:
        """Numbers of the passes that lead here from the start."""
        found = []
        node = self
        while node.parent is not None:
            assert node.action is not None
            found.append(node.action)
            node = node.parent
        return found[::-1]


class SearchSpace:
    """States of one benchmark, and the passes between them: a transposition table.

    Two orders that lead to the same fingerprint lead to one node, and no pass is called twice in
    a state, or in one without any of the opcodes that it acts on, whichever method asks. A node's
    own way from the start was really gone, step by step, so what it says holds on a fresh module
    too.

    Args:
        module: The benchmark's module; it is not changed.
        benchmark: Its name.
        budget: What calls are counted against.
        actions: The passes to choose from; None is all.
        max_bytes: Memory for modules, by estimate. A state whose module was dropped is come to
            again by calling its passes, and these calls count.
        quarantine: States and passes that are not to be tried.
        recorder: Where each pass is noted before it runs.
    """

    def __init__(
        self,
        module: Module,
        benchmark: str,
        budget: Budget,
        actions: Sequence[Pass] | None = None,
        max_bytes: int = 1 << 30,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        self.benchmark, self.budget = benchmark, budget
        self.passes = tuple(passes if actions is None else actions)
        self._numbers = {entry: number for number, entry in enumerate(self.passes)}
        self._indices = [entry.index for entry in self.passes]
        self._quarantine = quarantine or Quarantine()
        self._recorder = recorder
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Node, _Kept] = OrderedDict()
        start = module.snapshot()
        self._root_module = module
        self._nodes: dict[str, Node] = {}
        self._called = np.zeros(len(self.passes), np.int64)
        self._changed = np.zeros(len(self.passes), np.int64)
        self.root = self._arrive(start, None, None)
        self.best = self.root
        """Of the states with the least op count the one first come to."""
        self.curve: list[tuple[int, float, int]] = [(0, 0.0, start.op_count)]
        """Pass calls, seconds and op count at each improvement."""

    def __len__(self) -> int:
        return len(self._nodes)

    def number(self, entry: Pass) -> int | None:
        """Number of a pass here; None if it is not to choose from."""
        return self._numbers.get(entry)

    def names(self, node: Node) -> tuple[str, ...]:
        """Names of the passes that lead to a node from the start."""
        return self.named(node.actions())

    def named(self, actions: Iterable[int]) -> tuple[str, ...]:
        """Names of passes."""
        return tuple(self.passes[action].name for action in actions)

    def follow(self, node: Node, actions: Iterable[int]) -> Node:
        """The state that several passes lead to, one after the other."""
        for action in actions:
            node = self.step(node, action)
        return node

    def step(self, node: Node, action: int) -> Node:
        """The state that a pass leads to; the same one if it changes nothing or fails.

        Costs a pass call unless it was asked before.

        Raises:
            BudgetSpentError: It would cost one, and there is none left.
        """
        known = node.children.get(action)
        if known is not None:
            return known
        node.children[action] = child = self._call(node, action)
        self._called[action] += 1
        self._changed[action] += child is not node
        if child.op_count < self.best.op_count:
            self.best = child
            self.curve.append((self.budget.calls, self.budget.seconds, child.op_count))
        return child

    @property
    def exhausted(self) -> bool:
        """Whether it is known of every pass what it does in every state."""
        return int(self._called.sum()) == len(self._nodes) * len(self.passes)

    def promising(self, node: Node) -> list[int]:
        """Passes not known to change nothing in a state."""
        return [a for a in range(len(self.passes)) if node.children.get(a) is not node]

    def uses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """States of which is known what each pass does, and those that it changes, [passes]."""
        return self._called.copy(), self._changed.copy()

    def shortest(self) -> tuple[int, ...]:
        """The fewest passes that are known to lead to the least op count; costs no call.

        The table may know a shorter way to a state than the one that was gone first, made of
        steps of several ways. A fingerprint says nothing of the order of computations, which a
        pass may go by: the shorter way is gone once on a fresh module, and counts if it arrives.
        """
        actions = self._shortcut()
        module = self._root_module.clone()
        for action in actions:
            try:
                module.run(self.passes[action])
            except PassError:
                break
        if module.op_count == self.best.op_count:
            return actions
        return tuple(self.best.actions())

    def _shortcut(self) -> tuple[int, ...]:
        """Breadth first from the start to the first state with the least op count."""
        ways: dict[Node, tuple[int, ...]] = {self.root: ()}
        queue = deque(ways)
        while queue:
            node = queue.popleft()
            if node.op_count == self.best.op_count:
                return ways[node]
            for action, child in node.children.items():
                if child not in ways:
                    ways[child] = (*ways[node], action)
                    queue.append(child)
        raise AssertionError("the best state is in the table")

    def module(self, node: Node) -> Module:
        """The module in a state, not to be changed."""
        return self._keep(node).module

    def _call(self, node: Node, action: int) -> Node:
        entry = self.passes[action]
        if entry.name in self._quarantine.passes_at(node.fingerprint):
            return node
        kept = self._keep(node)
        self.budget.spend()
        module = kept.working or kept.module.clone()
        kept.working = None
        reported, snapshot = self._run(module, entry, node)
        if snapshot is None:
            # What calls it a change may have put computations in another order: no state that is
            # come to later may owe anything to that.
            kept.working = None if reported else module
            return node
        known = self._nodes.get(snapshot.fingerprint)
        if known is not None:
            return known
        child = self._arrive(snapshot, node, action)
        self._put(child, module)
        return child

    def _arrive(self, snapshot: Snapshot, parent: Node | None, action: int | None) -> Node:
        """Adds a state; passes that find nothing to act on are known to change nothing there."""
        idle = np.flatnonzero(~passes.may_act(snapshot.op_counts)[self._indices])
        node = Node(snapshot.fingerprint, snapshot.op_count, parent, action, tuple(idle.tolist()))
        node.children.update(dict.fromkeys(node.idle, node))
        self._called[idle] += 1
        self._nodes[node.fingerprint] = node
        return node

    def _run(self, module: Module, entry: Pass, node: Node) -> tuple[bool, Snapshot | None]:
        """Whether a pass says that it changed the module, and what is there if it did."""
        if self._recorder is not None:
            applied = self.names(node)
            self._recorder.begin(note(entry.name, node.fingerprint, self.benchmark, applied))
        try:
            result = module.run_and_look(entry)
            return result.reported, result.snapshot
        except PassError:
            # The module was built again from its last state.
            return True, None
        finally:
            if self._recorder is not None:
                self._recorder.end()

    def _keep(self, node: Node) -> _Kept:
        """The module of a node, found or made again."""
        kept = self._kept.get(node)
        if kept is not None:
            self._kept.move_to_end(node)
            return kept
        if node.parent is None:
            return self._put(node, self._root_module)
        assert node.action is not None
        module = self._keep(node.parent).module.clone()
        self.budget.spend()
        self._run(module, self.passes[node.action], node.parent)
        return self._put(node, module)

    def _put(self, node: Node, module: Module) -> _Kept:
        self._kept[node] = kept = _Kept(module)
        self._bytes += _INSTRUCTION_BYTES * node.op_count
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            dropped, _ = self._kept.popitem(last=False)
            self._bytes -= _INSTRUCTION_BYTES * dropped.op_count
        return kept


@dataclass(slots=True)
class _Kept:
    """A state's module, and the copy that passes are tried on."""

    module: Module
    working: Module | None = None
