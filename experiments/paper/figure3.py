"""Figure 3 of the paper: GNN and op counts against XLA's own order, benchmark by benchmark.

Plays trained policies, one checkpoint for each seed, on families that none was trained on. By
default these are the policies that come with the project.
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
from hlograph.corpus.shipped import CorpusSet

if TYPE_CHECKING:
    from experiments.evaluate.study import Study


@dataclass(frozen=True)
class Figure3Config(CheckpointsConfig):
    """Settings of figure 3."""

    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus; the split test-unseen of each is a group of benchmarks."""


PRESETS = {
    "quick": Figure3Config(),
    "full": Figure3Config(preset="full", op_limit=50_000, count=None),
}


def run(config: Figure3Config, folder: Path) -> "Study":
    """Plays the checkpoints on held-out benchmarks of each set; see ``Experiment.run``."""
    play = play_greedily_or_best(config.samples)
    return play_checkpoints("figure3", config, opened(config), groups_of(config), folder, play)


def groups_of(config: Figure3Config) -> Groups:
    """Returns the held-out benchmarks of each set."""
    from experiments.evaluate.benchmarks import held_out_benchmarks

    return {
        f"{name} test-unseen": held_out_benchmarks(config.op_limit, config.count, name)
        for name in config.corpus_sets
    }
