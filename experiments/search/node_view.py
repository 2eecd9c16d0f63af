"""Observations of the states of a search, as an environment would make them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.rewards import ModuleState, cost_changes
from experiments.policies.kind import PolicyInput
from experiments.policies.pass_ordering import state_of
from experiments.search.space import PassNode, PassSpace
from hlograph.transforms.registry import passes


class NodeView:
    """Shows the states of one search to a policy, with masks from the search's table.

    A search has the passes of the registry as moves, by their numbers there. A policy has numbers
    of its own for the passes that it knows, and for stopping.

    Args:
        space: Where the states are.
        known: Names of the passes that the policy knows, in the order of its actions.
        observation: Kind of observation.
        costs: True if states show how flops and transcendentals changed.
        measure_costs: True if ``measure`` gives costs even without ``costs``, for a reward that
            needs them. XLA's cost analysis takes about as long as a pass.
    """

    def __init__(
        self,
        space: PassSpace,
        known: Sequence[str],
        observation: ObservationKind,
        *,
        costs: bool = False,
        measure_costs: bool = False,
    ) -> None:
        self.space = space
        """Space of the states."""
        self.moves = [passes.index(name) for name in known]
        """Numbers in the registry of the passes that the policy knows, in the order of its
        actions."""
        self._actions = {move: action for action, move in enumerate(self.moves)}
        self._observation: Observation = OBSERVATIONS[observation](len(known) + 1)
        self._shows_graph = observation == "graph"
        self._costs, self._measure_costs = costs, costs or measure_costs
        self._measured: dict[PassNode, ModuleState] = {}
        self._last: tuple[PassNode, Any] | None = None

    def order(self, names: Iterable[str]) -> list[int]:
        """Returns the moves of an order of passes, without those that the policy does not know."""
        known = {passes[move].name: move for move in self.moves}
        return [known[name] for name in names if name in known]

    def action(self, move: int | None) -> int:
        """Returns the policy's number of a move; None is to stop."""
        return len(self.moves) if move is None else self._actions[move]

    def move(self, action: int) -> int | None:
        """Returns the move of an action; None if it is to stop."""
        return self.moves[action] if action < len(self.moves) else None

    def state(self, node: PassNode, masked: Iterable[int] | None = None) -> PolicyInput:
        """Returns the observation of a state.

        Args:
            node: The state.
            masked: Moves to mask, besides those that find nothing to act on; None
                masks all that the table knows to change nothing there.
        """
        seen = self._seen(node)
        return self._state(node, masked, seen[0] if self._shows_graph else seen)

    def context(
        self, node: PassNode, masked: Iterable[int] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns context and mask of ``state`` alone, for a state that was encoded before."""
        state = self._state(node, masked, None)
        return state.context, state.mask

    def measure(self, node: PassNode) -> ModuleState:
        """Returns what rewards depend on: the op count, and the costs if the view has them."""
        if not self._measure_costs:
            return ModuleState(node.op_count)
        if node not in self._measured:
            cost = self.space.module(node).cost()
            self._measured[node] = ModuleState(node.op_count, *cost)
        return self._measured[node]

    def _seen(self, node: PassNode) -> Any:
        # A state is shown several times in a row; the graphs of all would take too much memory.
        if self._last is None or self._last[0] is not node:
            module = self.space.module(node)
            seen = self._observation.observe(module.features, module.snapshot().op_counts)
            self._last = (node, seen)
        return self._last[1]

    def _state(self, node: PassNode, masked: Iterable[int] | None, item: Any) -> PolicyInput:
        offered = np.ones(len(passes), bool)
        offered[[*(node.no_ops() if masked is None else masked), *node.idle]] = False
        mask = np.append(offered[self.moves], True)
        root = self.space.root
        costs = cost_changes(self.measure(root), self.measure(node)) if self._costs else ()
        return state_of(item, node.fingerprint, mask, node.op_count, root.op_count, costs)
