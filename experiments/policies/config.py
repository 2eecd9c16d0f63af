"""Settings of the training programs, and their presets.

Nothing here imports torch or the engine: the command line is built from these classes.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from models.config import (
    CandidateConfig,
    CloningConfig,
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
CorpusSet = Literal["gpt2-train", "diverse"]
Workers = Literal["processes", "ray", "in-process"]


@dataclass(frozen=True)
class TrainConfig:
    """What all training programs share."""

    preset: Preset = "quick"
    """Set of defaults for all the rest: quick takes minutes on two cores, full takes hours."""
    seed: int = 0
    """Seed of everything random; the same seed gives the same final table."""
    benchmarks: tuple[str, ...] = ()
    """Modules to train on: names, globs, files, folders or URLs; none is the train split."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus that training and held-out benchmarks are of; None is all sets."""
    train_op_limit: int = 1_200
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 3_000
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    test_count: int | None = 36
    """Held-out benchmarks to evaluate on, evenly over families; None is all."""
    validation_count: int | None = 36
    """Benchmarks of the validation split that are played while training; None is all."""
    keep_best: bool = True
    """Ends with the policy that did best on these, instead of the last."""
    total_steps: int = 30_720
    """Steps (pass calls, rewrites) to train each policy on."""
    num_envs: int = 16
    """Environments that are played in an iteration."""
    horizon: int = 40
    """Steps in an episode, after which it is truncated."""
    evaluations: int = 4
    """Times that the validation benchmarks are played while training, evenly spread."""
    checkpoint_every: int = 10
    """Iterations from one checkpoint to the next."""
    workers: Workers = "processes"
    """What plays: processes of this machine, actors of a Ray cluster, or, to debug, this one."""
    num_workers: int | None = None
    """Workers that play; None is one a core, with Ray one for each CPU of the cluster."""
    ray_address: str | None = None
    """Ray cluster to join: host:port, or auto for this machine's; None starts one of its own."""
    envs_per_task: int = 4
    """Environments that one worker steps in lockstep; results depend on it, not on workers."""
    pass_seconds: float = 60.0
    """A step that takes longer costs its worker; a pass is not tried on that module again."""
    check_seconds: float = 600.0
    """Both reference pipelines on a benchmark, or the check of a result, may take so long."""
    worker_memory_gib: float = 6.0
    """Resident memory of one worker, beyond which it is replaced."""
    module_cache_mib: int = 1024
    """Memory for modules as they were read, in each worker."""
    samples: int = 2
    """Random inputs on which a final module is compared with its original; 0 does not compare."""
    threads: int = 2
    """Threads that learn, each on a part of the minibatch; results do not depend on it."""
    device: str = "cpu"
    """Torch device of the networks while learning."""
    out: Path | None = None
    """Folder for checkpoints, logs and results; by default a new one under runs/."""
    resume: str | None = None
    """Run folder (or a checkpoint in it) to continue; other flags then change its settings. The
    URL of a run is copied to the folder --out, and continued there."""
    heads: HeadsConfig = field(default_factory=HeadsConfig)
    """Policy and value heads."""


@dataclass(frozen=True)
class PassTrainConfig(TrainConfig):
    """What programs share that train policies to order passes."""

    reward: Reward = "log-drop"
    """What the policy is rewarded for; log-drop is that of the count's logarithm, less a little for
    each call; shaped is the drop, and a potential of flops and transcendentals, with the learner's
    own gamma."""
    call_cost: float = 0.02
    """What log-drop takes off for each pass call, in percent of the op count: the more, the sooner
    an episode stops."""
    value_costs: bool = False
    """Whether the value head, and it alone, also sees how flops and transcendentals changed."""
    cloning: CloningConfig = field(default_factory=CloningConfig)
    """How the orders that searches found on the training benchmarks are imitated, before the policy
    learns from what it does itself; --cloning.epochs 0 begins with nothing."""
    no_op_mib: int = 32
    """Memory for what is known of passes without effect, in each environment."""
    known_no_ops: Path | None = None
    """File of passes known to change nothing, which saves calling them and changes no result: the
    workers of a machine share it, later runs go on with it. None is one in the run's folder; Ray's
    workers then have each their own, in memory."""
    known_no_ops_mib: int = 8
    """Size of that file; 200,000 states take 8."""


@dataclass(frozen=True)
class OpCountTrainConfig(PassTrainConfig):
    """Settings of `train_op_counts`."""

    op_counts: OpCountConfig = field(default_factory=OpCountConfig)
    """Encoder of the op-count policy."""
    op_counts_ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO of the op-count policy."""


@dataclass(frozen=True)
class GNNTrainConfig(OpCountTrainConfig):
    """Settings of `train_gnn`, which trains an op-count policy to compare with too."""

    gat: GATConfig = field(default_factory=GATConfig)
    """Encoder of the GNN policy."""
    gat_ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO of the GNN policy."""
    baseline: str | None = None
    """Checkpoint (path or URL) of an op-count policy to compare with, instead of training one."""


@dataclass(frozen=True)
class RewriteTrainConfig(TrainConfig):
    """Settings of `train_rewrites`."""

    train_op_limit: int = 300
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 500
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    rules: tuple[str, ...] = ()
    """Rules to rewrite by, by name; none is `hlograph.rules.general`."""
    max_candidates: int = 64
    """Most rewrites that are offered in one state."""
    play_horizon: int = 500
    """Rewrites in an episode of validation and of the final table: to learn, episodes are cut
    earlier, by the horizon, but a result is where the policy stops."""
    reward: RewriteReward = "log-drop"
    """What the policy is rewarded for; run-time measures each new state, final-run-time the last
    one of each episode, and both take far longer than the others."""
    gat: GATConfig = field(default_factory=GATConfig)
    """Encoder of the graph."""
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    """Encoder of the candidates, and their scores."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO."""


@dataclass(frozen=True)
class FusionTrainConfig(TrainConfig):
    """Settings of `train_fusion`."""

    train_op_limit: int = 200
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 300
    """Held-out benchmarks with more instructions are left out of the evaluation."""
    passes: tuple[FusionPass, ...] = ("fusion", "multi-output-fusion")
    """Passes whose decisions are made, in this order."""
    reward: FusionReward = "bytes-drop"
    """What the policy is rewarded for; op-count-drop is the drop of kernels. Those of run time take
    far longer; final-run-time comes with the last decision, so it wants a discount of about 1."""
    gat: GATConfig = field(default_factory=GATConfig)
    """Encoder of the graph."""
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    """Encoder of the decision, and its score."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO."""
    pairs: int = 20
    """Pairs of runs of which the final table's run times are the median."""
    sample_seconds: float = 0.02
    """Time of each run of a pair, over whose repetitions the median is taken."""


_FULL = {
    "preset": "full",
    "train_op_limit": 8_000,
    "test_op_limit": 8_000,
    "test_count": 120,
    "validation_count": None,
    "total_steps": 1_000_000,
    "num_envs": 32,
    "horizon": 48,
    "evaluations": 20,
}

OP_COUNT_PRESETS: dict[str, OpCountTrainConfig] = {
    "quick": OpCountTrainConfig(),
    "full": OpCountTrainConfig(**_FULL),
}
GNN_PRESETS: dict[str, GNNTrainConfig] = {
    "quick": GNNTrainConfig(),
    "full": GNNTrainConfig(**_FULL),
}
REWRITE_PRESETS: dict[str, RewriteTrainConfig] = {
    # A module takes about half as many rewrites as it has instructions: episodes are long.
    "quick": RewriteTrainConfig(
        total_steps=24_000,
        num_envs=8,
        horizon=100,
        evaluations=3,
        validation_count=16,
        test_count=24,
    ),
    "full": replace(
        RewriteTrainConfig(**_FULL),
        train_op_limit=2_000,
        test_op_limit=4_000,
        horizon=200,
        play_horizon=4_000,
    ),
}
FUSION_PRESETS: dict[str, FusionTrainConfig] = {
    # A module asks for about as many decisions as it has instructions.
    "quick": FusionTrainConfig(
        total_steps=24_000,
        num_envs=8,
        horizon=300,
        evaluations=3,
        validation_count=16,
        test_count=24,
    ),
    "full": replace(
        FusionTrainConfig(**_FULL), train_op_limit=1_000, test_op_limit=2_000, horizon=2_000
    ),
}
