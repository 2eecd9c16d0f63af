"""Figure 3 of the paper: GNN and op counts against XLA's own order, benchmark by benchmark.

Plays trained policies, one checkpoint for each seed, on families that none was trained on. The
policies that come with the project are played if no others are named.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.config import CorpusSet
from experiments.config_json import to_json
from experiments.shipped import available, checkpoint_location
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.benchmarks import Reference
    from experiments.study import Study, Trial

Groups = dict[str, list[str]]
"""Names of benchmarks by what the group is called."""


@dataclass(frozen=True)
class CheckpointsConfig:
    """Settings of experiments that play checkpoints."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all the rest: quick takes minutes on two cores, full takes hours."""
    seeds: tuple[int, ...] = (0,)
    """Of the episodes after the first, where several are played, one for each checkpoint in turn;
    the trials' seeds are those of the trainings."""
    checkpoints: tuple[str, ...] = ()
    """Policies, one checkpoint for each kind and seed of training: paths, URLs or names; none are
    those that come with the project."""
    samples: int = 1
    """Episodes on each benchmark, of which the best is kept; one is greedy."""
    op_limit: int = 3_000
    """Benchmarks with more instructions are left out."""
    count: int | None = 36
    """Benchmarks of each group, evenly over families; None is all."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    workers: Literal["processes", "in-process"] = "processes"
    """What plays: processes of this machine or, to debug, this one."""
    num_workers: int | None = None
    """Processes that play and check; None is one a core."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/."""


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
        ValueError: It was made with other passes.
        OSError: It cannot be read.
    """
    from experiments.benchmarks import held_out_benchmarks

    groups = {
        f"{name} test-unseen": held_out_benchmarks(config.op_limit, config.count, name)
        for name in config.corpus_sets
    }
    return play_checkpoints("figure3", config, groups, folder)


def play_checkpoints(name: str, config: CheckpointsConfig, groups: Groups, folder: Path) -> "Study":
    """Plays each checkpoint on each group of benchmarks.

    Args:
        name: The study's name.
        config: Settings.
        groups: The benchmarks.
        folder: Where lost workers are written down.
    """
    from experiments.paper.benchmarks import known_of
    from experiments.study import Study

    given = config.checkpoints or tuple(available())
    if not given:
        raise HloError("no checkpoints come with this checkout: name some with --checkpoints")
    references: dict[str, Reference] = {}
    notes: list[str] = []
    trials = list(_trials(config, given, groups, folder, references, notes))
    return Study(
        name=name,
        preset=config.preset,
        settings=to_json(config),
        references=references,
        trials=trials,
        best_known=known_of(references),
        notes=notes,
    )


def _trials(
    config: CheckpointsConfig,
    checkpoints: Sequence[str],
    groups: Groups,
    folder: Path,
    references: "dict[str, Reference]",
    notes: list[str],
) -> "Iterator[Trial]":
    """Trials, checkpoint by checkpoint; the first one's workers find the references."""
    from experiments.checkpoint_player import player

    for given, seed in zip(checkpoints, cycle(config.seeds), strict=False):
        location = checkpoint_location(given)
        pool = (config.num_workers, config.workers)
        with player(location, folder, config.checks, *pool) as play:
            if not references:
                names = list(dict.fromkeys(n for group in groups.values() for n in group))
                found, left_out = play.references(names)
                references |= found
                notes += left_out
            notes.append(
                f"{play.method()}, seed {play.checkpoint.config['seed']}: trained on "
                f"{play.checkpoint.steps:,} pass calls, modules of at most "
                f"{play.checkpoint.config['train_op_limit']:,} instructions."
            )
            for group, benchmarks in groups.items():
                left = [n for n in benchmarks if n in references]
                print(f"{play.method(config.samples)}: {len(left)} benchmarks of {group}")
                if left:
                    yield play.trial(group, left, config.samples, seed)
