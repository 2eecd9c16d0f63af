"""Policies that order passes: one sees the graph, one the op counts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hlograph
from envs.pass_ordering import PassOrderingEnv
from envs.rewards import LogDrop, Reward, Shaped
from experiments.policies.config import (
    STOP_ABOVE,
    GNNTrainConfig,
    PassTrainConfig,
    PolicyName,
)
from experiments.policies.kind import STOP, EnvRequest, MakeEnv, PolicyInput, PolicyKind
from hlograph.decisions.memory import Memory
from models.config import CloningConfig, EffectHeadConfig, PPOConfig

# All policies of a run have the same settings; other settings begin another memory.
_shared_memory = lru_cache(maxsize=1)(Memory)

COST_WIDTH = 2
"""Number of context values that only the value head sees: flops and transcendentals."""


def context_width(num_actions: int) -> int:
    """Returns the number of context values, without costs."""
    return num_actions + 1


def state_of(
    item: Any,
    fingerprint: str,
    mask: NDArray[np.bool_],
    size: int,
    start_size: int,
    cost_changes: Sequence[float] = (),
) -> PolicyInput:
    """Returns a state as policies see it.

    The context makes the decision Markov. The mask says which passes were tried at this module
    without effect. Rewards are shares of the op count at the start, so the size relative to
    that start decides what a removed instruction is worth. The time left is not in it: the
    value of a truncated episode is that of its state had the episode gone on (see
    `models.ppo.generalized_advantages`), which must not depend on the step number.

    With costs, the context ends with flops and transcendentals relative to the start. Only a value
    head sees them (see `models.actor_critic`).

    Args:
        item: Input of the encoder: op counts, or the graph's arrays.
        fingerprint: Fingerprint of the module.
        mask: bool [A], of the actions.
        size: Number of instructions.
        start_size: Number of instructions at the start.
        cost_changes: Changes of flops and of transcendentals, as ``envs.rewards.cost_changes``.
    """
    shrunk = np.log(size / start_size)
    context = np.concatenate([mask, [shrunk, *cost_changes]]).astype(np.float32)
    return PolicyInput(key=fingerprint, item=item, context=context, mask=mask)


def encode(observation: Any, info: Mapping[str, Any]) -> PolicyInput:
    """Returns the state for an observation of ``PassOrderingEnv`` and its info."""
    return state_of(
        observation["graph"] if isinstance(observation, Mapping) else observation,
        info["fingerprint"],
        np.asarray(info["action_mask"], dtype=bool),
        info["op_count"],
        info["start_op_count"],
        info.get("cost_changes", ()),
    )


class PassOrderingKind(PolicyKind[PassTrainConfig]):
    """Policies that order passes; the one that sees op counts is the paper's agent."""

    imitates = "orders"
    stop_above = STOP_ABOVE

    def __init__(self, name: PolicyName, config: PassTrainConfig) -> None:
        super().__init__(name, config)
        named = tuple(hlograph.passes[name].name for name in config.passes)
        self.action_names = named or hlograph.passes.names
        self.outputs = (*self.action_names, STOP)
        self.context_width = context_width(len(self.outputs))
        self.value_width = COST_WIDTH if config.value_costs else 0

    @staticmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of all passes."""
        return hlograph.passes.names

    @property
    def ppo(self) -> PPOConfig:
        """Settings of PPO."""
        if self.name == "gnn" and isinstance(self.config, GNNTrainConfig):
            return self.config.gat_ppo
        return self.config.op_counts_ppo

    @property
    def cloning(self) -> CloningConfig:
        """Settings of the imitation of orders of passes."""
        cloning, corrections = self.config.cloning, self.config.op_counts_corrections
        return cloning if self.name == "gnn" else replace(cloning, corrections=corrections)

    def encode(self, observation: Any, info: Mapping[str, Any]) -> PolicyInput:
        """See ``experiments.policies.pass_ordering.encode``."""
        return encode(observation, info)

    @property
    def effects(self) -> EffectHeadConfig:
        """Settings of the predictions which passes change a module."""
        return self.config.effects

    @property
    def reward(self) -> str | Reward:
        """Reward of the environments.

        Shaping leaves the best policy unchanged only with the discount of the learner.
        """
        config = self.config
        if config.reward == "shaped":
            return Shaped(gamma=self.ppo.gamma)
        return LogDrop(call_cost=config.call_cost) if config.reward == "log-drop" else config.reward

    def env_maker(self, request: EnvRequest) -> MakeEnv:
        """See ``PolicyKind.env_maker``."""
        config = self.config
        memory = (Memory if request.fresh else _shared_memory)(
            None if request.fresh else _known_no_ops_file(config),
            no_op_bytes=config.known_no_ops_mib << 20,
            shown_bytes=config.no_op_mib << 20,
        )
        return PassOrderingEnv(
            request.benchmarks,
            observation=self.observation,
            reward=self.reward,
            horizon=config.horizon if request.learns else config.longest_play,
            # XLA's cost analysis takes as long as a pass.
            costs=config.value_costs,
            timings=True,
            share_observations=True,
            actions=self.action_names,
            quarantine=request.quarantine,
            recorder=request.recorder,
            memory=memory,
        ).fork


def _known_no_ops_file(config: PassTrainConfig) -> Path | None:
    if config.known_no_ops is not None or config.out is None or config.workers == "ray":
        return config.known_no_ops
    return config.out / "known_no_ops"
