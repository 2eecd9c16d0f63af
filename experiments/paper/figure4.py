"""Figure 4 of the paper: plain PPO, shaped rewards, and a value function that sees costs.

Flops and transcendentals are given to PPO in two ways: as a potential that shapes rewards (which
helped in the paper), and as features of the value function (which did not). Both for the GNN and
for op counts, on the corpus's diverse programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper.settings import FULL, PAPER, Settings
from experiments.policies.config import CorpusSet

if TYPE_CHECKING:
    from experiments.outcomes.study import Study
    from experiments.policies.learner import LearnerName

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "shaped": {"reward": "shaped"},
    "value-costs": {"value_costs": True},
}
"""By name, what each variant changes of the training."""
LABELS = {
    "plain": "PPO",
    "shaped": "PPO, shaped rewards",
    "value-costs": "PPO, value function with costs",
}
"""What tables call them."""
ENCODERS: "Mapping[LearnerName, str]" = {"op_counts": "op counts", "gnn": "GNN"}


@dataclass(frozen=True)
class Config(Settings):
    """Settings of figure 4."""

    corpus_set: CorpusSet | None = "diverse"
    """Set of the corpus: the split train to learn from, test-unseen to be measured by."""
    train_op_limit: int = 600
    """Benchmarks with more instructions are left out of training."""
    test_op_limit: int = 1_500
    """Held-out benchmarks with more instructions are left out."""
    test_count: int | None = 36
    """Held-out benchmarks, evenly over families; None is all."""
    validation_op_limit: int = 600
    """Benchmarks of the split validation with more instructions are left out."""


PRESETS = {
    "quick": Config(),
    "full": Config(**FULL, test_count=120),
    "paper": Config(**PAPER, test_count=120),
}

_NOTES = (
    "Shaped rewards are the drop of the op count and gamma Phi(s') - Phi(s), with the learner's "
    "own gamma and Phi = 0 after stopping, which leaves the best policy what it is; the form of "
    "Phi and its weight are this project's (`envs.rewards.Shaped`), the paper's are not known.",
    "The value function with costs sees the logarithms of flops and transcendentals now over "
    "those at the start; the policy does not see them.",
    "Every policy learned from the same number of pass calls; XLA's cost analysis comes on top, "
    "about as long as a pass on each changed state, where a variant asks for it.",
)


def run(config: Config, folder: Path) -> "Study":
    """Trains all variants of both learners with all seeds, and checks their outcomes.

    Args:
        config: Settings.
        folder: Where checkpoints and events go.

    Raises:
        HloError: A benchmark cannot be read.
        OSError: A file cannot be written.
    """
    from experiments.paper.benchmarks import benchmarks_of, study_of_trainings
    from experiments.paper.ours import Variant, train_variants

    benchmarks = benchmarks_of(config, folder)
    variants = [
        Variant(
            f"{LABELS[name]} ({encoder})",
            learner,
            config.training(0, folder, **changes),
            folder / name / learner,
        )
        for name, changes in VARIANTS.items()
        for learner, encoder in ENCODERS.items()
    ]
    trials = train_variants(variants, config.seeds, benchmarks, folder)
    calls = f"Each policy learned from {config.steps:,} pass calls, and the last one was measured."
    return study_of_trainings("figure4", config, benchmarks, trials, (*_NOTES, calls))
