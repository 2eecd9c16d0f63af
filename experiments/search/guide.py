"""What a trained policy says of the states of a search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from envs.observations import OBSERVATIONS, Observation
from envs.rewards import ModuleState, cost_changes
from experiments.config import OpCountTrainConfig
from experiments.learner import NUM_ACTIONS, Learner, LearnerName, learner_of, new_policy
from experiments.search.space import Node, SearchSpace
from experiments.states import state_of
from hlograph.locations import Location
from hlograph.registry import passes
from models.actor_critic import ActorCritic
from models.rollout import StateTable

STOP = NUM_ACTIONS - 1
"""Number of the action that ends an episode."""
_MOST_COUNT = 2.0**24  # of an opcode; see envs.observations


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy as it is sent to a worker, whatever settings the worker has."""

    learner: LearnerName
    config: OpCountTrainConfig
    """What it was trained with."""
    parameters: Mapping[str, NDArray[Any]]
    """Its state, by the name of the tensor."""

    @classmethod
    def load(cls, location: Location) -> "TrainedPolicy":
        """The policy of a checkpoint.

        Raises:
            DamagedFileError: The file is no checkpoint of this version.
            ValueError: It was made with other passes or networks.
            OSError: It cannot be read.
        """
        from experiments.checkpoint import Checkpoint, load_policy

        checkpoint = Checkpoint.load(location)
        _, policy = load_policy(location)
        parameters = {key: value.numpy() for key, value in policy.state_dict().items()}
        return cls(checkpoint.learner, checkpoint.settings(), parameters)

    def build(self) -> tuple[Learner, ActorCritic]:
        """The policy itself, on the CPU."""
        learner = learner_of(self.learner, self.config)
        policy = new_policy(learner, self.config).cpu().eval()
        state = {key: torch.tensor(value) for key, value in self.parameters.items()}
        policy.load_state_dict(state)
        return learner, policy


class Judgement(NamedTuple):
    """What a policy says of a state."""

    log_probs: NDArray[np.float64]
    """[passes + 1]: of every pass and of stopping; passes known to change nothing have next to no
    probability."""
    op_count: float
    """Instructions that its value head expects to be left in the end, at most as many as now."""


class Guide:
    """A policy's view of the states of one search; each state is encoded once.

    What it is given is what environments give it, with the search's table for the mask.

    Args:
        space: Where to search, among all passes of the registry.
        trained: The policy.

    Raises:
        ValueError: The space has other passes than the policy.
    """

    def __init__(self, space: SearchSpace, trained: TrainedPolicy) -> None:
        if space.passes != tuple(passes):
            raise ValueError(
                f"a policy chooses among {len(passes)} passes, got {len(space.passes)}"
            )
        learner, self._policy = trained.build()
        self._space = space
        self._observation: Observation = OBSERVATIONS[learner.observation](NUM_ACTIONS)
        self._value_scale = learner.ppo.reward_scale * 100 / space.root.op_count
        self._costs = trained.config.value_costs
        self._cost_changes: dict[Node, tuple[float, float]] = {}
        self._start = self._state(space.root) if self._costs else None
        self._table = StateTable(self._policy)
        self._vectors: dict[Node, torch.Tensor] = {}

    @torch.no_grad()
    def judge(self, node: Node) -> Judgement:
        """What the policy says of a state, as much as the table knows of it now."""
        vector = self._vector(node)
        context, mask = self._context(node)
        log_probs, value = self._policy(
            vector, torch.from_numpy(context)[None], torch.from_numpy(mask)[None]
        )
        drop = max(float(value[0]) / self._value_scale, 0.0)
        return Judgement(log_probs[0].double().numpy(), max(node.op_count - drop, 1.0))

    def _vector(self, node: Node) -> torch.Tensor:
        found = self._vectors.get(node)
        if found is None:
            module = self._space.module(node)
            counts = np.minimum(module.op_counts(), _MOST_COUNT).astype(np.float32)
            seen = self._observation.observe(module, counts)
            mask = np.ones(NUM_ACTIONS, np.int8)
            observation = self._observation.compose(seen, mask, share=True)
            item = state_of(observation, self._info(node, mask)).item
            found = self._table.vectors(self._table.numbers([node.fingerprint], [item]))
            self._vectors[node] = found
        return found

    def _context(self, node: Node) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        mask = np.ones(NUM_ACTIONS, np.int8)
        mask[[action for action, child in node.children.items() if child is node]] = 0
        state = state_of(None, self._info(node, mask))
        return state.context, state.mask

    def _info(self, node: Node, mask: NDArray[np.int8]) -> dict[str, Any]:
        info = {
            "action_mask": mask,
            "op_count": node.op_count,
            "start_op_count": self._space.root.op_count,
            "fingerprint": node.fingerprint,
        }
        if self._start is not None:
            if node not in self._cost_changes:
                self._cost_changes[node] = cost_changes(self._start, self._state(node))
            info["cost_changes"] = self._cost_changes[node]
        return info

    def _state(self, node: Node) -> ModuleState:
        cost = self._space.module(node).cost()
        return ModuleState(node.op_count, cost.flops, cost.transcendentals)
