"""What a trained policy says of the states of a search."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from envs.rewards import LogDrop, OpCountDrop, resolve_reward
from experiments.policies.checkpoint import Checkpoint, policy_of
from experiments.policies.config import PassTrainConfig, TrainConfig
from experiments.policies.learner import NUM_ACTIONS, Learner, LearnerName, learner_of, new_policy
from experiments.search.node_view import NodeView
from experiments.search.space import Node, SearchSpace
from experiments.workers.crew import parameters_of
from experiments.workers.playing import likeliest
from hlograph.storage.locations import Location
from hlograph.transforms.registry import passes
from models.actor_critic import ActorCritic
from models.rollout import StateTable

STOP = NUM_ACTIONS - 1
"""Number of the action that ends an episode."""


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy as it is sent to a worker, whatever settings the worker has."""

    learner: LearnerName
    config: TrainConfig
    """What it was trained with."""
    parameters: Mapping[str, NDArray[Any]]
    """Its state, by the name of the tensor."""

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "TrainedPolicy":
        """The policy that a checkpoint has kept.

        Raises:
            ValueError: It was made with other passes, rules or networks.
        """
        _, policy = policy_of(checkpoint)
        return cls(checkpoint.learner, checkpoint.settings(), parameters_of(policy))

    @classmethod
    def load(cls, location: Location) -> "TrainedPolicy":
        """As ``of``, of the checkpoint at a path or URL.

        Raises:
            DamagedFileError: The file is no checkpoint of this version.
            ValueError: It was made with other passes or networks.
            OSError: It cannot be read.
        """
        return cls.of(Checkpoint.load(location))

    @property
    def pass_config(self) -> PassTrainConfig:
        """What it was trained with, of a policy that orders passes.

        Raises:
            ValueError: It does something else.
        """
        if not isinstance(self.config, PassTrainConfig):
            raise ValueError(f"expected a policy that orders passes, got {self.learner}")
        return self.config

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
    value: float
    """Of its value head: the return that it expects, discounted and scaled as in its training."""


class Guide:
    """A policy's view of the states of one search; each state is encoded once.

    What it is given is what environments give it, with the search's table for the mask.

    Args:
        space: Where to search, among all passes of the registry.
        trained: The policy.

    Raises:
        ValueError: The space has other passes than the policy, or it does not order passes.
    """

    def __init__(self, space: SearchSpace, trained: TrainedPolicy) -> None:
        config = trained.pass_config
        if space.passes != tuple(passes):
            raise ValueError(
                f"a policy chooses among {len(passes)} passes, got {len(space.passes)}"
            )
        learner, self._policy = trained.build()
        self._space = space
        self._view = NodeView(space, learner.observation, costs=config.value_costs)
        self._reward, self._reward_scale = config.reward, learner.ppo.reward_scale
        self.horizon = config.horizon
        """Passes of an episode, as in the policy's training."""
        self._table = StateTable(self._policy)
        self._vectors: dict[Node, torch.Tensor] = {}
        self._judged: dict[Node, tuple[int, Judgement]] = {}

    def judge(self, node: Node) -> Judgement:
        """What the policy says of a state, as much as the table knows of it now."""
        known = len(node.children)
        judged = self._judged.get(node)
        if judged is None or judged[0] != known:
            self._judged[node] = judged = (known, self._judge(node))
        return judged[1]

    def greedy(self, node: Node) -> int:
        """What the policy does in a state when it does not draw; as everywhere, see `likeliest`."""
        log_probs = torch.from_numpy(self.judge(node).log_probs)
        return int(likeliest(log_probs[None]))

    def expected_op_count(self, node: Node) -> float:
        """Instructions that the value head expects to be left: at least 1, at most as many as now.

        The value is discounted: it tells of the next few passes rather than of an episode's end.

        Raises:
            ValueError: The policy was trained with a reward whose return is no drop.
        """
        return expected_op_count(
            self._reward,
            self.judge(node).value / self._reward_scale,
            node.op_count,
            self._space.root.op_count,
        )

    @torch.no_grad()
    def _judge(self, node: Node) -> Judgement:
        context, mask = self._view.context(node)
        log_probs, value = self._policy(
            self._vector(node), torch.from_numpy(context)[None], torch.from_numpy(mask)[None]
        )
        return Judgement(log_probs[0].double().numpy(), float(value[0]))

    def _vector(self, node: Node) -> torch.Tensor:
        found = self._vectors.get(node)
        if found is None:
            item = self._view.state(node).item
            found = self._table.vectors(self._table.numbers([node.fingerprint], [item]))
            self._vectors[node] = found
        return found


def expected_op_count(reward: str, expected: float, op_count: int, start: int) -> float:
    """Op count that a return tells of, from 1 to the present one.

    Args:
        reward: Name of the reward.
        expected: Return that is expected from here on, discounted. What calls cost is taken off
            it, so it tells of slightly too many instructions.
        op_count: Instructions now.
        start: Instructions of the benchmark.

    Raises:
        ValueError: Returns of this reward are no drops of the op count.
    """
    drop = max(expected, 0.0)
    kind = resolve_reward(reward)
    if isinstance(kind, LogDrop):
        return max(op_count * math.exp(-drop / kind.scale), 1.0)
    if isinstance(kind, OpCountDrop):
        return max(op_count - drop / kind.scale * start, 1.0)
    raise ValueError(
        f"the policy was trained with the reward {reward}, whose values tell no op count: expected "
        "log-drop or op-count-drop. Searches that go by probabilities alone take any policy"
    )
