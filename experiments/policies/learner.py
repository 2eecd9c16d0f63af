"""The kinds of policy, each made from a run's settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

import hlograph
from envs import Reward, Shaped
from envs.candidates import CANDIDATE_FEATURES, ROLES
from envs.rewards import LogDrop
from experiments.policies.config import (
    FusionTrainConfig,
    GNNTrainConfig,
    OpCountTrainConfig,
    PassTrainConfig,
    RewriteTrainConfig,
    TrainConfig,
)
from experiments.policies.states import (
    COST_WIDTH,
    FUSION_CONTEXT,
    FUSION_FEATURES,
    REWRITE_CONTEXT,
    STOP,
    Observation,
    context_width,
)
from hlograph.graph import vocabulary
from models.actor_critic import ActorCritic
from models.candidate_encoder import CandidateEncoder
from models.config import PPOConfig
from models.encoder import Encoder
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from models.op_count_mlp import OpCountEncoder
from models.pointer import PointerActorCritic

LearnerName = Literal["gnn", "op_counts", "rewrites", "fusion"]
"""Two that order passes, by what they see, one that rewrites, one that decides about fusions."""

NUM_ACTIONS = len(hlograph.passes) + 1
"""Of a policy that orders passes: every pass, and stop."""

CONFIGS: dict[LearnerName, type[TrainConfig]] = {
    "gnn": GNNTrainConfig,
    "op_counts": OpCountTrainConfig,
    "rewrites": RewriteTrainConfig,
    "fusion": FusionTrainConfig,
}
"""What each kind is made from."""


@dataclass(frozen=True)
class Learner:
    """One kind of policy: what it sees, what encodes it, what it can do, and how it learns."""

    name: LearnerName
    observation: Observation
    ppo: PPOConfig
    make_policy: Callable[[], ActorCritic]
    actions: tuple[str, ...]
    """Names of its actions."""
    steps: tuple[str, ...]
    """Names of the passes or rules that it chooses from: with others it has no meaning."""


def learner_of(name: LearnerName, config: TrainConfig) -> Learner:
    """The learner of this name with the settings of a run.

    Raises:
        TypeError: These are the settings of something else.
        UnknownNameError: They name a rule that there is not.
    """
    if not isinstance(config, CONFIGS[name]):
        raise TypeError(
            f"settings of {name} are in a {CONFIGS[name].__name__}, got {type(config).__name__}"
        )
    if isinstance(config, RewriteTrainConfig):
        return _rewrites(config)
    if isinstance(config, FusionTrainConfig):
        policy = partial(_fusion_policy, config)
        return Learner("fusion", "graph", config.ppo, policy, ("apply", "keep"), config.passes)
    assert isinstance(config, OpCountTrainConfig)
    passes = hlograph.passes.names
    if name == "op_counts":
        make = partial(_op_count_encoder, config)
        policy = partial(_pass_policy, make, config)
        return Learner(name, "op_counts", config.op_counts_ppo, policy, (*passes, STOP), passes)
    assert isinstance(config, GNNTrainConfig)
    policy = partial(_pass_policy, partial(_gat_encoder, config), config)
    return Learner(name, "graph", config.gat_ppo, policy, (*passes, STOP), passes)


def new_policy(learner: Learner, config: TrainConfig) -> ActorCritic:
    """A policy with random parameters, by the run's seed, on the run's device."""
    torch.manual_seed(config.seed)
    return learner.make_policy().to(config.device)


def reward_of(learner: Learner, config: PassTrainConfig) -> str | Reward:
    """What a learner is rewarded for, as an environment takes it.

    Shaping leaves the best policy what it is only with the discount that the learner has.
    """
    if config.reward == "shaped":
        return Shaped(gamma=learner.ppo.gamma)
    return LogDrop(call_cost=config.call_cost) if config.reward == "log-drop" else config.reward


def is_timed(config: TrainConfig) -> bool:
    """Whether a run's policies rewrite and are rewarded for measured run time."""
    timed = ("run-time", "final-run-time")
    return isinstance(config, RewriteTrainConfig) and config.reward in timed


def _op_count_encoder(config: OpCountTrainConfig) -> Encoder:
    return OpCountEncoder(len(vocabulary.OPCODES), config.op_counts)


def _gat_encoder(config: GNNTrainConfig) -> Encoder:
    return GATEncoder(GraphSchema.of_hlograph(), config.gat)


def _pass_policy(make_encoder: Callable[[], Encoder], config: PassTrainConfig) -> ActorCritic:
    return ActorCritic(
        make_encoder(),
        context_width(NUM_ACTIONS),
        NUM_ACTIONS,
        config.heads,
        value_width=COST_WIDTH if config.value_costs else 0,
    )


def _rewrites(config: RewriteTrainConfig) -> Learner:
    slots = config.max_candidates
    names = tuple(hlograph.rules[name].name for name in config.rules) or tuple(
        rule.name for rule in hlograph.rules.general
    )
    actions = (*(f"candidate {slot}" for slot in range(slots)), STOP)
    policy = partial(_rewrite_policy, config)
    return Learner("rewrites", "graph", config.ppo, policy, actions, names)


def _rewrite_policy(config: RewriteTrainConfig) -> ActorCritic:
    encoder = _candidate_encoder(config, config.max_candidates, CANDIDATE_FEATURES)
    return PointerActorCritic(encoder, REWRITE_CONTEXT, config.heads, config.candidates)


def _fusion_policy(config: FusionTrainConfig) -> ActorCritic:
    # The pair in question is the one candidate; not to take it is what stopping is elsewhere.
    encoder = _candidate_encoder(config, 1, FUSION_FEATURES)
    return PointerActorCritic(encoder, FUSION_CONTEXT, config.heads, config.candidates)


def _candidate_encoder(
    config: RewriteTrainConfig | FusionTrainConfig, slots: int, features: Sequence[str]
) -> CandidateEncoder:
    return CandidateEncoder(
        GraphSchema.of_hlograph(),
        config.gat,
        config.candidates,
        slots=slots,
        rules=len(hlograph.rules),
        features=len(features),
        roles=len(ROLES),
    )
