"""Distance of the best policies from the aims, beside random search in the same wall time.

Each checkpoint is played greedily, then with a lower threshold for stopping, then with the best of
several episodes kept, on families that no policy was trained on. Random search gets on each
benchmark as many seconds as the GNN took.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper.checkpoints import opened, play_checkpoints
from experiments.paper.figure3 import Figure3Config, groups_of

if TYPE_CHECKING:
    from experiments.evaluate.study import Study, Trial
    from experiments.workers.player import Player


@dataclass(frozen=True)
class WinConfig(Figure3Config):
    """Settings of the comparison with the aims."""

    samples: int = 16
    """Episodes on each benchmark, of which the best is kept, after the greedy one was played by
    itself."""
    stop_above: float = 0.2
    """Each policy is also played so that it stops where stopping is at least this probable."""


PRESETS = {
    "quick": WinConfig(count=18, checks=1),
    "full": WinConfig(preset="full", op_limit=50_000, count=None),
}

_NOTES = (
    "Results of several episodes count the pass calls and seconds of all of them.",
    "Random search has on each benchmark the wall time of the GNN with the same seed, its encoding "
    "included; both begin with nothing known of the benchmark. No budget includes the GNN's "
    "training.",
)


def run(config: WinConfig, folder: Path) -> "Study":
    """Plays the checkpoints and runs random search in their time; see ``Experiment.run``."""
    play = partial(_trials, samples=config.samples, stop_above=config.stop_above)
    return play_checkpoints("win", config, opened(config), groups_of(config), folder, play, _NOTES)


def same_time(method: str) -> str:
    """Returns the name in tables of random search that had the wall time of a method."""
    return f"random search, time of {method}"


def _trials(
    play: "Player", group: str, names: Sequence[str], seed: int, samples: int, stop_above: float
) -> "Iterator[Trial]":
    """Yields the trials of one checkpoint on a group; after a GNN's, those of random search."""
    yield play.trial(group, names, stop_above=stop_above)
    for count in dict.fromkeys((1, samples)):
        print(f"{play.method(count)}: {len(names)} benchmarks of {group}")
        trial = play.trial(group, names, count, seed)
        yield trial
        if play.checkpoint.kind == "gnn":
            yield _random_search(play, trial)


def _random_search(play: "Player", like: "Trial") -> "Trial":
    """Runs random search on the same benchmarks in the same time, with as many workers."""
    from experiments.paper.trials import PlannedTrial, run_trial
    from experiments.search.task import Search

    tasks = {
        outcome.benchmark: Search(
            benchmark=outcome.benchmark,
            method="random",
            seed=like.seed,
            calls=None,
            seconds=seconds,
        )
        for outcome, seconds in zip(like.outcomes, like.seconds, strict=True)
    }
    plan = PlannedTrial(like.group, same_time(like.method), like.seed, tasks)
    return run_trial(play.runner, plan)
