"""The states that rewrites lead to: what every search over rewrites moves in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from envs.rewards import CostDrop, ModuleState
from experiments.search.budget import Budget
from hlograph.errors import RewriteError
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite

Objective = Literal["op-count", "cost"]
"""What is to become small: instructions, or XLA's cost estimate (``envs.CostDrop.seconds``)."""

_COST = CostDrop()


@dataclass(eq=False, slots=True)
class Node:
    """One state of a benchmark's module, as it was first come to."""

    module: Module
    """Not to be changed."""
    op_count: int
    seconds: float
    """XLA's cost estimate."""
    parent: Node | None
    place: str | None
    """Place of the rewrite that led here from the parent."""
    rewrites: list[Rewrite] | None = None
    """What applies here; None until asked for."""
    children: dict[str, Node | None] = field(default_factory=dict)
    """By place; None for a rewrite that failed."""

    def places(self) -> tuple[str, ...]:
        """Places of the rewrites that lead here from the start."""
        found = []
        node = self
        while node.parent is not None:
            assert node.place is not None
            found.append(node.place)
            node = node.parent
        return tuple(found[::-1])


class RewriteSpace:
    """States of one benchmark, and the rewrites between them: a transposition table.

    Two ways to the same fingerprint lead to one node, and no rewrite is applied twice in a state.
    Modules of all nodes are kept, so this is for searches of a few thousand rewrites.

    Args:
        module: The benchmark's module; it is not changed.
        budget: What applied rewrites are counted against.
        objective: What is to become small.
        rules: Names of the rules to rewrite by; empty is all.
    """

    def __init__(
        self,
        module: Module,
        budget: Budget,
        objective: Objective = "op-count",
        rules: Sequence[str] = (),
    ) -> None:
        self.budget, self.objective = budget, objective
        self._rules = list(rules) or None
        self.root = _node(module.clone(), None, None)
        self._nodes = {module.fingerprint(): self.root}
        self.best = self.root
        """Of the best states the one first come to."""
        self.curve: list[tuple[int, float, int]] = [(0, 0.0, self.root.op_count)]
        """Rewrites applied, seconds and op count at each improvement."""

    def __len__(self) -> int:
        return len(self._nodes)

    def worth(self, node: Node) -> tuple[float, float]:
        """What is to become small, and the other measure to break ties."""
        return self._ordered(node.op_count, node.seconds)

    def expected(self, node: Node, rewrite: Rewrite) -> tuple[float, float]:
        """``worth`` of what a rewrite leads to, by what it says of itself: it is not applied.

        Transcendentals are not in it, for a rewrite does not tell of them.
        """
        change = ModuleState(0, rewrite.flops, 0.0, rewrite.bytes_accessed)
        seconds = node.seconds + _COST.seconds(change)
        return self._ordered(node.op_count + rewrite.op_count, seconds)

    def _ordered(self, op_count: int, seconds: float) -> tuple[float, float]:
        return (op_count, seconds) if self.objective == "op-count" else (seconds, op_count)

    def rewrites(self, node: Node) -> list[Rewrite]:
        """What applies in a state.

        Raises:
            BudgetSpentError: The budget is spent.
        """
        if node.rewrites is None:
            self.budget.check()
            node.rewrites = node.module.rewrites(self._rules)
        return node.rewrites

    def step(self, node: Node, place: str) -> Node | None:
        """The state that a rewrite leads to; None if it fails. Costs one unless applied before.

        Args:
            node: The state.
            place: Place of the rewrite.

        Raises:
            BudgetSpentError: It would cost one, and there is none left.
        """
        if place not in node.children:
            self.budget.spend()
            node.children[place] = self._apply(node, place)
        return node.children[place]

    def _apply(self, node: Node, place: str) -> Node | None:
        module = node.module.clone()
        try:
            module.apply(place)
        except RewriteError:
            return None
        key = module.fingerprint()
        child = self._nodes.get(key)
        if child is None:
            child = self._nodes[key] = _node(module, node, place)
            if self.worth(child) < self.worth(self.best):
                self.best = child
                self.curve.append((self.budget.calls, self.budget.seconds, child.op_count))
        return child


def estimate(module: Module) -> float:
    """XLA's cost estimate of a module, in seconds (``envs.CostDrop.seconds``)."""
    return _COST.seconds(ModuleState(module.op_count, *module.cost()))


def _node(module: Module, parent: Node | None, place: str | None) -> Node:
    return Node(module, module.op_count, estimate(module), parent, place)
