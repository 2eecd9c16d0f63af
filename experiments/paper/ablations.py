"""What the parts of the graph and of the encoder are worth, and what a graph adds to counts.

Each variant of the graph encoder leaves out one thing, or gathers in another way, and learns from
the same demonstrations (and, where the settings say so, from as many pass calls of its own).
Learning from demonstrations is the same for all and varies less from seed to seed than
reinforcement learning does, so that small differences show.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config import CorpusSet, GNNTrainConfig
from experiments.paper.settings import FULL, Settings
from models.config import GATConfig

if TYPE_CHECKING:
    from experiments.benchmarks import Reference
    from experiments.learner import LearnerName
    from experiments.study import Study, Trial

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
"""The encoder as it is meant, and what each variant changes."""
OP_COUNTS = "op counts (MLP)"


@dataclass(frozen=True)
class Config(Settings):
    """Settings of the ablations."""

    corpus_set: CorpusSet | None = "diverse"
    """Set of the corpus: the split train to learn from, test-unseen to be measured by."""
    total_steps: int = 0
    """Pass calls that each policy learns from after the demonstrations, rounded up to whole
    iterations."""
    train_op_limit: int = 500
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 1_500
    """Held-out benchmarks with more instructions are left out."""
    test_count: int | None = 44
    """Held-out benchmarks, evenly over families; None is all."""
    evaluations: int = 1
    """Points of the learning curve."""
    cloning_epochs: int = 30
    """Passes over the demonstrations."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Which to train, by the names that tables show."""


PRESETS = {
    "quick": Config(),
    "full": replace(Config(**FULL, test_count=120, cloning_epochs=60), total_steps=200_000),
}

_NOTES = (
    "All policies imitate what searches found on the training benchmarks (datasets/best_known.csv) "
    "and were then played greedily.",
    '"Neighbour features" are what a node says of other nodes without an edge to them (how many '
    "operands and users, whether another is alike): without edges they still tell something of "
    "the structure.",
)


def run(config: Config, folder: Path) -> "Study":
    """Trains all variants with all seeds, and the op-count policy beside them.

    Args:
        config: Settings.
        folder: Where checkpoints and events go.

    Raises:
        HloError: A benchmark cannot be read.
        OSError: A file cannot be written.
        ValueError: There is no variant of a name.
    """
    from experiments.crew import Crew, pool_of
    from experiments.paper.benchmarks import all_references, benchmarks_of, study_of_trainings

    unknown = set(config.variants) - set(VARIANTS)
    if unknown:
        raise ValueError(f"no variants {sorted(unknown)}; there are {', '.join(VARIANTS)}")
    train, test = benchmarks_of(config)
    shared = _training(config, 0, folder, GATConfig())
    with pool_of(shared) as pool:
        references, left_out = all_references(Crew(shared, pool, folder), test)
    trials = _trials(config, "op_counts", OP_COUNTS, folder, train, references)
    for variant in config.variants:
        trials += _trials(config, "gnn", variant, folder, train, references)
    notes = (*_NOTES, *left_out)
    return study_of_trainings("ablations", config, train, references, trials, notes)


def _training(config: Config, seed: int, folder: Path, gat: GATConfig) -> GNNTrainConfig:
    settings = config.training(seed, folder, gat=gat)
    return replace(settings, cloning=replace(settings.cloning, epochs=config.cloning_epochs))


def _trials(
    config: Config,
    learner: "LearnerName",
    variant: str,
    folder: Path,
    train: Sequence[str],
    references: "Mapping[str, Reference]",
) -> "list[Trial]":
    """Trials of one variant, with workers of its own: the encoder is a setting of workers."""
    from experiments.crew import Crew, pool_of
    from experiments.paper.ours import train_policy

    group = f"{config.corpus_set or 'corpus'} test-unseen"
    settings = _training(config, 0, folder, VARIANTS.get(variant, GATConfig()))
    place = folder / variant.replace(" ", "-")
    trials = []
    with pool_of(settings) as pool:
        crew = Crew(settings, pool, folder)
        for seed in config.seeds:
            print(f"{variant}, seed {seed}")
            seeded = replace(settings, seed=seed)
            at = place / f"seed{seed}"
            labels = (variant, group)
            trials.append(train_policy(learner, seeded, at, train, references, crew, labels))
    return trials
