"""The policy that applies one rewrite at a time."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import GraphInstance
from numpy.typing import NDArray

import hlograph
from envs.rewrite import RewriteEnv
from experiments.policies.config import PolicyName, RewriteTrainConfig
from experiments.policies.kind import (
    STOP,
    EnvRequest,
    MakeEnv,
    PolicyInput,
    PolicyKind,
)
from hlograph.decisions.process import ActionTable
from hlograph.decisions.rewrites import feature_names
from models.pointer import StateWithActions


class RewritingKind(PolicyKind[RewriteTrainConfig]):
    """Policy with a pointer over the rewrites that apply."""

    step_noun = "rewrites"
    action_noun = "rules"
    avoids_repeats = True

    context_width = 2

    def __init__(self, name: PolicyName, config: RewriteTrainConfig) -> None:
        super().__init__(name, config)
        slots = range(config.max_candidates)
        self.outputs = (*(f"candidate {slot}" for slot in slots), STOP)
        chosen = [hlograph.rules[name] for name in config.rules] or hlograph.rules.general
        self.action_names = tuple(rule.name for rule in chosen)
        self.action_features = feature_names(predict=False, sweeps=config.sweeps)
        self._numbers = np.full(len(hlograph.rules), -1, np.float32)
        self._numbers[[rule.index for rule in chosen]] = range(len(chosen))

    @staticmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of all rules."""
        return hlograph.rules.names

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
            item=StateWithActions(graph, offered, links),
            context=np.array(context, np.float32),
            mask=mask,
        )

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
