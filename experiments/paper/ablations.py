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

from experiments.paper.settings import FULL, Settings
from experiments.policies.config import CorpusSet
from models.config import GATConfig

if TYPE_CHECKING:
    from experiments.outcomes.study import Study
    from experiments.paper.ours import Variant
    from experiments.policies.learner import LearnerName

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
    train_op_limit: int = 300
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 1_500
    """Held-out benchmarks with more instructions are left out."""
    test_count: int | None = 36
    """Held-out benchmarks, evenly over families; None is all."""
    validation_op_limit: int = 1_500
    """Benchmarks of the split validation with more instructions are left out."""
    evaluations: int = 1
    """Points of the learning curve."""
    cloning_epochs: int = 10
    """Passes over the demonstrations."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Which to train, by the names that tables show."""


PRESETS = {
    "quick": Config(),
    "full": replace(Config(**FULL, test_count=120, cloning_epochs=60), total_steps=200_000),
}

_NOTES = (
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
    from experiments.paper.benchmarks import benchmarks_of, study_of_trainings
    from experiments.paper.ours import train_variants

    unknown = set(config.variants) - set(VARIANTS)
    if unknown:
        raise ValueError(f"no variants {sorted(unknown)}; there are {', '.join(VARIANTS)}")
    benchmarks = benchmarks_of(config, folder)
    variants = [_variant(config, folder, "op_counts", OP_COUNTS, GATConfig())]
    variants += [_variant(config, folder, "gnn", name, VARIANTS[name]) for name in config.variants]
    trials = train_variants(variants, config.seeds, benchmarks, folder)
    notes = (how_they_learned(config, benchmarks.train), *_NOTES)
    return study_of_trainings("ablations", config, benchmarks, trials, notes)


def _variant(
    config: Config, folder: Path, learner: "LearnerName", name: str, gat: GATConfig
) -> "Variant":
    from experiments.paper.ours import Variant

    settings = config.training(0, folder, gat=gat)
    settings = replace(settings, cloning=replace(settings.cloning, epochs=config.cloning_epochs))
    return Variant(name, learner, settings, folder / name.replace(" ", "-"))


def how_they_learned(config: Config, train: Sequence[str]) -> str:
    """What policies learned from, as a note.

    Args:
        config: Settings.
        train: Benchmarks that they were trained on.
    """
    from experiments.training.demonstrations import known_ways

    imitated = len(known_ways(train)) if config.cloning_epochs else 0
    then = (
        f"then learned from {config.steps:,} pass calls of their own (PPO)"
        if config.steps
        else "learned from no pass calls of their own"
    )
    return (
        f"All policies first imitated the orders that searches found on {imitated} training "
        f"benchmarks (datasets/best_known.csv), {config.cloning_epochs} times each, and {then}; "
        "they were played greedily."
    )
