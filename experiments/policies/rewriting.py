"""The policy that applies one rewrite at a time."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import GraphInstance
from numpy.typing import NDArray

import hlograph
from envs.rewrite import RewriteEnv
from experiments.evaluate.evaluation import Outcome
from experiments.policies.candidates import pointer_policy
from experiments.policies.config import RewriteTrainConfig
from experiments.policies.kind import (
    STOP,
    EnvRequest,
    MakeEnv,
    PlayedEpisode,
    PolicyInput,
    PolicyKind,
    last_state,
)
from hlograph.decisions.process import ActionTable
from hlograph.decisions.rewrites import feature_names
from models.actor_critic import ActorCritic
from models.candidate_graphs import GraphAndCandidates
from models.config import PPOConfig

_CONTEXT_WIDTH = 2


class RewritingKind(PolicyKind[RewriteTrainConfig]):
    """Policy with a pointer over the rewrites that apply."""

    name = "rewrites"
    label = "GNN on rewrites"
    step_noun = "rewrites"
    action_noun = "rules"
    avoids_repeats = True

    def __init__(self, config: RewriteTrainConfig) -> None:
        super().__init__(config)
        slots = range(config.max_candidates)
        self.outputs = (*(f"candidate {slot}" for slot in slots), STOP)
        known = [hlograph.rules[name] for name in config.rules] or hlograph.rules.general
        self.action_names = tuple(rule.name for rule in known)
        self._numbers = np.full(len(hlograph.rules), -1, np.float32)
        self._numbers[[rule.index for rule in known]] = range(len(known))

    @staticmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of all rules."""
        return hlograph.rules.names

    @property
    def ppo(self) -> PPOConfig:
        """Settings of PPO."""
        return self.config.ppo

    @property
    def patience(self) -> int | None:
        """Steps without a smaller module after which a played episode ends."""
        # Run time is measured where an episode ends by itself.
        return None if self.timed else self.config.patience

    @property
    def timed(self) -> bool:
        """True if the reward is measured run time."""
        return self.config.reward in ("run-time", "final-run-time")

    def make_policy(self) -> ActorCritic:
        """Returns a policy with one slot for each candidate."""
        config = self.config
        slots, kinds = config.max_candidates, len(self.action_names)
        features = feature_names(predict=False, sweeps=config.sweeps)
        return pointer_policy(config, slots, features, _CONTEXT_WIDTH, kinds)

    def encode(self, observation: Any, info: Mapping[str, Any]) -> PolicyInput:
        """Returns the state for an observation of ``RewriteEnv`` and its info."""
        links = observation["candidate_links"]
        offered = observation["candidates"][: int(links[-1, 0]) + 1 if len(links) else 0]
        return self.state_of(
            ActionTable(observation["graph"], offered, links),
            info["fingerprint"],
            np.asarray(info["action_mask"], dtype=bool),
            info["op_count"],
            info["start_op_count"],
            info["num_applicable"],
        )

    def state_of(
        self,
        table: ActionTable,
        fingerprint: str,
        mask: NDArray[np.bool_],
        size: int,
        start_size: int,
        num_applicable: int,
    ) -> PolicyInput:
        """Returns a state as the policy sees it.

        A candidate's rule has its number among the rules that the policy knows. The context holds
        the size relative to the start and the number of rewrites that apply. Modules of the same
        fingerprint may list their instructions, and so the candidates, in different orders: the
        key tells these apart.

        Args:
            table: The graph, and the candidates with their rules' numbers in ``hlograph.rules``.
            fingerprint: Fingerprint of the module.
            mask: bool [candidates + 1], of the actions.
            size: Number of instructions.
            start_size: Number of instructions at the start.
            num_applicable: Number of rewrites that apply, offered or not.
        """
        graph: Any = GraphInstance(*table.graph)
        offered, links = table.features.copy(), table.links
        offered[:, 0] = self._numbers[offered[:, 0].astype(np.int64)]
        order = hashlib.blake2b(digest_size=8)
        for array in (graph.nodes, offered, links):
            order.update(array.tobytes())
        context = [np.log(size / start_size), np.log1p(num_applicable) / 7]
        return PolicyInput(
            key=f"{fingerprint}-{order.hexdigest()}",
            item=GraphAndCandidates(graph, offered, links),
            context=np.array(context, np.float32),
            mask=mask,
        )

    def outcome(self, episode: PlayedEpisode) -> Outcome:
        """Returns the last state if it was timed: no other is known to be faster."""
        return super().outcome(episode) if episode.run_time is None else last_state(episode)

    def env_maker(self, request: EnvRequest) -> MakeEnv:
        """See ``PolicyKind.env_maker``."""
        config = self.config
        return RewriteEnv(
            request.benchmarks,
            rules=self.action_names,
            # An outcome is replayed on the benchmark as it is.
            prepare=(),
            sweeps=config.sweeps,
            max_candidates=config.max_candidates,
            reward="final-run-time" if self.timed and not request.learns else config.reward,
            horizon=config.horizon if request.learns else config.play_horizon,
            costs=False,
            timings=True,
            quarantine=request.quarantine,
            recorder=request.recorder,
        ).fork
