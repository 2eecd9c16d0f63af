"""Settings of the kinds of policy, and what they are as JSON.

Nothing here imports torch or the engine: command lines are built from these classes, and
`--help` must answer at once.
"""

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from hlograph.corpus.shipped import CorpusSet
from models.config import (
    ActionConfig,
    CloningConfig,
    EffectHeadConfig,
    GATConfig,
    HeadsConfig,
    OpCountConfig,
    PPOConfig,
)

Reward = Literal["op-count-drop", "log-drop", "op-count", "shaped"]
FusionReward = Literal["op-count-drop", "bytes-drop", "cost-drop", "run-time", "final-run-time"]
FusionPass = Literal["fusion", "multi-output-fusion"]
RewriteReward = Literal["op-count-drop", "log-drop", "cost-drop", "run-time", "final-run-time"]
Preset = Literal["quick", "full"]
Workers = Literal["processes", "ray", "in-process"]
PolicyName = Literal["gnn", "op_counts", "rewrites", "fusion", "tuning", "tuning_counts"]
Times = Literal["trees", "rates"]
Sampling = Literal["uniform", "shortfall"]

STOP_ABOVE = 0.8
"""Probability of stopping above which a greedy episode of passes ends. At 0.5 many end too early: a
call too many costs little, and without one that matters twice as many instructions may be left."""
SKIP_BELOW = 0.05
"""Probability that an action makes a difference, as the policy predicts, below which it is not
taken; see ``models.effects``."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings that all training programs share."""

    program: ClassVar[str]
    """Program that trains with these settings, and its process: what follows ``experiments.``."""
    kinds: ClassVar[tuple[PolicyName, ...]]
    """Kinds of policy that a run trains, in order."""
    actions_setting: ClassVar[str]
    """Setting that names the actions of a policy: passes, rules or kinds of decisions."""

    preset: Preset = "quick"
    """Set of defaults for all the rest: quick takes minutes on two cores, full takes hours."""
    seed: int = 0
    """Seed of everything random; the same seed gives the same final table."""
    benchmarks: tuple[str, ...] = ()
    """Modules to train on: names, globs, files, folders or URLs; none is the train split."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus for training and held-out benchmarks; None is all but speed."""
    train_op_limit: int = 1_200
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 3_000
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    test_count: int | None = 36
    """Held-out benchmarks to evaluate on, evenly over families; None is all."""
    validation_count: int | None = 36
    """Benchmarks of the validation split that are played while training; None is all."""
    keep_best: bool = True
    """True if the policy that did best on these is kept, instead of the last."""
    total_steps: int = 30_720
    """Steps (pass calls, rewrites) to train each policy on."""
    num_envs: int = 16
    """Number of environments that are played in an iteration."""
    horizon: int = 40
    """Steps in an episode, after which it is truncated."""
    evaluations: int = 4
    """Number of times that the validation benchmarks are played while training, evenly spread. With
    0 the last policy is kept."""
    checkpoint_every: int = 10
    """Number of iterations from one checkpoint to the next."""
    workers: Workers = "processes"
    """Kind of workers: processes of this machine, actors of a Ray cluster, or, to debug, this
    process."""
    num_workers: int | None = None
    """Number of workers; None is one a core, with Ray one for each CPU of the cluster."""
    ray_address: str | None = None
    """Ray cluster to join: host:port, or auto for this machine's; None starts one of its own."""
    envs_per_task: int = 4
    """Number of environments that one worker steps in lockstep. Results depend on it, but not on
    the number of workers."""
    pass_seconds: float = 60.0
    """Time limit of a step. A worker that exceeds it is replaced, and the pass is not tried on that
    module again."""
    check_seconds: float = 600.0
    """Time limit of both reference pipelines on a benchmark, and of the check of a result."""
    worker_memory_gib: float = 6.0
    """Resident memory of one worker, beyond which it is replaced."""
    module_cache_mib: int = 1024
    """Memory for modules as they were read, in each worker."""
    samples: int = 2
    """Number of random inputs on which a final module is compared with its original; 0 does not
    compare."""
    threads: int = 2
    """Number of threads that learn, each on a part of a minibatch; results do not depend on it."""
    device: str = "cpu"
    """Torch device of the networks while learning."""
    deterministic: bool = False
    """True computes the same bits on every x86-64 CPU with AVX2, but networks take 1.3 to 1.5 times
    as long. Otherwise a seed repeats its results on CPUs of the same kind only."""
    out: Path | None = None
    """Folder for checkpoints, logs and results; by default a new one under runs/."""
    start: str | None = None
    """Checkpoint of a policy to train further: a path or URL, or the name of one that comes with
    the project. It imitates nothing again, and is kept unless validation finds a better one. None
    starts with random weights."""
    resume: str | None = None
    """Run folder (or a checkpoint in it) to continue; other flags then change its settings. The
    URL of a run is copied to the folder --out, and continued there."""
    heads: HeadsConfig = field(default_factory=HeadsConfig)
    """Policy and value heads."""

    @property
    def given_policies(self) -> Mapping[PolicyName, str]:
        """Checkpoints of policies to compare with instead of training them: the baseline."""
        baseline: str | None = getattr(self, "baseline", None)
        return {} if baseline is None else {self.kinds[-1]: baseline}

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions that the settings ask for; empty if they leave that open."""
        return getattr(self, self.actions_setting)

    def with_actions(self, names: Sequence[str]) -> Self:
        """Returns the settings for a policy that knows these actions."""
        return replace(self, **{self.actions_setting: tuple(names)})


@dataclass(frozen=True)
class PassTrainConfig(TrainConfig):
    """Settings of all policies that order passes, and of `experiments.train op-counts`."""

    program = "train op-counts"
    kinds = ("op_counts",)
    actions_setting = "passes"
    passes: tuple[str, ...] = ()
    """Passes to order, by name; none is all that there are. A trained policy goes on with those of
    its training."""
    play_horizon: int = 60
    """Pass calls in an episode of validation and of the final table, if that is more than the
    horizon, which cuts episodes of training."""
    reward: Reward = "log-drop"
    """Reward of the policy. log-drop is the drop of the op count's logarithm less a price for each
    call; shaped is the drop and a potential of flops and transcendentals, with PPO's gamma."""
    call_cost: float = 0.02
    """Price of a pass call in log-drop, in percent of the op count. A higher price makes episodes
    stop sooner."""
    value_costs: bool = False
    """True if the value head, and only it, also sees how flops and transcendentals changed."""
    cloning: CloningConfig = field(default_factory=lambda: CloningConfig(op_limit=2_000))
    """Imitation of fixed orders on the training benchmarks, of each the best, before PPO;
    --cloning.epochs 0 skips it."""
    sampling: Sampling = "shortfall"
    """Frequency of training benchmarks: all alike, or more often those on which the policy stays
    behind the best known order of passes."""
    no_op_mib: int = 32
    """Memory for known passes without effect, in each environment."""
    known_no_ops: Path | None = None
    """File of passes known to change nothing, which saves calls and changes no result. The workers
    of a machine share it, and later runs can continue it. None is a file in the run's folder, or
    with Ray one table in the memory of each worker."""
    known_no_ops_mib: int = 8
    """Size of that file; 200,000 states take 8."""
    op_counts: OpCountConfig = field(default_factory=OpCountConfig)
    """Encoder of the op-count policy."""
    op_counts_ppo: PPOConfig = field(default_factory=lambda: PPOConfig(averaging=0.95))
    """PPO of the op-count policy."""
    effects: EffectHeadConfig = field(default_factory=EffectHeadConfig)
    """Predictions which passes change a module, learned after PPO, so that a policy need not call
    the others."""
    op_counts_corrections: int = 0
    """Number of rounds of corrections of the op-count policy, in place of --cloning.corrections; it
    loses by one."""

    @property
    def longest_play(self) -> int:
        """Pass calls after which an episode that is played, not learned from, is truncated."""
        return max(self.horizon, self.play_horizon)


@dataclass(frozen=True)
class GNNTrainConfig(PassTrainConfig):
    """Settings of `train_gnn`, which also trains an op-count policy to compare with."""

    program = "train_gnn"
    kinds = ("gnn", "op_counts")
    baseline: str | None = None
    """Checkpoint of a policy on op counts to compare with, instead of training one: a path or URL,
    or the name of one that comes with the project."""
    gat: GATConfig = field(default_factory=lambda: GATConfig(layers=1, opcode_counts=True))
    """Encoder of the GNN policy. It knows the opcode counts exactly, which pooled vectors blur, and
    with them further layers bring nothing that pays for their time."""
    gat_ppo: PPOConfig = field(
        default_factory=lambda: PPOConfig(gamma=0.97, final_entropy=0.0, averaging=0.95)
    )
    """PPO of the GNN policy. It discounts less than other policies do, as a rare pass may show its
    worth ten passes later, and ends without an entropy bonus: it is played greedily."""


@dataclass(frozen=True)
class PointerTrainConfig(TrainConfig):
    """Settings of all policies that point at actions in a graph."""

    gat: GATConfig = field(default_factory=GATConfig)
    """Encoder of the graph."""
    candidates: ActionConfig = field(default_factory=ActionConfig)
    """Encoder of the actions, and their scores."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO."""


@dataclass(frozen=True)
class RewriteTrainConfig(PointerTrainConfig):
    """Settings of `experiments.train rewrites`."""

    program = "train rewrites"
    kinds = ("rewrites",)
    actions_setting = "rules"
    train_op_limit: int = 300
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 500
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    rules: tuple[str, ...] = ()
    """Rules to rewrite by, by name; none is `hlograph.rules.general`. A trained policy goes on with
    those of its training."""
    sweeps: bool = False
    """True to offer, beside single rewrites, a rule at all of its places as one step."""
    max_candidates: int = 64
    """Largest number of rewrites and sweeps that are offered in one state."""
    play_horizon: int = 500
    """Rewrites in an episode of validation and of the final table. In training, episodes are cut
    earlier, by the horizon."""
    patience: int | None = None
    """Steps without a smaller module after which such an episode ends; None is no limit."""
    reward: RewriteReward = "log-drop"
    """Reward of the policy. run-time measures each new state, final-run-time the last one of each
    episode; both take far longer than the others."""


@dataclass(frozen=True)
class FusionTrainConfig(PointerTrainConfig):
    """Settings of `experiments.train fusion`."""

    program = "train fusion"
    kinds = ("fusion",)
    actions_setting = "passes"
    train_op_limit: int = 200
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 300
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    passes: tuple[FusionPass, ...] = ("fusion", "multi-output-fusion")
    """Passes whose decisions the policy makes, in this order."""
    reward: FusionReward = "bytes-drop"
    """Reward of the policy. op-count-drop is the drop of kernels. The rewards of run time take far
    longer; final-run-time comes with the last decision, so it needs a discount of about 1."""
    pairs: int = 20
    """Number of pairs of runs, whose median is the run time of the final table."""
    sample_seconds: float = 0.02
    """Duration of each sample of a pair, in which the code runs repeatedly."""


@dataclass(frozen=True)
class TuningTrainConfig(PointerTrainConfig):
    """Settings of `experiments.train tuning`, which also trains a policy on op counts."""

    program = "train tuning"
    kinds = ("tuning", "tuning_counts")
    actions_setting = "decisions"
    baseline: str | None = None
    """Checkpoint of a policy on op counts to compare with, instead of training one: a path or URL,
    or the name of one that comes with the project."""
    corpus_set: CorpusSet | None = "speed"
    """Set of the corpus for training and held-out benchmarks; None is all but speed."""
    train_op_limit: int = 600
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 1_200
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    scaled: int = 9
    """Draws of each training benchmark in other sizes, which are trained on, too; those that XLA
    refuses are left out. None with Ray, whose workers do not read the folder of the run."""
    times: Times = "trees"
    """Prediction of times that the reward is the drop of: by the trees that come with hlograph,
    which also predict what each decision brings, or by rates of work."""
    max_offers: int = 96
    """Largest number of decisions that are offered in one state."""
    decisions: tuple[str, ...] = ()
    """Kinds of decisions that are offered, by name; none is all that there are. A trained policy
    goes on with those of its training."""
    play_horizon: int = 40
    """Decisions in an episode of validation and of the final table."""
    call_cost: float = 0.2
    """Price of a decision, in percent of the time."""
    result: Literal["last", "least"] = "least"
    """State whose plan an episode proposes: the last one, or the one with the least predicted
    time."""
    cloning: CloningConfig = field(
        default_factory=lambda: CloningConfig(epochs=60, correction_epochs=30, minibatch=32)
    )
    """Imitation of the fastest plans that were measured of the training benchmarks, before PPO;
    --cloning.epochs 0 skips it."""
    op_counts: OpCountConfig = field(default_factory=OpCountConfig)
    """Encoder of the policy on op counts."""
    budget: float = 2.0
    """Seconds in which each plan is measured beside the default."""
    returns: Literal["predicted", "measured"] = "predicted"
    """Sum of the rewards of an episode: the drop of the predicted time, or, with the last
    decision, that of the measured one. To measure takes about a minute an iteration."""
    measure_validation: bool = True
    """True if the plans on validation benchmarks are measured, and the policy is kept whose plans
    are fastest. The same seed may then keep another policy. Otherwise predicted times choose."""


T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Returns a frozen dataclass, with nested ones, as values that `json` can write."""
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def from_json(cls: type[T], data: Mapping[str, Any]) -> T:
    """Returns the dataclass that `to_json` wrote.

    Args:
        cls: The dataclass.
        data: Its fields; those that are missing take their defaults.

    Raises:
        ValueError: There is a field that the class does not have.
    """
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise ValueError(f"{cls.__name__} has no setting {', '.join(unknown)}")
    return cls(**{name: _value(hints[name], value) for name, value in data.items()})


def _value(hint: Any, value: Any) -> Any:
    """Returns the value of a field whose type is a dataclass, a path, a tuple, or plain."""
    if value is None:
        return None
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
    if is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value)
    if hint is Path:
        return Path(value)
    return tuple(value) if typing.get_origin(hint) is tuple else value
