"""States that rewrites lead to, and the rewrites between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from envs.rewards import CostDrop, ModuleState
from experiments.search.budget import Budget
from experiments.search.state_space import Node, StateSpace
from hlograph.errors import RewriteError
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite

Objective = Literal["op-count", "cost"]
"""Quantity to minimize: instructions, or XLA's cost estimate (``envs.CostDrop.seconds``)."""

_COST = CostDrop()


@dataclass(eq=False, slots=True)
class RewriteNode(Node[str]):
    """State in a space of rewrites; moves are places of rewrites."""

    module: Module
    """Module of the state, which must not be changed."""
    seconds: float
    """XLA's cost estimate."""
    rewrites: list[Rewrite] | None = field(default=None, init=False)
    """Rewrites that apply here; None until they are listed."""


class RewriteSpace(StateSpace[RewriteNode, str]):
    """States of one benchmark, and the rewrites between them.

    Modules of all states are kept, so this is for searches of a few thousand rewrites.

    Args:
        module: The benchmark's module; it is not changed.
        budget: Counts the applied rewrites.
        objective: What the search minimizes.
        rules: Names of the rules to rewrite by; empty is all.
    """

    def __init__(
        self,
        module: Module,
        budget: Budget,
        objective: Objective = "op-count",
        rules: Sequence[str] = (),
    ) -> None:
        self.objective = objective
        self._rules = list(rules) or None
        super().__init__(_node(module.clone(), module.fingerprint(), None, None), budget)

    def value(self, node: RewriteNode) -> tuple[float, ...]:
        """Returns what the search minimizes, and the other measure to break ties."""
        return self._ordered(node.op_count, node.seconds)

    def expected(self, node: RewriteNode, rewrite: Rewrite) -> tuple[float, ...]:
        """Predicts ``value`` after a rewrite from the rewrite's own estimates, without applying it.

        The prediction leaves out transcendentals, which rewrites do not estimate.
        """
        change = ModuleState(0, rewrite.flops, 0.0, rewrite.bytes_accessed)
        seconds = node.seconds + _COST.seconds(change)
        return self._ordered(node.op_count + rewrite.op_count, seconds)

    def _ordered(self, op_count: int, seconds: float) -> tuple[float, float]:
        return (op_count, seconds) if self.objective == "op-count" else (seconds, op_count)

    def rewrites(self, node: RewriteNode) -> list[Rewrite]:
        """Returns the rewrites that apply in a state.

        Raises:
            BudgetSpentError: The budget is spent.
        """
        if node.rewrites is None:
            self.budget.check()
            node.rewrites = node.module.rewrites(self._rules)
        return node.rewrites

    def moves(self, node: RewriteNode) -> Sequence[str]:
        """Returns the places of the rewrites that apply in a state; raises as ``rewrites``."""
        return [rewrite.place for rewrite in self.rewrites(node)]

    def module(self, node: RewriteNode) -> Module:
        """Returns the module of a state, which must not be changed."""
        return node.module

    def _apply(self, node: RewriteNode, move: str) -> RewriteNode:
        self.budget.spend()
        module = node.module.clone()
        try:
            module.apply(move)
        except RewriteError:
            return node
        key = module.fingerprint()
        if key not in self._nodes:
            self._nodes[key] = _node(module, key, node, move)
        return self._nodes[key]


def estimate(module: Module) -> float:
    """Returns XLA's cost estimate of a module, in seconds (``envs.CostDrop.seconds``)."""
    return _COST.seconds(ModuleState(module.op_count, *module.cost()))


def _node(
    module: Module, fingerprint: str, parent: RewriteNode | None, move: str | None
) -> RewriteNode:
    return RewriteNode(fingerprint, module.op_count, parent, move, module, estimate(module))
