"""Settings that several experiments share, and the paper's hyper-parameters.

Nothing here imports torch or the engine: command lines are built from these classes.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from experiments.policies.config import GNNTrainConfig, Workers
from experiments.train.presets import GNN_PRESETS
from hlograph.corpus.shipped import CorpusSet
from models.config import PPOConfig

PAPER_PPO = replace(PPOConfig(), gae_lambda=0.95, clip=0.2, entropy_weight=0.0)
"""PPO as far as "Target-independent XLA optimization using Reinforcement Learning" describes it.

GAE's lambda, the clip range and the missing entropy bonus are from its table, and so is an MLP over
op counts. Everything else (discount, step size, epochs, minibatches, width of the MLP, horizon,
number of environments) is this project's own choice. Two things differ on purpose: the actions are
the passes of the registry and a stop action, where the paper had 53 passes; and the reward is the
drop of the op count. The paper's negative count after each step would teach a policy that can stop
to stop at once.
"""


@dataclass(frozen=True)
class ExperimentConfig:
    """Settings of experiments that train nothing."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all other settings: quick takes minutes on two cores, full takes a
    night."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the methods that draw at random."""
    workers: Workers = "processes"
    """Place of the work: in processes of this machine, in actors of a Ray cluster, or, to
    debug, in this process."""
    num_workers: int | None = None
    """Number of workers; None is one a core."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/. An unfinished run of the same
    experiment in it is continued."""


@dataclass(frozen=True)
class Settings:
    """Settings of experiments that train policies."""

    preset: Literal["quick", "full", "paper"] = "quick"
    """Set of defaults for all other settings: quick takes minutes on two cores, full takes a day;
    paper is full with the paper's hyper-parameters, as far as they are known."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Each method is trained once with each of them."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus: the split train to learn from, test-unseen to be measured by."""
    total_steps: int = 10_240
    """Pass calls that each agent is trained on, rounded up to whole iterations of all agents."""
    train_op_limit: int = 2_000
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 2_000
    """Held-out benchmarks with more instructions are left out."""
    test_count: int | None = None
    """Number of held-out benchmarks, evenly over families; None is all."""
    validation_op_limit: int = 2_400
    """Benchmarks of the split validation with more instructions are left out."""
    validation_count: int | None = 12
    """Number of benchmarks of the split validation, evenly over families, that learning curves are
    drawn from. Nothing is chosen by them. None is all."""
    num_envs: int = 16
    """Environments of agents that learn from several at once."""
    horizon: int = 40
    """Pass calls in an episode."""
    evaluations: int = 4
    """Points of the learning curve."""
    samples: int = 2
    """Random inputs on which each final module is compared with its original."""
    num_workers: int | None = None
    """Processes that play and check; None is one a core."""
    op_counts_ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO of this project's op-count policy, and of the PPOs of other libraries where they have
    the same setting."""
    gat_ppo: PPOConfig = field(default_factory=PPOConfig)
    """PPO of the GNN policy."""
    out: Path | None = None
    """Folder for the study, checkpoints and events; by default a new one under runs/. An unfinished
    run of the same experiment in it is continued."""

    @property
    def steps(self) -> int:
        """Pass calls that each agent is trained on, the same number for all agents."""
        iteration = self.num_envs * self.horizon
        return -(-self.total_steps // iteration) * iteration

    def training(self, seed: int, folder: Path, **changes: Any) -> GNNTrainConfig:
        """Returns settings of this project's own training, without imitation.

        The reward is the drop of the op count. Searches have spent pass calls of their own, so
        agents that are compared after equally many calls imitate nothing, and are dealt all
        benchmarks alike.

        Args:
            seed: Seed of the training.
            folder: Folder of the experiment.
            changes: Further settings.
        """
        base = GNN_PRESETS["quick"]
        return replace(
            base,
            **{
                "reward": "op-count-drop",
                "cloning": replace(base.cloning, epochs=0),
                "sampling": "uniform",
            }
            | changes,
            seed=seed,
            corpus_set=self.corpus_set,
            total_steps=self.steps,
            train_op_limit=self.train_op_limit,
            test_op_limit=self.test_op_limit,
            test_count=self.test_count,
            validation_count=self.validation_count,
            num_envs=self.num_envs,
            horizon=self.horizon,
            evaluations=self.evaluations,
            samples=self.samples,
            num_workers=self.num_workers,
            op_counts_ppo=self.op_counts_ppo,
            gat_ppo=self.gat_ppo,
            out=folder,
        )


FULL: dict[str, Any] = {
    "preset": "full",
    "total_steps": 1_000_000,
    "train_op_limit": 8_000,
    "test_op_limit": 8_000,
    "validation_op_limit": 8_000,
    "validation_count": 36,
    "num_envs": 32,
    "horizon": 48,
    "evaluations": 20,
}
"""Settings of full presets that differ from the defaults."""
PAPER: dict[str, Any] = FULL | {
    "preset": "paper",
    "op_counts_ppo": PAPER_PPO,
    "gat_ppo": PAPER_PPO,
}
"""Settings of presets with the paper's hyper-parameters."""
