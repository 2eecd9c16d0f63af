"""Figure 4 of the paper: plain PPO, shaped rewards, and a value function that sees costs.

Flops and transcendentals are given to PPO in two ways: as a potential that shapes rewards (which
helped in the paper), and as features of the value function (which did not). Both for the GNN and
for op counts, on the corpus's diverse programs.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper.settings import FULL, PAPER, Settings

if TYPE_CHECKING:
    from experiments.evaluate.study import Study
    from experiments.policies.config import PolicyName

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "shaped": {"reward": "shaped"},
    "value-costs": {"value_costs": True},
}
"""Changes of the training settings, by variant."""
LABELS = {
    "plain": "PPO",
    "shaped": "PPO, shaped rewards",
    "value-costs": "PPO, value function with costs",
}
"""Names shown in tables, by variant."""
ENCODERS: "Mapping[PolicyName, str]" = {"op_counts": "op counts", "gnn": "GNN"}


_DEFAULTS: dict[str, Any] = {
    "corpus_set": "diverse",
    "train_op_limit": 600,
    "test_op_limit": 1_500,
    "test_count": 36,
    "validation_op_limit": 600,
}
PRESETS = {
    "quick": Settings(**_DEFAULTS),
    "full": replace(Settings(**_DEFAULTS | FULL), test_count=120),
    "paper": replace(Settings(**_DEFAULTS | PAPER), test_count=120),
}

_NOTES = (
    "Shaped rewards are the drop of the op count plus gamma Phi(s') - Phi(s), with the policy's "
    "own gamma and Phi = 0 after stopping, so that the best policy stays the same. The form of Phi "
    "and its weight are this project's (`envs.rewards.Shaped`); the paper's are not known.",
    "The value function with costs sees the logarithms of flops and transcendentals relative to "
    "those at the start; the policy does not see them.",
    "Every policy learned from the same number of pass calls. Variants that use XLA's cost "
    "analysis also pay for it: about the time of a pass on each changed state.",
)


def run(config: Settings, folder: Path) -> "Study":
    """Trains all variants of both policies with all seeds; see ``Experiment.run``."""
    from experiments.paper.training_study import Variant, training_study

    variants = [
        Variant(
            f"{LABELS[name]} ({encoder})",
            kind,
            config.training(0, folder, **changes),
            folder / name / kind,
        )
        for name, changes in VARIANTS.items()
        for kind, encoder in ENCODERS.items()
    ]
    calls = f"Each policy learned from {config.steps:,} pass calls, and the last one was measured."
    return training_study("figure4", config, variants, folder, (*_NOTES, calls))
