"""What policies make of families that they never saw, and of modules larger than they saw.

Four groups of benchmarks: `test-seen` (families that training saw, in other configurations),
`test-unseen` (families and libraries that it did not), those of `train` that were too large to be
trained on, and those of both test splits with more than 10,000 instructions. The report also shows
all of them by size.
"""

from collections.abc import Sequence
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
    from experiments.policies.checkpoint import Checkpoint

LARGER = "larger than trained on"
"""Group of modules of the split train beyond every checkpoint's limit."""
HUGE_OPS = 10_000
HUGE = f"more than {HUGE_OPS:,} instructions"
"""Group of modules of the test splits of a size that no training comes near."""
_TESTS = ("test-seen", "test-unseen")


@dataclass(frozen=True)
class Config(CheckpointsConfig):
    """Settings of the experiment on generalisation."""

    corpus_set: CorpusSet | None = None
    """Set of the corpus that benchmarks are of; None is all sets."""
    huge_limit: int = 40_000
    """Benchmarks with more instructions are left out of those with more than 10,000, where
    op_limit is for the other groups."""


PRESETS = {
    "quick": Config(count=24, op_limit=4_000),
    "full": Config(preset="full", count=None, op_limit=50_000),
}


def run(config: Config, folder: Path) -> "Study":
    """Plays the checkpoints on the groups.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: It was made with other passes, or two are of one kind and seed.
        OSError: It cannot be read.
    """
    from experiments.outcomes.benchmarks import held_out_benchmarks

    checkpoints = opened(config)
    groups: Groups = {
        split: held_out_benchmarks(config.op_limit, config.count, config.corpus_set, split)
        for split in _TESTS
    }
    groups[LARGER] = larger_than_trained_on(config, checkpoints)
    groups[HUGE] = huge(config)
    notes = [_note(config, groups[HUGE])]
    play = play_greedily_or_best(config.samples)
    return play_checkpoints("generalisation", config, checkpoints, groups, folder, play, notes)


def larger_than_trained_on(config: Config, checkpoints: "Sequence[Checkpoint]") -> list[str]:
    """Modules of the split train that none of the checkpoints was trained on, for their size."""
    from experiments.outcomes.benchmarks import spread_over_families
    from hlograph import corpus

    limit = max(checkpoint.config["train_op_limit"] for checkpoint in checkpoints)
    train = corpus.load(config.corpus_set, "train", max_op_count=config.op_limit)
    return spread_over_families([b for b in train if b.op_count > limit], config.count)


def huge(config: Config) -> list[str]:
    """Modules of the test splits with more than ``HUGE_OPS`` instructions, within their limit."""
    from experiments.outcomes.benchmarks import spread_over_families
    from hlograph import corpus

    tests = [
        benchmark
        for split in _TESTS
        for benchmark in corpus.load(config.corpus_set, split, max_op_count=config.huge_limit)
    ]
    return spread_over_families([b for b in tests if b.op_count > HUGE_OPS], config.count)


def _note(config: Config, found: Sequence[str]) -> str:
    if found:
        return (
            f"{HUGE}: all {len(found)} that the test splits have of at most {config.huge_limit:,}."
        )
    return f"{HUGE}: the test splits have none of at most {config.huge_limit:,}."
