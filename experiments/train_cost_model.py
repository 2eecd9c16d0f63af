"""Trains the cost model of plans, and compares it with others on families it has not seen.

    python -m experiments.train_cost_model --seeds 0 1 2

It learns from the train split of the data set of plan times (``hlograph.corpus.plan_times``), and
is compared on ``validation`` and ``test``. Each seed's model is saved.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from experiments.cost_model.settings import TrainingConfig
from experiments.outcomes.run_command import run_in_folder, save_provenance
from hlograph.storage.atomic_write import write_text_atomically
from models.config import CostModelConfig

if TYPE_CHECKING:
    from experiments.cost_model.comparison import Comparison

LearningSplit = Literal["train", "small"]
"""Splits that have no family of those that models are compared on."""


@dataclass(frozen=True)
class TrainCostModelConfig:
    """Settings of a run."""

    seeds: tuple[int, ...] = (0,)
    """Seeds; each trains a model."""
    data: Path | None = None
    """Folder of the data set; None takes the one of the corpus."""
    learn_from: tuple[LearningSplit, ...] = ("train",)
    """Splits to learn from."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Settings of the training."""
    model: CostModelConfig = field(default_factory=CostModelConfig)
    """Shape of the model."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for, and prints what came of it.

    Returns:
        Exit status.
    """
    prog = "python -m experiments.train_cost_model"
    config = tyro.cli(TrainCostModelConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("cost-model", config.out, lambda folder: _run(config, folder))


def _run(config: TrainCostModelConfig, folder: Path) -> list[str]:
    from experiments.cost_model.comparison import Comparison
    from experiments.cost_model.examples import load_data

    data = load_data(config.data, config.learn_from)
    comparison = Comparison(data, config.model)
    save_provenance(config, folder)
    for seed in config.seeds:
        predictor = comparison.trained(config.training, seed)
        predictor.save(folder / f"cost-model-seed{seed}.pt")
        write_text_atomically(folder / "cost-model.md", _page(comparison))
    return [comparison.table()]


def _page(comparison: "Comparison") -> str:
    parts = [
        "# Cost model",
        comparison.about(),
        comparison.table(),
        "## Kendall's tau by program",
        comparison.programs_table(),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
