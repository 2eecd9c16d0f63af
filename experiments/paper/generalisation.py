"""What policies make of families that they never saw, and of modules larger than they saw.

Three groups of benchmarks: `test-seen` (families that training saw, in other configurations),
`test-unseen` (families and libraries that it did not), and those of `train` that were too large to
be trained on. The report also shows all of them by size.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config import CorpusSet
from experiments.paper.figure3 import CheckpointsConfig, Groups, play_checkpoints
from experiments.shipped import available, checkpoint_location

if TYPE_CHECKING:
    from experiments.study import Study

LARGER = "larger than trained on"
"""Group of modules of the split train beyond every checkpoint's limit."""


@dataclass(frozen=True)
class Config(CheckpointsConfig):
    """Settings of the experiment on generalisation."""

    corpus_set: CorpusSet | None = None
    """Set of the corpus that benchmarks are of; None is all sets."""


PRESETS = {
    "quick": Config(count=24, op_limit=4_000),
    "full": Config(preset="full", count=None, op_limit=50_000),
}


def run(config: Config, folder: Path) -> "Study":
    """Plays the checkpoints on the three groups.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: It was made with other passes.
        OSError: It cannot be read.
    """
    from experiments.benchmarks import held_out_benchmarks

    groups: Groups = {
        split: held_out_benchmarks(config.op_limit, config.count, config.corpus_set, split)
        for split in ("test-seen", "test-unseen")
    }
    groups[LARGER] = larger_than_trained_on(config)
    return play_checkpoints("generalisation", config, groups, folder)


def larger_than_trained_on(config: Config) -> list[str]:
    """Modules of the split train that none of the checkpoints was trained on, for their size."""
    from experiments.benchmarks import spread_over_families
    from experiments.checkpoint import Checkpoint
    from hlograph import corpus

    given = config.checkpoints or tuple(available())
    limits = [Checkpoint.load(checkpoint_location(name)).config["train_op_limit"] for name in given]
    train = corpus.load(config.corpus_set, "train", max_op_count=config.op_limit)
    larger = [b for b in train if b.op_count > max(limits, default=0)]
    return spread_over_families(larger, config.count)
