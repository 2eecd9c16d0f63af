"""How far the best policies are from the aims, beside random search in the same wall time.

Each checkpoint is played greedily and with the best of several episodes kept, on families that no
policy was trained on. Random search then has on each benchmark as many seconds as the GNN took.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config import CorpusSet
from experiments.config_json import to_json
from experiments.paper.figure3 import CheckpointsConfig
from experiments.shipped import available, checkpoint_location
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.benchmarks import Reference
    from experiments.checkpoint_player import Player
    from experiments.study import Study, Trial


@dataclass(frozen=True)
class Config(CheckpointsConfig):
    """Settings of the comparison with the aims."""

    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus, each a group of benchmarks: of its split test-unseen."""
    samples: int = 16
    """Episodes on each benchmark, of which the best is kept, after the greedy one was played by
    itself."""


PRESETS = {
    "quick": Config(),
    "full": Config(preset="full", op_limit=50_000, count=None),
}

_NOTES = (
    "Results of several episodes count the pass calls and seconds of all of them.",
    "Random search has on each benchmark the wall time of the GNN with the same seed, its encoding "
    "included; what the GNN's training cost is in no budget.",
)


def run(config: Config, folder: Path) -> "Study":
    """Plays the checkpoints, and lets random search have their time.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: It was made with other passes.
        OSError: It cannot be read.
    """
    from experiments.benchmarks import held_out_benchmarks
    from experiments.checkpoint_player import player
    from experiments.paper.benchmarks import known_of
    from experiments.study import Study

    given = config.checkpoints or tuple(available())
    if not given:
        raise HloError("no checkpoints come with this checkout: name some with --checkpoints")
    groups = {
        f"{name} test-unseen": held_out_benchmarks(config.op_limit, config.count, name)
        for name in config.corpus_sets
    }
    references: dict[str, Reference] = {}
    trials: list[Trial] = []
    notes = list(_NOTES)
    for checkpoint, seed in zip(given, cycle(config.seeds), strict=False):
        location = checkpoint_location(checkpoint)
        pool = (config.num_workers, config.workers)
        with player(location, folder, config.checks, *pool) as play:
            if not references:
                names = list(dict.fromkeys(n for group in groups.values() for n in group))
                references, left_out = play.references(names)
                notes += left_out
            for group, names in groups.items():
                left = [name for name in names if name in references]
                trials += _trials(play, group, left, config.samples, seed)
    return Study(
        name="win",
        preset=config.preset,
        settings=to_json(config),
        references=references,
        trials=trials,
        best_known=known_of(references),
        notes=notes,
    )


def _trials(
    play: "Player", group: str, names: Sequence[str], samples: int, seed: int
) -> "Iterator[Trial]":
    """One checkpoint's trials on a group; with the GNN's, those of random search."""
    for count in dict.fromkeys((1, samples)):
        print(f"{play.method(count)}: {len(names)} benchmarks of {group}")
        trial = play.trial(group, names, count, seed)
        yield trial
        if play.checkpoint.learner == "gnn":
            yield _random_search(play, trial)


def _random_search(play: "Player", like: "Trial") -> "Trial":
    """Random search on the same benchmarks in the same time, by as many workers."""
    from experiments.search.task import Found, Search
    from experiments.study import Trial

    tasks = [
        Search(
            benchmark=outcome.benchmark,
            method="random",
            seed=like.seed,
            calls=None,
            seconds=seconds,
        )
        for outcome, seconds in zip(like.outcomes, like.seconds, strict=True)
    ]
    found: list[Found] = play.crew.run(tasks, "a search")
    outcomes = [each.outcome for each in found]
    return Trial(
        f"random search, time of {like.method}",
        like.seed,
        like.group,
        outcomes,
        play.crew.check(outcomes),
        [each.seconds for each in found],
        {each.outcome.benchmark: each.curve for each in found},
    )
