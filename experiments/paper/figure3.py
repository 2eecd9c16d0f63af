"""Figure 3 of the paper: GNN and op counts against XLA's own order, benchmark by benchmark.

Plays trained policies, one checkpoint for each seed, on families that none was trained on. The
policies that come with the project are played if no others are named.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper.checkpoints import (
    CheckpointsConfig,
    Groups,
    opened,
    play_checkpoints,
    play_greedily_or_best,
)
from experiments.policies.config import CorpusSet

if TYPE_CHECKING:
    from experiments.outcomes.study import Study


@dataclass(frozen=True)
class Config(CheckpointsConfig):
    """Settings of figure 3."""

    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus, each a group of benchmarks: of its split test-unseen."""


PRESETS = {
    "quick": Config(),
    "full": Config(preset="full", op_limit=50_000, count=None),
}


def run(config: Config, folder: Path) -> "Study":
    """Plays the checkpoints on held-out benchmarks of each set.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: It was made with other passes, or two are of one kind and seed.
        OSError: It cannot be read.
    """
    play = play_greedily_or_best(config.samples)
    return play_checkpoints("figure3", config, opened(config), groups_of(config), folder, play)


def groups_of(config: Config) -> Groups:
    """The held-out benchmarks of each set."""
    from experiments.outcomes.benchmarks import held_out_benchmarks

    return {
        f"{name} test-unseen": held_out_benchmarks(config.op_limit, config.count, name)
        for name in config.corpus_sets
    }
