"""Collects one iteration of experience from environments in lockstep."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from experiments.policies.evaluator import PolicyEvaluator
from experiments.policies.states import STOP, PolicyInput
from experiments.workers.lockstep import Lockstep, Transition
from experiments.workers.stopwatch import Stopwatch
from models.actor_critic import ActorCritic, sample
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
    envs: Lockstep,
    policy: ActorCritic,
    deck: Deck,
    generator: torch.Generator,
    steps: int,
    clock: Stopwatch,
) -> tuple[Rollout, RolloutStats]:
    """Plays a policy and records the experience that PPO learns from.

    All environments start new episodes. With as many steps as the horizon, an episode that
    does not stop early is played to its end. The result depends on the parameters, the deck
    and the generator only, so that a resumed run repeats it exactly.

    Args:
        envs: Environments in lockstep.
        policy: The policy to play.
        deck: Deals the benchmark of each episode.
        generator: Draws the actions.
        steps: Steps of each environment.
        clock: Adds up the seconds of `pass`, `featurisation` (the rest of stepping) and
            `inference`.
    """
    iteration = _Iteration(envs, policy, deck, clock)
    for step in range(steps):
        iteration.step(generator, last=step == steps - 1)
    return iteration.rollout(), iteration.stats


class _Iteration:
    """One iteration while it is collected, one row for each step."""

    def __init__(
        self,
        envs: Lockstep,
        policy: ActorCritic,
        deck: Deck,
        clock: Stopwatch,
    ) -> None:
        self._envs, self._deck, self._clock = envs, deck, clock
        self._evaluate = PolicyEvaluator(policy)
        self._rows: list[dict[str, Tensor]] = []
        self._states: dict[int, PolicyInput] = {}
        self._episodes: dict[int, TrainingEpisode] = {}
        self.stats = RolloutStats()
        self._begin_episodes(range(len(envs)))

    def step(self, generator: torch.Generator, last: bool) -> None:
        """Takes one action in each environment; `last` is True if no step follows."""
        row, log_probs = self._judge(self._states.values())
        row["action"] = sample(log_probs, generator)
        row["log_prob"] = log_probs.gather(1, row["action"].unsqueeze(1)).squeeze(1)
        with self._clock.section("featurisation"):
            after = self._envs.step(dict(enumerate(row["action"].tolist())))
        self._note_pass_time(after.values())
        row["reward"] = torch.tensor([t.reward for t in after.values()])
        row["terminated"] = torch.tensor([t.terminated for t in after.values()])
        row["truncated"] = torch.tensor([t.truncated for t in after.values()])
        self._fill_next_values(row, after, last)
        self._rows.append(row)
        self._states = {n: t.state for n, t in after.items()}
        for n, transition in after.items():
            self._note(n, transition)
        ended = [n for n, t in after.items() if t.terminated or t.truncated]
        if ended and not last:
            self._begin_episodes(ended)

    def rollout(self) -> Rollout:
        """Returns the experience."""
        table = self._evaluate.table
        columns = {name: torch.stack([row[name] for row in self._rows]) for name in self._rows[0]}
        return Rollout(states=table.states, keys=table.keys, **columns)

    def _begin_episodes(self, numbers: Iterable[int]) -> None:
        benchmarks = {n: self._deck.deal() for n in numbers}
        with self._clock.section("featurisation"):
            begun = self._envs.reset(benchmarks)
        for n, (state, info) in begun.items():
            self._states[n] = state
            self._episodes[n] = TrainingEpisode(benchmarks[n], info["size"], info["size"], n)

    def _judge(self, states: Iterable[PolicyInput]) -> tuple[dict[str, Tensor], Tensor]:
        """Returns state, context, mask and value of a row, and log-probabilities [N, A]."""
        with self._clock.section("inference"):
            found = self._evaluate(list(states))
        row = {
            "state": torch.tensor(found.numbers),
            "context": found.context,
            "mask": found.mask,
            "value": found.value,
        }
        return row, found.log_probs

    def _fill_next_values(
        self, row: dict[str, Tensor], after: Mapping[int, Transition], last: bool
    ) -> None:
        """Fills in the values of the states after this row's and the previous row's actions.

        If an episode goes on, that is the value in the next row. The others are evaluated here,
        except for those after termination, whose value is not used.
        """
        if self._rows:
            previous = self._rows[-1]
            ended = previous["terminated"] | previous["truncated"]
            previous["next_value"] = torch.where(ended, previous["next_value"], row["value"])
        row["next_value"] = torch.zeros(len(after))
        left = [n for n, t in after.items() if t.truncated or (last and not t.terminated)]
        if left:
            judged, _ = self._judge(after[n].state for n in left)
            row["next_value"][left] = judged["value"]

    def _note_pass_time(self, after: Iterable[Transition]) -> None:
        """Moves the time of the passes from the section of stepping to their own."""
        seconds = sum(t.info["step_time"] for t in after)
        self._clock.add("pass", seconds)
        self._clock.add("featurisation", -seconds)

    def _note(self, number: int, transition: Transition) -> None:
        """Adds one step of one environment to the statistics."""
        info, episode = transition.info, self._episodes[number]
        episode.reward += transition.reward
        episode.op_count = info["size"]
        episode.steps += 1
        if info["step_name"] != STOP:
            if info["changed"]:
                episode.changes.append(info["step_name"])
            self.stats.unchanged += not info["changed"]
            self.stats.errors += info["error"] is not None
        if transition.terminated or transition.truncated:
            episode.last = len(self._rows) - 1
            self.stats.episodes.append(episode)
