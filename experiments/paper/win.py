"""How far the best policies are from the aims, beside random search in the same wall time.

Each checkpoint is played greedily, then so that it stops early, then with the best of several
episodes kept, on families that no policy was trained on. Random search has on each benchmark as
many seconds as the GNN took.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper import figure3
from experiments.paper.checkpoints import opened, play_checkpoints

if TYPE_CHECKING:
    from experiments.outcomes.study import Study, Trial
    from experiments.workers.player import Player


@dataclass(frozen=True)
class Config(figure3.Config):
    """Settings of the comparison with the aims."""

    samples: int = 16
    """Episodes on each benchmark, of which the best is kept, after the greedy one was played by
    itself."""
    stop_above: float = 0.2
    """Each is also played so that it stops where that is as probable as this, to be brief."""


PRESETS = {
    "quick": Config(count=18, checks=1),
    "full": Config(preset="full", op_limit=50_000, count=None),
}

_NOTES = (
    "Results of several episodes count the pass calls and seconds of all of them.",
    "Random search has on each benchmark the wall time of the GNN with the same seed, its encoding "
    "included; both begin with nothing known of the benchmark. What the GNN's training cost is in "
    "no budget.",
)


def run(config: Config, folder: Path) -> "Study":
    """Plays the checkpoints, and lets random search have their time.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: It was made with other passes, or two are of one kind and seed.
        OSError: It cannot be read.
    """
    play = partial(_trials, samples=config.samples, stop_above=config.stop_above)
    return play_checkpoints(
        "win", config, opened(config), figure3.groups_of(config), folder, play, _NOTES
    )


def same_time(method: str) -> str:
    """What tables call random search that had the wall time of a method."""
    return f"random search, time of {method}"


def _trials(
    play: "Player", group: str, names: Sequence[str], seed: int, samples: int, stop_above: float
) -> "Iterator[Trial]":
    """One checkpoint's trials on a group; with the GNN's, those of random search."""
    yield play.trial(group, names, stop_above=stop_above)
    for count in dict.fromkeys((1, samples)):
        print(f"{play.method(count)}: {len(names)} benchmarks of {group}")
        trial = play.trial(group, names, count, seed)
        yield trial
        if play.checkpoint.learner == "gnn":
            yield _random_search(play, trial)


def _random_search(play: "Player", like: "Trial") -> "Trial":
    """Random search on the same benchmarks in the same time, by as many workers."""
    from experiments.outcomes.study import Trial
    from experiments.search.task import Found, Search

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
        same_time(like.method),
        like.seed,
        like.group,
        outcomes,
        play.crew.check(outcomes),
        [each.seconds for each in found],
        {each.outcome.benchmark: each.curve for each in found},
    )
