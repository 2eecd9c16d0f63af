"""Kinds of policy: what they play and see, how their results count, and all of them by name."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import gymnasium
import numpy as np
import torch

from envs.decision_env import DecisionEnv
from envs.observations import ObservationKind
from experiments.evaluate.evaluation import Outcome, speedup
from experiments.evaluate.metrics import geometric_mean
from experiments.policies.config import (
    FusionTrainConfig,
    GNNTrainConfig,
    PassTrainConfig,
    PolicyName,
    RewriteTrainConfig,
    TrainConfig,
    TuningTrainConfig,
)
from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.process import Action
from hlograph.decisions.rewrites import ROLES
from hlograph.errors import PassError, RewriteError
from hlograph.graph.vocabulary import OPCODES
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.module import Module, take_step
from models.actor_critic import ActorCritic
from models.config import CloningConfig, EffectHeadConfig, PPOConfig
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from models.op_count_mlp import OpCountEncoder
from models.pointer import ActionEncoder, PointerActorCritic

MakeEnv = Callable[[], gymnasium.Env[Any, Any]]
C = TypeVar("C", bound=TrainConfig)
STOP = "stop"
"""Name of the action that ends an episode."""


@dataclass(frozen=True)
class PolicyInput:
    """One state of one environment, as a policy sees it."""

    key: str
    """Identity of the state: equal keys have equal items."""
    item: Any
    """Input of the encoder: the graph's arrays or op counts, float32 [num_opcodes]; with actions or
    without."""
    context: np.ndarray
    """float32 [context_width]: input of the heads beside the encoder's vector."""
    mask: np.ndarray
    """bool [A]: False for actions that are not available here."""


@dataclass
class PlayedEpisode:
    """One episode while it is played.

    Args:
        benchmark: Name of the benchmark.
        sizes: Size of the module at the start; later also after each step that changed it.
    """

    benchmark: str
    sizes: list[int]
    """Instructions (or kernels) at the start, and after each step that changed the module."""
    steps: list[str] = field(default_factory=list)
    """Names of the steps that changed the module."""
    calls: int = 0
    """Number of all steps."""
    run_time: float | None = None
    """Run time of the last state, if it was measured."""
    reward: float = 0.0
    """Sum of the rewards."""
    idle: int = 0
    """Number of steps since the module was the smallest so far."""

    def record(self, info: Mapping[str, Any], reward: float = 0.0) -> None:
        """Adds one step, from its info and reward."""
        self.run_time = info.get("run_time")
        self.reward += reward
        if info["step_name"] in (None, STOP):
            return
        self.calls += 1
        self.idle = 0 if info["size"] < min(self.sizes) else self.idle + 1
        if info["changed"]:
            self.steps.append(info["step_name"])
            self.sizes.append(info["size"])


@dataclass(frozen=True)
class EnvRequest:
    """Benchmarks and purpose of environments."""

    benchmarks: Sequence[NamedModule]
    """Benchmarks that the environments hold."""
    quarantine: Quarantine
    """Passes and rewrites that they do not try."""
    recorder: FlightRecorder
    """Receives a note of each step before XLA runs it."""
    fresh: bool = False
    """True for environments that share no knowledge with others. Episodes are the same, but take
    the time of a first episode."""
    learns: bool = True
    """True if rewards are used. Otherwise run times are measured in the last state only, and
    episodes are long enough to end by themselves."""


class PolicyKind(ABC, Generic[C]):
    """A kind of policy for one process, with the settings of a run.

    What the policy sees is the graph or op counts, as ``KINDS`` says. What differs from
    process to process is mostly data; a subclass makes environments and encodes their states.
    Trainers and workers know no kind by name.

    Args:
        name: Name of the kind.
        config: Settings of the run.
    """

    step_noun: ClassVar[str] = "pass calls"
    """Plural noun for its steps in texts."""
    action_noun: ClassVar[str] = "passes"
    """Plural noun for what ``action_names`` name, in texts."""
    table: ClassVar[Literal["op counts", "kernels", "times"]] = "op counts"
    """Quantity in the final table; see ``experiments.train.final_tables``."""
    imitates: ClassVar[Literal["orders", "decisions"] | None] = None
    """Kind of record that training first imitates; see
    ``experiments.train.recorded_steps.TEACHERS``."""
    stop_above: ClassVar[float] = 0.5
    """Probability of the last output, which mostly is to stop, above which a greedy episode takes
    it."""
    avoids_repeats: ClassVar[bool] = False
    """True if a greedy episode takes no action twice in one state.

    Rewrites can lead back to an earlier state, where a deterministic policy would loop.
    """

    outputs: tuple[str, ...]
    """Names of the entries of the policy's distribution, and of the environment's actions."""
    action_names: tuple[str, ...]
    """Names of the passes, rules or kinds of decisions that the policy knows, in the order of its
    parameters. No others are offered to it."""
    context_width: int
    """Number of context values of a state."""
    value_width: int = 0
    """Number of further ones, which the value head alone sees."""
    num_counts: int = len(OPCODES)
    """Length of the counts that a policy without a graph sees."""
    action_features: Sequence[str] = ()
    """Names of the columns that describe an action; none where an action is its name alone, and the
    policy has an output for each."""
    roles: Sequence[str] = ROLES
    """Roles in which actions with features touch nodes of the graph."""

    def __init__(self, name: PolicyName, config: C) -> None:
        self.name: PolicyName = name
        self.config = config
        self.label = KINDS[name].label
        self.observation: ObservationKind = KINDS[name].observation

    @staticmethod
    @abstractmethod
    def existing_actions() -> Collection[str]:
        """Returns the names of all actions that there are in this version, known or not."""

    @abstractmethod
    def env_maker(self, request: EnvRequest) -> MakeEnv:
        """Returns a function that makes environments."""

    @abstractmethod
    def encode(self, observation: Any, info: Mapping[str, Any]) -> PolicyInput:
        """Returns the state for the observation and info of a step or reset."""

    @property
    def ppo(self) -> PPOConfig:
        """Settings of PPO."""
        return getattr(self.config, "ppo")  # noqa: B009 (not all settings have it)

    @property
    def cloning(self) -> CloningConfig | None:
        """Settings of the imitation before PPO; None if there are no demonstrations."""
        return getattr(self.config, "cloning", None)

    @property
    def effects(self) -> EffectHeadConfig | None:
        """Settings of the predictions which actions change a state; None if it learns none."""
        return None

    @property
    def timed(self) -> bool:
        """True if rewards are measured run times of programs that have to run."""
        return getattr(self.config, "reward", None) in ("run-time", "final-run-time")

    @property
    def patience(self) -> int | None:
        """Steps without a smaller module after which a played episode ends; None is no limit."""
        # Run time is measured where an episode ends by itself.
        return None if self.timed else getattr(self.config, "patience", None)

    def make_policy(self) -> ActorCritic:
        """Returns a policy on the CPU, with parameters drawn from torch's global generator."""
        config: Any = self.config
        if self.observation == "graph":
            states = GATEncoder(GraphSchema.of_hlograph(), config.gat)
        else:
            states = OpCountEncoder(self.num_counts, config.op_counts)
        width, outputs = self.context_width, len(self.outputs)
        if not self.action_features:
            return ActorCritic(states, width, outputs, config.heads, self.value_width)
        sizes = (outputs - 1, len(self.action_names), len(self.action_features), len(self.roles))
        encoder = ActionEncoder(states, config.candidates, *sizes)
        return PointerActorCritic(encoder, width, config.heads, config.candidates)

    def new_policy(self) -> ActorCritic:
        """Returns a policy on the run's device, with parameters drawn by the run's seed."""
        torch.manual_seed(self.config.seed)
        return self.make_policy().to(self.config.device)

    def starting_module(self, module: Module) -> Module:
        """Returns the module in which episodes on a benchmark begin."""
        return module

    def rebuilt(self, module: Module, steps: Sequence[str]) -> Module | None:
        """Returns the module of a state; None if its steps are neither passes nor rewrites.

        Args:
            module: The benchmark; it may be changed.
            steps: Names of the passes, or places of the rewrites, that led to the state.
        """
        module = self.starting_module(module)
        for name in steps:
            # A step may have failed in the episode too, and left the module unchanged.
            with suppress(PassError, RewriteError):
                take_step(module, name)
        return module

    def offered(self, env: DecisionEnv[Any]) -> dict[int, Action]:
        """Returns what actions mean in the present state, without those that mean nothing there.

        Args:
            env: An environment of this kind.
        """
        return env.actions()

    def outcome(self, episode: PlayedEpisode) -> Outcome:
        """Returns the result of an episode: its least state, or the last one if it was timed.

        Of timed episodes no other state is known to be faster. The settings, too, can ask for it.
        """
        last = episode.run_time is not None or getattr(self.config, "result", "least") == "last"
        return last_state(episode) if last else least_state(episode)

    def score(self, outcomes: Sequence[Outcome], ratios: Sequence[float]) -> float:
        """Returns the figure by which validation chooses a policy; higher is better.

        Args:
            outcomes: Results on the validation benchmarks.
            ratios: Their count ratios, one for each reference.
        """
        timed = speedup(outcomes)
        return geometric_mean(ratios) if timed is None else timed


class KindEntry(NamedTuple):
    """A kind of policy.

    Attributes:
        label: Name in tables.
        observation: What the policy sees.
        settings: Class of the settings of its training.
        cls: Subclass of ``PolicyKind``, as module and name. It is imported when it is asked for: a
            program that orders passes needs nothing of what tunes.
    """

    label: str
    observation: ObservationKind
    settings: type[TrainConfig]
    cls: str

    def kind_class(self) -> type[PolicyKind]:
        """Returns the subclass."""
        return resolve_name(self.cls)


# Written out, so that the wheel's copy finds what it has to carry (distribution/carried.py).
_PASSES = "experiments.policies.pass_ordering:PassOrderingKind"
_REWRITES = "experiments.policies.rewriting:RewritingKind"
_FUSIONS = "experiments.policies.fusion:FusionKind"
_PLANS = "experiments.policies.tuning:TuningKind"

KINDS: dict[PolicyName, KindEntry] = {
    "gnn": KindEntry("GNN", "graph", GNNTrainConfig, _PASSES),
    "op_counts": KindEntry("op counts", "op_counts", PassTrainConfig, _PASSES),
    "rewrites": KindEntry("GNN on rewrites", "graph", RewriteTrainConfig, _REWRITES),
    "fusion": KindEntry("GNN on fusions", "graph", FusionTrainConfig, _FUSIONS),
    "tuning": KindEntry("GNN on decisions", "graph", TuningTrainConfig, _PLANS),
    "tuning_counts": KindEntry("op counts on decisions", "op_counts", TuningTrainConfig, _PLANS),
}
"""All kinds of policy, by name."""


def least_state(episode: PlayedEpisode) -> Outcome:
    """Returns the first state with the least size, with the calls of the whole episode."""
    least = min(episode.sizes)
    steps = tuple(episode.steps[: episode.sizes.index(least)])
    return Outcome(episode.benchmark, episode.sizes[0], least, steps, episode.calls)


def last_state(episode: PlayedEpisode, reward: float | None = None) -> Outcome:
    """Returns the last state of an episode as its result."""
    return Outcome(
        episode.benchmark,
        episode.sizes[0],
        episode.sizes[-1],
        tuple(episode.steps),
        episode.calls,
        episode.run_time,
        reward,
    )


def policy_kind(name: PolicyName, config: TrainConfig) -> PolicyKind:
    """Returns the kind of this name, with the settings of a run.

    Raises:
        TypeError: The settings are of another program.
        UnknownNameError: The settings name a rule that does not exist.
    """
    expected = KINDS[name].settings
    if not isinstance(config, expected):
        raise TypeError(
            f"settings of {name} are in a {expected.__name__}, got {type(config).__name__}"
        )
    return KINDS[name].kind_class()(name, config)
