"""Policies that decide how XLA:CPU compiles a program: one sees the graph, one op counts."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.rewards import LogDrop
from envs.tuning import TuningEnv
from experiments.policies.config import PolicyName, Times, TuningTrainConfig
from experiments.policies.kind import (
    STOP,
    EnvRequest,
    MakeEnv,
    PolicyInput,
    PolicyKind,
)
from hlograph.decisions.plan_states import action_kinds
from hlograph.decisions.plans import PLAN_FEATURES, ROLES, kind_numbers
from hlograph.errors import UnknownNameError
from hlograph.graph.vocabulary import OPCODES
from hlograph.module import Module
from hlograph.profiling.kernel_seconds import PredictTime, RatedKernels
from hlograph.profiling.kernel_trees import shipped_trees
from models.pointer import StateWithActions

COSTS = ("flops", "transcendentals", "bytes_accessed")
"""Numbers of XLA's cost analysis that a policy without a graph sees beside op counts."""

_TIMES: Mapping[Times, Callable[[], PredictTime]] = {"trees": shipped_trees, "rates": RatedKernels}
_PLACES = PLAN_FEATURES.index("log_places")


@cache
def predictor(times: Times) -> PredictTime:
    """Returns the prediction of times of that name, the same one for all of a process.

    Raises:
        UnknownNameError: There is none of that name, as in the settings of an older policy.
    """
    if times not in _TIMES:
        raise UnknownNameError.of("prediction of times", times, _TIMES)
    return _TIMES[times]()


class TuningKind(PolicyKind[TuningTrainConfig]):
    """Policies over the decisions that are offered.

    One sees the typed graph, and the nodes that each decision is about; the other one op counts and
    XLA's cost analysis, with the same features of decisions.
    """

    step_noun = "decisions"
    action_noun = "kinds of decisions"
    table = "times"
    imitates = "decisions"
    avoids_repeats = True
    context_width = 3
    num_counts = len(OPCODES) + len(COSTS)
    action_features = PLAN_FEATURES
    roles = ROLES

    def __init__(self, name: PolicyName, config: TuningTrainConfig) -> None:
        super().__init__(name, config)
        self.outputs = (*(f"offer {slot}" for slot in range(config.max_offers)), STOP)
        self.action_names = tuple(kind_numbers(config.decisions or None))
        self.costs = self.observation == "op_counts"
        """True if XLA's cost analysis of each state is observed."""

    @staticmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of all kinds of decisions."""
        return action_kinds()

    def rebuilt(self, module: Module, steps: Sequence[str]) -> None:
        """Returns None: decisions are carried out by jaxlib, not by passes on a module."""
        del module, steps

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
            item=self._item(observation, info, offered),
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

    def _item(
        self, observation: Any, info: Mapping[str, Any], offered: NDArray[np.float32]
    ) -> StateWithActions:
        """Returns the input of the encoder, with the features of the actions."""
        if self.observation == "graph":
            return StateWithActions(observation["graph"], offered, observation["candidate_links"])
        # The analysis counts -1 for custom calls.
        costs = np.maximum([info[name] for name in COSTS], 0.0)
        counts = np.concatenate([observation["op_counts"], costs])
        return StateWithActions(counts.astype(np.float32), offered)
