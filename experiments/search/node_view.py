"""States of a search as an environment would show them to a policy."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.rewards import ModuleState, cost_changes
from experiments.policies.states import State, state_of
from experiments.search.space import Node, SearchSpace


class NodeView:
    """Shows the states of one search; what the search's table knows makes the mask.

    Args:
        space: Where the states are.
        observation: What is seen of a module.
        costs: Whether states show how flops and transcendentals changed.
        measure_costs: Whether ``measure`` gives costs even so, for a reward that needs them: XLA's
            cost analysis takes about as long as a pass.
    """

    def __init__(
        self,
        space: SearchSpace,
        observation: ObservationKind,
        *,
        costs: bool = False,
        measure_costs: bool = False,
    ) -> None:
        self.space = space
        """Where the states are."""
        self._num_actions = len(space.passes) + 1
        self._observation: Observation = OBSERVATIONS[observation](self._num_actions)
        self._costs, self._measure_costs = costs, costs or measure_costs
        self._measured: dict[Node, ModuleState] = {}
        self._last: tuple[Node, Any] | None = None

    def state(self, node: Node, masked: Iterable[int] | None = None) -> State:
        """All that an environment would show of a state.

        Args:
            node: The state.
            masked: Numbers of the passes that the mask hides, beside those that find nothing to
                act on; None hides all that the table knows to change nothing there.
        """
        mask = self._mask(node, masked)
        observation = self._observation.compose(self._seen(node), mask, share=True)
        return state_of(observation, self._info(node, mask))

    def context(
        self, node: Node, masked: Iterable[int] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Context and mask of ``state`` alone, for a state that was encoded before."""
        state = state_of(None, self._info(node, self._mask(node, masked)))
        return state.context, state.mask

    def measure(self, node: Node) -> ModuleState:
        """What a reward sees of a state: the op count, and the costs if the view has them."""
        if not self._measure_costs:
            return ModuleState(node.op_count)
        if node not in self._measured:
            cost = self.space.module(node).cost()
            self._measured[node] = ModuleState(node.op_count, *cost)
        return self._measured[node]

    def _seen(self, node: Node) -> Any:
        # One state is looked at several times in a row; graphs of all would take the memory.
        if self._last is None or self._last[0] is not node:
            module = self.space.module(node)
            seen = self._observation.observe(module, module.snapshot().op_counts)
            self._last = (node, seen)
        return self._last[1]

    def _mask(self, node: Node, masked: Iterable[int] | None) -> NDArray[np.int8]:
        mask = np.ones(self._num_actions, np.int8)
        if masked is None:
            masked = (action for action, child in node.children.items() if child is node)
        mask[[*masked, *node.idle]] = 0
        return mask

    def _info(self, node: Node, mask: NDArray[np.int8]) -> dict[str, Any]:
        info: dict[str, Any] = {
            "action_mask": mask,
            "op_count": node.op_count,
            "start_op_count": self.space.root.op_count,
            "fingerprint": node.fingerprint,
        }
        if self._costs:
            start = self.measure(self.space.root)
            info["cost_changes"] = cost_changes(start, self.measure(node))
        return info
