"""States that rewrites lead to, and the rewrites between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from envs.rewards import CostDrop, ModuleState
from experiments.search.budget import Budget
from experiments.search.state_space import Node, StateSpace
from hlograph.decisions.process import LiveModule
from hlograph.decisions.rewrites import RewriteProcess
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import rules as every_rule

Objective = Literal["op-count", "cost", "seconds"]
"""Quantity to minimize: instructions, XLA's cost estimate (``envs.CostDrop.seconds``), or the
predicted run time (``Module.seconds``)."""

_COST = CostDrop()


RewriteNode = Node[str]
"""State in a space of rewrites; moves are places of rewrites."""

_ALL = 1 << 30  # bytes, or actions: modules of all states are kept, and all rewrites are offered


class RewriteSpace(StateSpace[str]):
    """States of one benchmark, and the rewrites between them.

    Modules of all states are kept, so this is for searches of a few thousand rewrites.

    Args:
        module: The benchmark's module; it is not changed.
        budget: Counts the applied rewrites.
        objective: What the search minimizes.
        rules: Names of the rules to rewrite by; empty is ``hlograph.rules.general``, with
            ``hlograph.rules.for_time`` if seconds are minimized.
    """

    _process: RewriteProcess

    def __init__(
        self,
        module: Module,
        budget: Budget,
        objective: Objective = "op-count",
        rules: Sequence[str] = (),
    ) -> None:
        self.objective = objective
        chosen = tuple(every_rule[name] for name in rules) or every_rule.general
        if objective == "seconds" and not rules:
            chosen = (*every_rule.general, *every_rule.for_time)
        process = RewriteProcess(chosen, limit=_ALL, lists_late=True)
        super().__init__(process, module, module.name, budget, max_bytes=_ALL << 20)

    def seconds(self, node: RewriteNode) -> float:
        """Returns XLA's cost estimate of a state; the predicted run time if that is minimized."""
        return node.value[1] if self.objective == "op-count" else node.value[0]

    def expected(self, node: RewriteNode, rewrite: Rewrite) -> tuple[float, ...]:
        """Predicts the value after a rewrite from the rewrite's own estimates, without applying it.

        The prediction leaves out transcendentals, which rewrites do not estimate.
        """
        if self.objective == "seconds":
            change = rewrite.seconds
        else:
            change = _COST.seconds(ModuleState(0, rewrite.flops, 0.0, rewrite.bytes_accessed))
        return self._ordered(node.op_count + rewrite.op_count, self.seconds(node) + change)

    def rewrites(self, node: RewriteNode) -> list[Rewrite]:
        """Returns the rewrites that apply in a state.

        Raises:
            BudgetSpentError: The budget is spent.
        """
        player = self._keep(node).player
        if player.state.found is None:
            self.budget.check()
        return self._process.rewrites(player)

    def moves(self, node: RewriteNode) -> Sequence[str]:
        """Returns the places of the rewrites that apply in a state; raises as ``rewrites``."""
        return [rewrite.place for rewrite in self.rewrites(node)]

    def _name(self, move: str) -> str:
        return move

    def _value(self, player: LiveModule[Any]) -> tuple[float, ...]:
        module = player.module
        seconds = module.seconds() if self.objective == "seconds" else estimate(module)
        return self._ordered(module.op_count, seconds)

    def _ordered(self, op_count: int, seconds: float) -> tuple[float, float]:
        return (op_count, seconds) if self.objective == "op-count" else (seconds, op_count)


def estimate(module: Module) -> float:
    """Returns XLA's cost estimate of a module, in seconds (``envs.CostDrop.seconds``)."""
    return _COST.seconds(ModuleState(module.op_count, *module.cost()))
