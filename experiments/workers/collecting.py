"""Collects one iteration of experience from environments in lockstep, and deals its benchmarks.

Benchmarks may be dealt more often on which a policy falls short of the best known order of passes.
It is a form of prioritised level replay (Jiang, Grefenstette and Rocktäschel 2021,
arXiv:2010.03934), which draws levels by what is left to learn in them. The error of values stands
for that there; here it is the distance from what searches found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from experiments.evaluate.evaluation import Ended
from experiments.policies.kind import STOP
from experiments.policies.player import Episodes, Transition
from models.actor_critic import sample
from models.rollout import Rollout


@dataclass
class TrainingEpisode:
    """One episode of training."""

    benchmark: str
    start_op_count: int
    op_count: int
    env: int
    """Number of its environment: its column in the rollout."""
    reward: float = 0.0
    steps: int = 0
    changes: list[str] = field(default_factory=list)
    """Names of the steps that changed the module."""
    last: int = 0
    """Row of its last step in the rollout."""


@dataclass
class RolloutStats:
    """Statistics of one iteration."""

    episodes: list[TrainingEpisode] = field(default_factory=list)
    """Episodes that ended in it."""
    unchanged: int = 0
    """Number of steps that changed nothing."""
    errors: int = 0
    """Number of steps that XLA refused."""

    def add(self, other: "RolloutStats", first: int) -> None:
        """Adds the statistics of another part of the same iteration.

        Args:
            other: The statistics.
            first: Number of the first environment of that part.
        """
        self.episodes += [replace(each, env=first + each.env) for each in other.episodes]
        self.unchanged += other.unchanged
        self.errors += other.errors


class Deck:
    """Deals benchmarks in random order, each once before any is dealt again.

    Args:
        benchmarks: Names to deal.
        seed: Seed of the order.
        player: Number of this player, from 0.
        players: Number of players that share the deck. Together they are dealt each benchmark
            once before any again, as long as each takes the same number.
    """

    def __init__(
        self, benchmarks: Sequence[str], seed: int, player: int = 0, players: int = 1
    ) -> None:
        self._benchmarks = benchmarks
        self._random = np.random.default_rng(seed)
        self._next, self._players = player, players
        self._order: list[int] = []

    def deal(self) -> str:
        """Returns the next benchmark."""
        while self._next >= len(self._order):
            self._order += self._random.permutation(len(self._benchmarks)).tolist()
        number = self._order[self._next]
        self._next += self._players
        return self._benchmarks[number]


def collect(
    episodes: Episodes, deck: Deck, generator: torch.Generator, steps: int
) -> tuple[Rollout, RolloutStats]:
    """Plays a policy and records the experience that PPO learns from.

    All environments start new episodes. With as many steps as the horizon, an episode that
    does not stop early is played to its end. The result depends on the parameters, the deck
    and the generator only, so that a resumed run repeats it exactly.

    Args:
        episodes: Environments, and the policy to play.
        deck: Deals the benchmark of each episode.
        generator: Draws the actions.
        steps: Steps of each environment.
    """
    iteration = _Iteration(episodes, deck)
    for step in range(steps):
        iteration.step(generator, last=step == steps - 1)
    return iteration.rollout(), iteration.stats


class _Iteration:
    """One iteration while it is collected, one row for each step."""

    def __init__(self, episodes: Episodes, deck: Deck) -> None:
        self._episodes, self._deck = episodes, deck
        self._rows: list[dict[str, np.ndarray]] = []
        self._records: dict[int, TrainingEpisode] = {}
        self.stats = RolloutStats()
        self._begin(range(len(episodes)))

    def step(self, generator: torch.Generator, last: bool) -> None:
        """Takes one action in each environment; `last` is True if no step follows."""
        seen, actions, after = self._episodes.step(
            lambda _, seen: sample(seen.log_probs, generator).tolist()
        )
        transitions = after.values()
        log_probs = seen.log_probs.numpy()
        row = {
            "state": np.array(seen.numbers),
            "context": seen.context.numpy(),
            "mask": seen.mask.numpy(),
            "value": seen.value.numpy(),
            "action": np.array(actions),
            "log_prob": log_probs[np.arange(len(actions)), actions],
            "reward": np.array([t.reward for t in transitions], np.float32),
            "terminated": np.array([t.terminated for t in transitions]),
            "truncated": np.array([t.truncated for t in transitions]),
        }
        self._fill_next_values(row, after, last)
        self._rows.append(row)
        for number, transition in after.items():
            self._note(number, transition)
        ended = [number for number, transition in after.items() if transition.ended]
        if ended and not last:
            self._begin(ended)

    def rollout(self) -> Rollout:
        """Returns the experience."""
        table = self._episodes.table
        columns = {
            name: torch.from_numpy(np.stack([row[name] for row in self._rows]))
            for name in self._rows[0]
        }
        return Rollout(states=table.states, keys=table.keys, **columns)

    def _begin(self, numbers: Iterable[int]) -> None:
        benchmarks = {number: self._deck.deal() for number in numbers}
        for number, info in self._episodes.begin(benchmarks).items():
            size = info["size"]
            self._records[number] = TrainingEpisode(benchmarks[number], size, size, number)

    def _fill_next_values(
        self, row: dict[str, np.ndarray], after: Mapping[int, Transition], last: bool
    ) -> None:
        """Fills in the values of the states after this row's and the previous row's actions.

        If an episode goes on, that is the value in the next row. The others are evaluated here,
        except for those after termination, whose value is not used.
        """
        if self._rows:
            previous = self._rows[-1]
            ended = previous["terminated"] | previous["truncated"]
            previous["next_value"] = np.where(ended, previous["next_value"], row["value"])
        row["next_value"] = np.zeros(len(after), np.float32)
        cut = [n for n, t in after.items() if t.truncated or (last and not t.terminated)]
        if cut:
            values = self._episodes.evaluate([after[n].state for n in cut]).value
            row["next_value"][cut] = values.numpy()

    def _note(self, number: int, transition: Transition) -> None:
        """Adds one step of one environment to the statistics."""
        info, episode = transition.info, self._records[number]
        episode.reward += transition.reward
        episode.op_count = info["size"]
        episode.steps += 1
        if info["step_name"] != STOP:
            if info["changed"]:
                episode.changes.append(info["step_name"])
            self.stats.unchanged += not info["changed"]
            self.stats.errors += info["error"] is not None
        if transition.ended:
            episode.last = len(self._rows) - 1
            self.stats.episodes.append(episode)


_STEP = 0.01
"""Shortfall for which a benchmark is dealt once more."""
_MOST = 8
"""Times that a benchmark is dealt at most, before all have been dealt."""
EPISODE_WEIGHT = 0.5
"""Weight of an episode of training, whose actions are drawn, beside the shortfall so far."""


class Shortfalls:
    """Holds how far a policy stays behind the least known op count of each benchmark.

    A shortfall is the logarithm of op count / known op count, and at least 0.

    Args:
        best_known: Least known op count by benchmark; others are dealt once.
        values: Shortfalls so far.
    """

    def __init__(self, best_known: Mapping[str, int], values: Mapping[str, float]) -> None:
        self.best_known = best_known
        """Least known op count by benchmark."""
        self.values = dict(values)
        """Shortfalls so far, by benchmark."""

    @property
    def mean(self) -> float:
        """Mean of the shortfalls so far; 0 without any."""
        return sum(self.values.values()) / max(len(self.values), 1)

    def note(self, results: Iterable[Ended], weight: float) -> None:
        """Takes results of a policy into account.

        Args:
            results: Ended episodes.
            weight: Weight of a result beside the shortfall so far; 1 forgets that.
        """
        for result in results:
            least = self.best_known.get(result.benchmark)
            if least is not None:
                new = max(0.0, math.log(result.op_count / least))
                old = self.values.get(result.benchmark, new)
                self.values[result.benchmark] = old + weight * (new - old)

    def dealt(self, benchmarks: Sequence[str]) -> list[str]:
        """Returns benchmarks with repetitions, one for each percent of shortfall.

        Args:
            benchmarks: Names of all.
        """
        return [
            name
            for name in benchmarks
            for _ in range(min(_MOST, 1 + round(self.values.get(name, 0.0) / _STEP)))
        ]
