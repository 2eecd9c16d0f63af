"""Settings of the studies that train policies, and the paper's hyper-parameters.

Nothing here imports torch or the engine: command lines are built from these classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from experiments.policies.config import GNNTrainConfig
from experiments.train.command_line import GNN_PRESETS
from hlograph.corpus.shipped import CorpusSet
from models.config import GATConfig, PPOConfig

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
class TrainingStudyConfig:
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
        agents that are compared after equally many calls imitate nothing, are dealt all benchmarks
        alike, and do not learn which passes change nothing.

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
                "effects": replace(base.effects, episodes=0),
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
            play_horizon=self.horizon,
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

AgentName = Literal["dqn", "a2c", "trpo", "ppo", "maskable-ppo"]
AGENTS: tuple[AgentName, ...] = get_args(AgentName)
LABELS: dict[AgentName, str] = {
    "dqn": "DQN (op counts)",
    "a2c": "A2C (op counts)",
    "trpo": "TRPO (op counts)",
    "ppo": "PPO (op counts, stable-baselines3)",
    "maskable-ppo": "PPO with masks (op counts, sb3-contrib)",
}
"""Names shown in tables of agents that are played as they learned: all but one without the mask."""
MASKED = "masked in play"
"""Added to the name of an agent that learned without the mask and is played with it."""


@dataclass(frozen=True)
class AgentSettings:
    """Hyper-parameters that differ from the libraries' defaults.

    Discount, scale of rewards and GAE's lambda are those of this project's op-count PPO, and the
    two PPOs share its other settings too. The values below are this project's own choice, made
    for runs of ten thousand to a million pass calls; the paper's are not known.
    """

    width: int = 128
    """Width of both hidden layers of each network."""
    a2c_steps: int = 8
    """Steps in each environment before A2C learns; its default, 5, does not divide all horizons."""
    dqn_learning_rate: float = 1e-3
    """Step size of DQN's Adam; 1e-4 by default, for millions of frames."""
    dqn_buffer: int = 200_000
    """Transitions in DQN's replay buffer."""
    dqn_learning_starts: int = 640
    """Random pass calls before DQN learns."""
    dqn_target_interval: int = 500
    """Pass calls from one update of DQN's target network to the next."""
    dqn_exploration: float = 0.3
    """Share of the training in which DQN's share of random actions falls to 5 %."""


@dataclass(frozen=True)
class Figure2Config(TrainingStudyConfig):
    """Figure 2 of the paper: agents on GPT-2's training graphs, train and test disjoint.

    DQN, A2C, TRPO and PPO see op counts, PPO with a GNN sees the graph. Each learns from the same
    number of pass calls and is played greedily on families that it never saw.
    """

    agents: tuple[AgentName, ...] = AGENTS
    """Agents of stable-baselines3 and sb3-contrib."""
    agent: AgentSettings = field(default_factory=AgentSettings)
    """Hyper-parameters of the agents."""


@dataclass(frozen=True)
class Figure4Config(TrainingStudyConfig):
    """Figure 4 of the paper: plain PPO, shaped rewards, and a value function that sees costs.

    Flops and transcendentals are given to PPO in two ways: as a potential that shapes rewards
    (which helped in the paper), and as features of the value function (which did not). Both for the
    GNN and for op counts, on the corpus's diverse programs.
    """


VARIANTS: Mapping[str, GATConfig] = {
    "GATv2, depth 3 (all)": GATConfig(),
    "without edges": GATConfig(edges=False),
    "without edges and neighbour features": GATConfig(edges=False, neighbour_features=False),
    "without neighbour features": GATConfig(neighbour_features=False),
    "without attributes": GATConfig(attributes=False),
    "without operand positions": GATConfig(operand_positions=False),
    "without reverse edges": GATConfig(reverse_edges=False),
    "depth 0 (MLP on pooled nodes)": GATConfig(layers=0),
    "opcodes alone, pooled": GATConfig(layers=0, attributes=False, neighbour_features=False),
    "depth 1": GATConfig(layers=1),
    "depth 2": GATConfig(layers=2),
    "depth 4": GATConfig(layers=4),
    "depth 5": GATConfig(layers=5),
    "depth 6": GATConfig(layers=6),
    "GAT": GATConfig(layer="gat"),
    "SAGE": GATConfig(layer="sage"),
    "GIN": GATConfig(layer="gin"),
}
"""Settings of the encoder, by variant; the first is the default."""


@dataclass(frozen=True)
class AblationsConfig(TrainingStudyConfig):
    """Ablations of the graph and of the graph encoder, beside a policy on op counts.

    Each variant of the graph encoder leaves out one part, or uses another kind of layer, and learns
    from the same demonstrations (and, where the settings say so, from the same number of pass
    calls). Imitation varies less from seed to seed than reinforcement learning does, so that small
    differences show.
    """

    cloning_epochs: int = 10
    """Number of passes over the demonstrations."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Names of the variants to train."""


def _presets(quick: TrainingStudyConfig, **full: Any) -> dict[str, TrainingStudyConfig]:
    """Returns the settings by preset, from those of the quick one and changes of the others."""
    others = {"full": FULL, "paper": PAPER}
    return {"quick": quick} | {name: replace(quick, **of | full) for name, of in others.items()}


FIGURE2 = _presets(Figure2Config(corpus_set="gpt2-train", total_steps=7_680, test_op_limit=3_000))
FIGURE4 = _presets(
    Figure4Config(
        corpus_set="diverse",
        train_op_limit=600,
        test_op_limit=1_500,
        test_count=36,
        validation_op_limit=600,
    ),
    test_count=120,
)
ABLATIONS = _presets(
    AblationsConfig(
        corpus_set="diverse",
        total_steps=0,  # nothing is learned after the demonstrations
        train_op_limit=300,
        test_op_limit=1_500,
        test_count=36,
        validation_op_limit=1_500,
        evaluations=1,
    ),
    test_count=120,
    cloning_epochs=60,
    total_steps=200_000,
)
