"""Code shared by experiments that play the policies of checkpoints."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper.settings import ExperimentConfig
from experiments.policies.config_json import to_json
from experiments.policies.shipped import ORDERING, available, checkpoint_location, one_of_each
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.evaluate.benchmarks import Reference
    from experiments.evaluate.study import Study, Trial
    from experiments.policies.checkpoint import Checkpoint
    from experiments.workers.player import Player

    Play = Callable[[Player, str, Sequence[str], int], Iterable[Trial]]

Groups = dict[str, list[str]]
"""Names of benchmarks, by the name of the group."""


@dataclass(frozen=True)
class CheckpointsConfig(ExperimentConfig):
    """Settings of experiments that play checkpoints."""

    seeds: tuple[int, ...] = (0,)
    """Seeds of the episodes after the first, where several are played, one for each checkpoint in
    turn; the trials' seeds are those of the trainings."""
    checkpoints: tuple[str, ...] = ()
    """Policies, one checkpoint for each kind and seed of training: paths, URLs or names; none are
    those that come with the project."""
    samples: int = 1
    """Episodes on each benchmark, of which the best is kept; one is greedy."""
    op_limit: int = 3_000
    """Benchmarks with more instructions are left out."""
    count: int | None = 36
    """Number of benchmarks of each group, evenly over families; None is all."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""


def opened(config: CheckpointsConfig) -> "list[Checkpoint]":
    """Returns the checkpoints that an experiment plays.

    Raises:
        HloError: There is none, or one is damaged.
        ValueError: Two of them are of one kind and one seed of training, which tables could not
            tell apart.
        OSError: One cannot be read.
    """
    from experiments.policies.checkpoint import Checkpoint

    given = config.checkpoints or tuple(available(kinds=ORDERING))
    if not given:
        raise HloError("no checkpoints come with this checkout: name some with --checkpoints")
    found: dict[tuple[str, int], tuple[str, Checkpoint]] = {}
    for name in given:
        checkpoint = Checkpoint.load(checkpoint_location(name))
        key = checkpoint.kind, checkpoint.config["seed"]
        if key in found:
            raise ValueError(
                f"expected one checkpoint for each kind and seed of training; {found[key][0]} and "
                f"{name} are both of {key[0]} with seed {key[1]}"
            )
        found[key] = name, checkpoint
    return [checkpoint for _, checkpoint in found.values()]


_TRAINING_SEED = re.compile(r" \(training seed \d+\)")


def labelled(given: Sequence[str]) -> "dict[str, tuple[str, Checkpoint]]":
    """Returns checkpoints as given, by a name for tables that no two of them share.

    Args:
        given: Paths, URLs or names; empty is one of each kind that comes with the project.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        OSError: One cannot be read.
    """
    from experiments.policies.checkpoint import Checkpoint
    from experiments.policies.kind import kind_class

    found: dict[str, tuple[str, Checkpoint]] = {}
    for name in given or tuple(one_of_each(kinds=ORDERING)):
        checkpoint = Checkpoint.load(checkpoint_location(name))
        kind, seed = kind_class(checkpoint.kind).label, checkpoint.config["seed"]
        label, number = kind, 1
        while label in found:
            suffix = f", #{number}" if number > 1 else ""
            label, number = f"{kind} (training seed {seed}{suffix})", number + 1
        found[label] = name, checkpoint
    return found


def without_training_seed(name: str) -> str:
    """Returns a name of ``labelled``, or of a method with it, without the seed of the training."""
    return _TRAINING_SEED.sub("", name)


def play_greedily_or_best(samples: int) -> "Play":
    """Returns a function that plays a checkpoint on a group.

    Args:
        samples: Episodes on each benchmark, of which the best is kept; one is greedy.
    """

    def play(player: "Player", group: str, names: Sequence[str], seed: int) -> "Iterable[Trial]":
        print(f"{player.method(samples)}: {len(names)} benchmarks of {group}")
        yield player.trial(group, names, samples, seed)

    return play


def play_checkpoints(
    name: str,
    config: CheckpointsConfig,
    checkpoints: "Sequence[Checkpoint]",
    groups: Groups,
    folder: Path,
    play: "Play",
    notes: Sequence[str] = (),
) -> "Study":
    """Plays each checkpoint on each group of benchmarks.

    Args:
        name: Name of the study.
        config: Settings.
        checkpoints: The policies.
        groups: The benchmarks.
        folder: Folder for the records of lost workers.
        play: Makes the trials of one checkpoint on one group, given its player, the group's name,
            the benchmarks, and a seed.
        notes: Notes for the reader.
    """
    from tqdm import tqdm

    from experiments.evaluate.best_known import known_of
    from experiments.evaluate.study import Study
    from experiments.policies.checkpoint import training_cost
    from experiments.workers.player import player

    references: dict[str, Reference] = {}
    trials: list[Trial] = []
    left: Groups = {}
    told = [*notes, *map(training_cost, checkpoints)]
    wanted = list(dict.fromkeys(n for names in groups.values() for n in names))
    total = len(checkpoints) * len(groups)
    with tqdm(total=total, unit="group", desc=name, disable=None) as bar:
        for checkpoint, seed in zip(checkpoints, cycle(config.seeds), strict=False):
            pool = (config.num_workers, config.workers)
            with player(checkpoint, folder, config.checks, *pool) as playing:
                if checkpoint is checkpoints[0]:
                    references, left_out = playing.references(wanted)
                    left = {g: [n for n in names if n in references] for g, names in groups.items()}
                    told += left_out
                    told += [f"{group}: no benchmark is left." for group in left if not left[group]]
                for group, names in left.items():
                    if names:
                        trials += play(playing, group, names, seed)
                    bar.update()
    return Study(
        name=name,
        preset=config.preset,
        settings=to_json(config),
        references=references,
        trials=trials,
        best_known=known_of(references),
        notes=told,
    )
