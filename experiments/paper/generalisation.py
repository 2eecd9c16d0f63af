"""Generalisation of policies to families that they never saw and to larger modules.

Four groups of benchmarks: `test-seen` (families that training saw, in other configurations),
`test-unseen` (families and libraries that it did not see), those of `train` that were too large to
be trained on, and those of both test splits with more than 10,000 instructions. The report also
groups all of them by size.
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
from hlograph.corpus.shipped import CorpusSet

if TYPE_CHECKING:
    from experiments.evaluate.study import Study
    from experiments.policies.checkpoint import Checkpoint

LARGER = "larger than trained on"
"""Group of modules of the split train beyond every checkpoint's limit."""
HUGE_OPS = 10_000
HUGE = f"more than {HUGE_OPS:,} instructions"
"""Group of modules of the test splits that are much larger than any in training."""
_TESTS = ("test-seen", "test-unseen")


@dataclass(frozen=True)
class GeneralisationConfig(CheckpointsConfig):
    """Settings of the experiment on generalisation."""

    corpus_set: CorpusSet | None = None
    """Set of the corpus that benchmarks are from; None is all but speed."""
    huge_limit: int = 40_000
    """Size limit of the group of benchmarks with more than 10,000 instructions; op_limit is the
    limit of the other groups."""


PRESETS = {
    "quick": GeneralisationConfig(count=24, op_limit=4_000),
    "full": GeneralisationConfig(preset="full", count=None, op_limit=50_000),
}


def run(config: GeneralisationConfig, folder: Path) -> "Study":
    """Plays the checkpoints on the four groups; see ``Experiment.run``."""
    from experiments.evaluate.benchmarks import held_out_benchmarks

    checkpoints = opened(config)
    groups: Groups = {
        split: held_out_benchmarks(config.op_limit, config.count, config.corpus_set, split)
        for split in _TESTS
    }
    groups[LARGER] = larger_than_trained_on(config, checkpoints)
    groups[HUGE] = huge(config)
    found = len(groups[HUGE]) or "none"
    note = f"{HUGE}: the test splits have {found} of at most {config.huge_limit:,}."
    play = play_greedily_or_best(config.samples)
    return play_checkpoints("generalisation", config, checkpoints, groups, folder, play, [note])


def larger_than_trained_on(
    config: GeneralisationConfig, checkpoints: "Sequence[Checkpoint]"
) -> list[str]:
    """Returns modules of the split train that are larger than any checkpoint's training limit."""
    from experiments.evaluate.benchmarks import spread_over_families
    from hlograph import corpus

    limit = max(checkpoint.config["train_op_limit"] for checkpoint in checkpoints)
    train = corpus.load(config.corpus_set, "train", max_op_count=config.op_limit)
    return spread_over_families([b for b in train if b.op_count > limit], config.count)


def huge(config: GeneralisationConfig) -> list[str]:
    """Returns modules of the test splits with more than ``HUGE_OPS`` instructions."""
    from experiments.evaluate.benchmarks import spread_over_families
    from hlograph import corpus

    tests = [
        benchmark
        for split in _TESTS
        for benchmark in corpus.load(config.corpus_set, split, max_op_count=config.huge_limit)
    ]
    return spread_over_families([b for b in tests if b.op_count > HUGE_OPS], config.count)
