"""The two kinds of policy, each made from a run's settings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

import hlograph
from envs import Reward, Shaped
from experiments.config import GNNTrainConfig, OpCountTrainConfig
from experiments.states import COST_WIDTH, Observation, context_width
from hlograph import vocabulary
from models.actor_critic import ActorCritic
from models.config import PPOConfig
from models.encoder import Encoder
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from models.op_count_mlp import OpCountEncoder

LearnerName = Literal["gnn", "op_counts"]

NUM_ACTIONS = len(hlograph.passes) + 1
"""Every pass, and stop."""


@dataclass(frozen=True)
class Learner:
    """One kind of policy: what it sees, what encodes it, and how it learns."""

    name: LearnerName
    observation: Observation
    ppo: PPOConfig
    make_encoder: Callable[[], Encoder]


def learner_of(name: LearnerName, config: OpCountTrainConfig) -> Learner:
    """The learner of this name with the settings of a run."""
    if name == "op_counts":
        return Learner(
            name,
            "op_counts",
            config.op_counts_ppo,
            lambda: OpCountEncoder(len(vocabulary.OPCODES), config.op_counts),
        )
    if not isinstance(config, GNNTrainConfig):
        raise TypeError(f"settings of a GNN are in a GNNTrainConfig, got {type(config).__name__}")
    return Learner(
        name, "graph", config.gat_ppo, lambda: GATEncoder(GraphSchema.of_hlograph(), config.gat)
    )


def new_policy(learner: Learner, config: OpCountTrainConfig) -> ActorCritic:
    """A policy with random parameters, by the run's seed, on the run's device."""
    torch.manual_seed(config.seed)
    policy = ActorCritic(
        learner.make_encoder(),
        context_width(NUM_ACTIONS),
        NUM_ACTIONS,
        config.heads,
        value_width=COST_WIDTH if config.value_costs else 0,
    )
    return policy.to(config.device)


def reward_of(learner: Learner, config: OpCountTrainConfig) -> str | Reward:
    """What a learner is rewarded for, as an environment takes it.

    Shaping leaves the best policy what it is only with the discount that the learner has.
    """
    return Shaped(gamma=learner.ppo.gamma) if config.reward == "shaped" else config.reward
