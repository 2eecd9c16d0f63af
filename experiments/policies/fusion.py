"""The policy that decides, pair by pair, which instructions share a kernel."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from envs.decision_env import DecisionEnv
from envs.pass_decisions import PassDecisionsEnv
from experiments.evaluate.evaluation import Outcome, speedup
from experiments.policies.config import FusionTrainConfig, PolicyName
from experiments.policies.kind import (
    EnvRequest,
    MakeEnv,
    PlayedEpisode,
    PolicyInput,
    PolicyKind,
    last_state,
)
from hlograph.decisions.fusion import FUSION_PASSES
from hlograph.decisions.process import Action
from hlograph.graph.features import NODE_FEATURES
from hlograph.module import Module
from hlograph.transforms.xla_cpu import before_fusion
from models.pointer import StateWithActions

ALL_DECISIONS = 1_000_000
"""Horizon that no module reaches, for results: pairs that are left undecided are not fused."""
DECISION_FEATURES = (
    "rule",
    "log_bytes",
    "log_users",
    "consumer_log_bytes",
    "consumer_log_operands",
)
"""Columns that describe a decision: the rule, then producer and consumer as in
``hlograph.graph.features``."""
_PRODUCER = [NODE_FEATURES.index(name) for name in ("log_bytes", "log_users")]
_CONSUMER = [NODE_FEATURES.index(name) for name in ("log_bytes", "log_operands")]


class FusionActions(gymnasium.ActionWrapper):
    """Wrapper that numbers actions as a pointer policy does: 0 fuses the pair, 1 does not.

    Args:
        env: A ``PassDecisionsEnv``.
    """

    def action(self, action: int | np.integer) -> int:
        """Returns the environment's number of an action."""
        return 1 - int(action)


class FusionKind(PolicyKind[FusionTrainConfig]):
    """Policy for which to fuse the pair in question is the only action with features."""

    step_noun = "decisions"
    table = "kernels"
    outputs = ("apply", "keep")
    context_width = 1
    action_features = DECISION_FEATURES

    def __init__(self, name: PolicyName, config: FusionTrainConfig) -> None:
        super().__init__(name, config)
        self.action_names = config.passes

    @staticmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of the fusion passes."""
        return FUSION_PASSES

    def encode(self, observation: Any, info: Mapping[str, Any]) -> PolicyInput:
        """Returns the state for an observation of ``PassDecisionsEnv`` and its info.

        The decision's rule has its number among those that the policy knows.
        """
        graph, decision = observation["module"]["graph"], info["decision"]
        features = np.zeros((0, len(DECISION_FEATURES)), np.float32)
        links, mask = np.zeros((0, 3), np.int64), np.array([False, True])
        if decision is not None:
            consumer, producer = observation["decision"].tolist()
            numbers = [graph.nodes[producer, column] for column in _PRODUCER]
            numbers += [graph.nodes[consumer, column] for column in _CONSUMER]
            features = np.array([[self.action_names.index(decision.rule), *numbers]], np.float32)
            links = np.array([[0, consumer, 0], [0, producer, 1]], np.int64)
            mask = np.asarray(info["action_mask"], dtype=bool)[::-1].copy()
        kernels = np.log(info["kernels"] / max(info["start_kernels"], 1) + 1e-3)
        return PolicyInput(
            key=f"{info['fingerprint']}-{decision}",
            item=StateWithActions(graph, features, links),
            context=np.array([kernels], np.float32),
            mask=mask,
        )

    def starting_module(self, module: Module) -> Module:
        """Returns the module as XLA:CPU's compiler has it before fusion."""
        return before_fusion(module)

    def offered(self, env: DecisionEnv[Any]) -> dict[int, Action]:
        """Returns what fusing and keeping mean for the pair that is offered, if there is one."""
        actions = [*env.actions().values()][::-1] or [Action(name) for name in self.outputs]
        return dict(enumerate(actions))

    def outcome(self, episode: PlayedEpisode) -> Outcome:
        """Returns the last state: the reward is paid for something else than the count."""
        return last_state(episode, episode.reward)

    def score(self, outcomes: Sequence[Outcome], ratios: Sequence[float]) -> float:
        """Returns the speedup if all results were timed, or else the mean of the rewards."""
        timed = speedup(outcomes)
        if timed is not None:
            return timed
        rewards = [outcome.reward for outcome in outcomes if outcome.reward is not None]
        return math.fsum(rewards) / len(rewards) if rewards else super().score(outcomes, ratios)

    def env_maker(self, request: EnvRequest) -> MakeEnv:
        """See ``PolicyKind.env_maker``."""
        config = self.config
        env = PassDecisionsEnv(
            request.benchmarks,
            passes=config.passes,
            reward="final-run-time" if self.timed and not request.learns else config.reward,
            horizon=config.horizon if request.learns else ALL_DECISIONS,
            costs=False,
            quarantine=request.quarantine,
            recorder=request.recorder,
        )
        return lambda: FusionActions(env.fork())
