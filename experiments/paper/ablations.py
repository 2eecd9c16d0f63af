"""Ablations of the graph and of the graph encoder, beside a policy on op counts.

Each variant of the graph encoder leaves out one part, or uses another kind of layer, and learns
from the same demonstrations (and, where the settings say so, from the same number of pass calls).
Imitation varies less from seed to seed than reinforcement learning does, so that small differences
show.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper.settings import FULL, Settings
from models.config import GATConfig

if TYPE_CHECKING:
    from experiments.evaluate.study import Study
    from experiments.paper.training_study import Variant
    from experiments.policies.config import PolicyName

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
OP_COUNTS = "op counts (MLP)"


@dataclass(frozen=True)
class AblationsConfig(Settings):
    """Settings of the ablations."""

    cloning_epochs: int = 10
    """Number of passes over the demonstrations."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Names of the variants to train."""


_DEFAULTS: dict[str, Any] = {
    "corpus_set": "diverse",
    "total_steps": 0,  # nothing is learned after the demonstrations
    "train_op_limit": 300,
    "test_op_limit": 1_500,
    "test_count": 36,
    "validation_op_limit": 1_500,
    "evaluations": 1,
}
_FULL: dict[str, Any] = FULL | {"test_count": 120, "cloning_epochs": 60, "total_steps": 200_000}
PRESETS = {
    "quick": AblationsConfig(**_DEFAULTS),
    "full": AblationsConfig(**_DEFAULTS | _FULL),
}

_NOTES = (
    '"Neighbour features" are features of a node that describe other nodes without an edge to them '
    "(the number of operands and users, and if another node is alike): without edges they still "
    "tell something of the structure.",
)


def run(config: AblationsConfig, folder: Path) -> "Study":
    """Trains all variants and the op-count policy with all seeds; see ``Experiment.run``."""
    from experiments.paper.training_study import training_study

    unknown = set(config.variants) - set(VARIANTS)
    if unknown:
        raise ValueError(f"no variants {sorted(unknown)}; there are {', '.join(VARIANTS)}")
    variants = [_variant(config, folder, "op_counts", OP_COUNTS, GATConfig())]
    variants += [_variant(config, folder, "gnn", name, VARIANTS[name]) for name in config.variants]
    notes = (learning_note(config), *_NOTES)
    return training_study("ablations", config, variants, folder, notes)


def _variant(
    config: AblationsConfig, folder: Path, kind: "PolicyName", name: str, gat: GATConfig
) -> "Variant":
    from experiments.paper.training_study import Variant

    settings = config.training(0, folder, gat=gat)
    cloning = replace(settings.cloning, epochs=config.cloning_epochs, corrections=0)
    settings = replace(settings, cloning=cloning)
    return Variant(name, kind, settings, folder / name.replace(" ", "-"))


def learning_note(config: AblationsConfig) -> str:
    """Returns a note on what the policies learned from."""
    from experiments.evaluate.benchmarks import training_benchmarks
    from experiments.train.demonstrations import recorded_orders

    train = training_benchmarks((), config.train_op_limit, config.corpus_set)
    imitated = len(recorded_orders(train)) if config.cloning_epochs else 0
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
