"""Policies that decide how XLA:CPU compiles a program: one sees the graph, one op counts."""

import hashlib
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.rewards import LogDrop
from envs.tuning import TuningEnv
from experiments.cost_model.predictor import SHIPPED, Predictor
from experiments.evaluate.evaluation import Outcome
from experiments.policies.candidates import pointer_policy
from experiments.policies.config import Times, TuningTrainConfig
from experiments.policies.kind import (
    STOP,
    EnvRequest,
    MakeEnv,
    PlayedEpisode,
    PolicyInput,
    PolicyKind,
    last_state,
    least_state,
)
from hlograph.decisions.plan_states import action_kinds
from hlograph.decisions.plans import PLAN_FEATURES, ROLES, kind_numbers
from hlograph.graph.vocabulary import OPCODES
from hlograph.module import Module
from hlograph.profiling.kernel_seconds import PredictTime, RatedKernels
from models.actor_critic import ActorCritic
from models.candidate_counts import CandidateCountsEncoder, CountsAndCandidates
from models.candidate_graphs import GraphAndCandidates
from models.config import CloningConfig, PPOConfig
from models.pointer import PointerActorCritic

COSTS = ("flops", "transcendentals", "bytes_accessed")
"""Numbers of XLA's cost analysis that ``TuningCountsKind`` sees beside op counts."""

_CONTEXT_WIDTH = 3
_PLACES = PLAN_FEATURES.index("log_places")


@cache
def predictor(times: Times) -> PredictTime:
    """Returns the prediction of times of that name, the same one for all of a process."""
    return Predictor.load(SHIPPED) if times == "learned" else RatedKernels()


class DecisionsKind(PolicyKind[TuningTrainConfig]):
    """Base of the policies with a pointer over the decisions that are offered."""

    step_noun = "decisions"
    action_noun = "kinds of decisions"
    table = "times"
    imitates = "decisions"
    avoids_repeats = True
    costs: ClassVar[bool] = False
    """True if XLA's cost analysis of each state is observed."""

    def __init__(self, config: TuningTrainConfig) -> None:
        super().__init__(config)
        self.outputs = (*(f"offer {slot}" for slot in range(config.max_offers)), STOP)
        self.action_names = tuple(kind_numbers(config.decisions or None))

    @staticmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of all kinds of decisions."""
        return action_kinds()

    @property
    def ppo(self) -> PPOConfig:
        """Settings of PPO."""
        return self.config.ppo

    @property
    def cloning(self) -> CloningConfig:
        """Settings of the imitation of measured plans."""
        return self.config.cloning

    def outcome(self, episode: PlayedEpisode) -> Outcome:
        """Returns the result of an episode: the state that the settings say."""
        return last_state(episode) if self.config.result == "last" else least_state(episode)

    def rebuilt(self, module: Module, steps: Sequence[str]) -> None:
        """Returns None: decisions are carried out by jaxlib, not by passes on a module."""
        del module, steps

    @abstractmethod
    def item(self, observation: Any, info: Mapping[str, Any], offered: NDArray[np.float32]) -> Any:
        """Returns the input of the encoder.

        Args:
            observation: Observation of ``TuningEnv``.
            info: Its info.
            offered: Features of the offers, float32 ``[offers, len(PLAN_FEATURES)]``.
        """

    def encode(self, observation: Any, info: Mapping[str, Any]) -> PolicyInput:
        """Returns the state for an observation of ``TuningEnv`` and its info.

        The context holds the logarithms of the predicted seconds and of what the decisions so far
        have saved, and the number of decisions that can be taken.
        """
        rows = observation["candidates"]
        offered = rows[: np.count_nonzero(rows[:, _PLACES])]  # each has a place
        key = hashlib.blake2b(f"{info['benchmark']}\n{info['point']}".encode(), digest_size=16)
        saved = np.log(info["start_size"] / info["size"])
        context = [np.log(1e-9 * info["size"]) / 8, saved / 4, np.log1p(info["num_offers"]) / 7]
        return PolicyInput(
            key=key.hexdigest(),
            item=self.item(observation, info, offered),
            context=np.array(context, np.float32),
            mask=np.asarray(info["action_mask"], dtype=bool),
        )

    def env_maker(self, request: EnvRequest) -> MakeEnv:
        """See ``PolicyKind.env_maker``."""
        config = self.config
        return TuningEnv(
            request.benchmarks,
            predict=predictor(config.times),
            max_offers=config.max_offers,
            kinds=self.action_names,
            reward=LogDrop(call_cost=config.call_cost),
            horizon=config.horizon if request.learns else config.play_horizon,
            costs=self.costs,
            timings=True,
            quarantine=request.quarantine,
            recorder=request.recorder,
        ).fork


class TuningKind(DecisionsKind):
    """Policy that sees the typed graph, and the nodes that each decision is about."""

    name = "tuning"
    label = "GNN on decisions"

    def make_policy(self) -> ActorCritic:
        """Returns a policy with one slot for each offer."""
        return pointer_policy(
            self.config,
            self.config.max_offers,
            PLAN_FEATURES,
            _CONTEXT_WIDTH,
            len(self.action_names),
            ROLES,
        )

    def item(
        self, observation: Any, info: Mapping[str, Any], offered: NDArray[np.float32]
    ) -> GraphAndCandidates:
        """See ``DecisionsKind.item``."""
        del info
        return GraphAndCandidates(observation["graph"], offered, observation["candidate_links"])


class TuningCountsKind(DecisionsKind):
    """Policy that sees op counts and XLA's cost analysis, and the same features of decisions."""

    name = "tuning_counts"
    label = "op counts on decisions"
    costs = True

    def make_policy(self) -> ActorCritic:
        """Returns a policy with an MLP in place of the graph encoder."""
        config = self.config
        encoder = CandidateCountsEncoder(
            len(OPCODES) + len(COSTS),
            config.op_counts,
            config.candidates,
            slots=config.max_offers,
            rules=len(self.action_names),
            features=len(PLAN_FEATURES),
        )
        return PointerActorCritic(encoder, _CONTEXT_WIDTH, config.heads, config.candidates)

    def item(
        self, observation: Any, info: Mapping[str, Any], offered: NDArray[np.float32]
    ) -> CountsAndCandidates:
        """See ``DecisionsKind.item``."""
        # The analysis counts -1 for custom calls.
        costs = np.maximum([info[name] for name in COSTS], 0.0)
        counts = np.concatenate([observation["op_counts"], costs])
        return CountsAndCandidates(counts.astype(np.float32), offered)
