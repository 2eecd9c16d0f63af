"""Figure 4 of the paper: plain PPO, shaped rewards, and a value function that sees costs.

Flops and transcendentals are given to PPO in two ways: as a potential that shapes rewards (which
helped in the paper), and as features of the value function (which did not). Both for the GNN and
for op counts, on the corpus's diverse programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config import CorpusSet
from experiments.paper.settings import FULL, PAPER, Settings

if TYPE_CHECKING:
    from experiments.learner import LearnerName
    from experiments.study import Study, Trial

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
    test_op_limit: int = 600
    """Held-out benchmarks with more instructions are left out."""
    test_count: int | None = 12
    """Held-out benchmarks, evenly over families; None is all."""


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
    from experiments.crew import Crew, pool_of
    from experiments.paper.benchmarks import all_references, benchmarks_of, study_of_trainings

    train, test = benchmarks_of(config)
    shared = config.training(0, folder)
    with pool_of(shared) as pool:
        references, left_out = all_references(Crew(shared, pool, folder), test)
    trials: list[Trial] = []
    for variant in VARIANTS:
        trials += _trials(config, variant, folder, train, references)
    notes = (*_NOTES, *left_out)
    return study_of_trainings("figure4", config, train, references, trials, notes)


def _trials(
    config: Config, variant: str, folder: Path, train: Any, references: Any
) -> "list[Trial]":
    """Trials of one variant, both learners and all seeds, with workers of its own.

    Rewards and what states show are settings of workers.
    """
    from experiments.crew import Crew, pool_of
    from experiments.paper.ours import train_policy

    trials = []
    group = f"{config.corpus_set or 'corpus'} test-unseen"
    settings = config.training(0, folder, **VARIANTS[variant])
    with pool_of(settings) as pool:
        crew = Crew(settings, pool, folder)
        for learner, encoder in ENCODERS.items():
            for seed in config.seeds:
                place = folder / variant / learner / f"seed{seed}"
                labels = (f"{LABELS[variant]} ({encoder})", group)
                seeded = replace(settings, seed=seed)
                trials.append(train_policy(learner, seeded, place, train, references, crew, labels))
    return trials
