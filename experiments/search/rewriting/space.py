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
from hlograph.transforms.rules import rules as known

Objective = Literal["op-count", "cost", "seconds"]
"""Quantity to minimize: instructions, XLA's cost estimate (``envs.CostDrop.seconds``), or the
predicted run time (``Module.seconds``)."""

_COST = CostDrop()


@dataclass(eq=False, slots=True)
class RewriteNode(Node[str]):
    """State in a space of rewrites; moves are places of rewrites."""

    module: Module
    """Module of the state, which must not be changed."""
    seconds: float
    """XLA's cost estimate; the predicted run time if this is the objective."""
    rewrites: list[Rewrite] | None = field(default=None, init=False)
    """Rewrites that apply here; None until they are listed."""


class RewriteSpace(StateSpace[RewriteNode, str]):
    """States of one benchmark, and the rewrites between them.

    Modules of all states are kept, so this is for searches of a few thousand rewrites.

    Args:
        module: The benchmark's module; it is not changed.
        budget: Counts the applied rewrites.
        objective: What the search minimizes.
        rules: Names of the rules to rewrite by; empty is ``hlograph.rules.general``, with
            ``hlograph.rules.for_time`` if seconds are minimized.
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
        if objective == "seconds" and not rules:
            self._rules = [rule.name for rule in (*known.general, *known.for_time)]
        super().__init__(self._node(module.clone(), module.fingerprint(), None, None), budget)

    def value(self, node: RewriteNode) -> tuple[float, ...]:
        """Returns what the search minimizes, and the other measure to break ties."""
        return self._ordered(node.op_count, node.seconds)

    def expected(self, node: RewriteNode, rewrite: Rewrite) -> tuple[float, ...]:
        """Predicts ``value`` after a rewrite from the rewrite's own estimates, without applying it.

        The prediction leaves out transcendentals, which rewrites do not estimate.
        """
        if self.objective == "seconds":
            change = rewrite.seconds
        else:
            change = _COST.seconds(ModuleState(0, rewrite.flops, 0.0, rewrite.bytes_accessed))
        return self._ordered(node.op_count + rewrite.op_count, node.seconds + change)

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
            self._nodes[key] = self._node(module, key, node, move)
        return self._nodes[key]

    def _node(
        self, module: Module, fingerprint: str, parent: RewriteNode | None, move: str | None
    ) -> RewriteNode:
        seconds = module.seconds() if self.objective == "seconds" else estimate(module)
        return RewriteNode(fingerprint, module.op_count, parent, move, module, seconds)


def estimate(module: Module) -> float:
    """Returns XLA's cost estimate of a module, in seconds (``envs.CostDrop.seconds``)."""
    return _COST.seconds(ModuleState(module.op_count, *module.cost()))
