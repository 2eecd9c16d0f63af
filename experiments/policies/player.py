"""Plays a policy: chooses actions in environments that step together, and keeps the results.

All that plays a policy is a use of ``Episodes``: experience to learn from, greedy episodes and the
best of several, the explorer's episodes, and the states in which a policy is corrected.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.evaluate.evaluation import Outcome
from experiments.policies.config import SKIP_BELOW
from experiments.policies.evaluator import Evaluation, PolicyEvaluator, greedy_action
from experiments.policies.kind import MakeEnv, PlayedEpisode, PolicyInput, PolicyKind
from models.actor_critic import ActorCritic, sample
from models.effects import recency

Clock = Callable[[], float]
"""Function that returns seconds, such as ``time.monotonic``."""


@dataclass(frozen=True)
class Transition:
    """Result of one step of one environment."""

    state: PolicyInput
    """State after the step, before any reset."""
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def ended(self) -> bool:
        """True if the episode ended with the step."""
        return self.terminated or self.truncated


class JointStep(NamedTuple):
    """One step of each running episode.

    Attributes:
        seen: Outputs of the policy before it, a row for each episode, by ascending number.
        actions: Actions that were taken, in the same order.
        after: What followed, by number of the episode.
    """

    seen: Evaluation
    actions: list[int]
    after: dict[int, Transition]


Choose = Callable[[Sequence[int], Evaluation], Sequence[int]]
"""Function that chooses an action in each running episode, given the numbers of the episodes and
the outputs of the policy, a row for each."""


class Episodes:
    """Episodes of a policy, one in each of some environments, which step together.

    One call of the policy serves all, and each distinct state is encoded once.

    Args:
        kind: Kind of the policy, which encodes the states.
        policy: The policy.
        make_env: Makes environments of this kind.
        num_envs: Number of environments.
        skip_below: Probability that an action makes a difference, as the policy predicts, below
            which it is masked, as if it had been tried and had changed nothing. Where going on is
            predicted to find nothing better, the episode ends. 0 takes all that it chooses.
    """

    def __init__(
        self,
        kind: PolicyKind,
        policy: ActorCritic,
        make_env: MakeEnv,
        num_envs: int = 1,
        skip_below: float = SKIP_BELOW,
    ) -> None:
        self.kind, self.envs = kind, [make_env() for _ in range(num_envs)]
        self._evaluator = PolicyEvaluator(policy)
        self._skip_below = skip_below if policy.predicts_effects else 0.0
        self.table = self._evaluator.table
        """States that were evaluated."""
        self.running: dict[int, PolicyInput] = {}
        """State of each episode that goes on, by number of its environment."""
        self.seconds = defaultdict[str, float](float)
        """Seconds so far of ``pass``, ``featurisation`` (the rest of steps) and ``inference``."""
        self._taken: dict[int, defaultdict[str, set[int]]] = {}
        self._changes: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.envs)

    def begin(self, benchmarks: Mapping[int, str]) -> dict[int, dict[str, Any]]:
        """Starts episodes that know of no pass without effect.

        A policy is evaluated on modules on which no pass was tried before, so it has to learn on
        such modules too. With the knowledge of earlier episodes most useless passes would be
        masked in training, and the policy would never pay for choosing them.

        Args:
            benchmarks: Benchmark by number of environment; the other episodes go on.

        Returns:
            First info, by number of environment.
        """
        infos = {}
        with self._timed("featurisation"):
            for number in sorted(benchmarks):
                # A seed makes the environment forget known no-ops. It has no other effect here,
                # since the benchmark is given.
                observation, infos[number] = self.envs[number].reset(
                    seed=0, options={"benchmark": benchmarks[number]}
                )
                self.running[number] = self.kind.encode(observation, infos[number])
                self._taken[number], self._changes[number] = defaultdict(set), []
        return infos

    def step(self, choose: Choose) -> JointStep:
        """Takes an action in each running episode; those that end run no longer.

        Args:
            choose: Chooses the actions.
        """
        numbers = sorted(self.running)
        seen, actions = self._chosen(numbers, choose)
        after: dict[int, Transition] = {}
        with self._timed("featurisation"):
            for number, action in zip(numbers, actions, strict=True):
                self._taken[number][self.running[number].key].add(action)
                after[number] = self.take(number, action)
        passes = sum(transition.info.get("step_time", 0.0) for transition in after.values())
        self.seconds["pass"] += passes
        self.seconds["featurisation"] -= passes
        return JointStep(seen, actions, after)

    def evaluate(self, states: Sequence[PolicyInput]) -> Evaluation:
        """Returns the outputs of the policy in states."""
        with self._timed("inference"):
            return self._evaluator(states)

    def greedy(
        self, number: int, seen: Evaluation, row: int = 0, stop_above: float | None = None
    ) -> int:
        """Returns the likeliest action of an episode; see ``greedy_action``.

        If the kind of policy avoids repeats, it is none that the episode took in this state before.

        Args:
            number: Number of the episode, which runs.
            seen: Outputs of the policy.
            row: Row of the episode in them.
            stop_above: See ``likeliest``; None is that of the kind of policy.
        """
        taken = self._taken[number][self.running[number].key] if self.kind.avoids_repeats else ()
        stop_above = self.kind.stop_above if stop_above is None else stop_above
        return greedy_action(seen.log_probs[row], seen.mask[row].numpy(), stop_above, taken)

    def recency(self, numbers: Sequence[int], num_actions: int) -> np.ndarray:
        """Returns how recently each action changed the state of some episodes.

        Args:
            numbers: The episodes.
            num_actions: Number of actions.

        Returns:
            float32 [len(numbers), num_actions - 1]: see ``models.effects.recency``.
        """
        return np.stack([recency(self._changes[number], num_actions) for number in numbers])

    def take(self, number: int, action: int) -> Transition:
        """Takes an action in one episode, whatever the policy would choose.

        Args:
            number: Number of the episode, which runs.
            action: The action.
        """
        observation, reward, terminated, truncated, info = self.envs[number].step(action)
        if info["changed"]:
            self._changes[number].append(action)
        state = self.kind.encode(observation, info)
        if terminated or truncated:
            del self.running[number]
        else:
            self.running[number] = state
        return Transition(state, float(reward), terminated, truncated, info)

    def _chosen(self, numbers: Sequence[int], choose: Choose) -> tuple[Evaluation, list[int]]:
        """Has an action chosen in each episode: none that is predicted to make no difference."""
        states = [self.running[number] for number in numbers]
        if not self._skip_below:
            seen = self.evaluate(states)
            return seen, [int(action) for action in choose(numbers, seen)]
        recent = self.recency(numbers, len(states[0].mask))
        with self._timed("inference"):
            seen, ends = self._evaluator.foreseeing(states, recent, self._skip_below)
        actions = [seen.mask.shape[1] - 1] * len(numbers)
        rows = np.flatnonzero(~ends).tolist()
        chosen = choose([numbers[row] for row in rows], seen.of(rows)) if rows else ()
        for row, action in zip(rows, chosen, strict=True):
            actions[row] = int(action)
        return seen, actions

    @contextmanager
    def _timed(self, section: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[section] += time.perf_counter() - start

    def close(self) -> None:
        """Closes the environments."""
        for env in self.envs:
            env.close()


def play_greedily(
    episodes: Episodes,
    benchmarks: Sequence[str],
    stop_above: float | None = None,
    seconds: float | None = None,
    clock: Clock = time.monotonic,
) -> list[Outcome]:
    """Plays one greedy episode in each environment, and returns the results.

    Args:
        episodes: As many environments as benchmarks.
        benchmarks: Names of the benchmarks.
        stop_above: Probability of stopping above which an episode ends; None is that of the kind
            of policy. A lower one makes episodes shorter.
        seconds: Time after which no further step is taken; None is no limit.
        clock: Clock of that time.
    """
    deadline = _deadline(seconds, clock)
    return _played(episodes, benchmarks, [None] * len(benchmarks), stop_above, deadline, clock)[0]


def play_samples(
    episodes: Episodes,
    benchmark: str,
    samples: int,
    seed: int,
    stop_above: float | None = None,
    seconds: float | None = None,
) -> Outcome:
    """Plays several episodes on one benchmark and keeps the state with the least op count.

    The first episode is greedy and the others draw their actions, so more samples are never
    worse.

    Args:
        episodes: Environments, of which as many are used at a time as there are samples.
        benchmark: Name of the benchmark.
        samples: Number of episodes.
        seed: Seed of the draws, which also depend on the benchmark and the episode's number.
        stop_above: Probability of stopping above which the greedy episode ends; None is that of
            the kind of policy.
        seconds: Wall time after which no further step is taken; None is no limit.

    Returns:
        Of the states with the least op count the one with the fewest passes. Its calls are
        those of all episodes together; ``out_of_time`` is True if the limit ended them.
    """
    deadline = _deadline(seconds, time.monotonic)
    outcomes: list[Outcome] = []
    out_of_time = False
    for begin in range(0, samples, len(episodes)):
        numbers = range(begin, min(begin + len(episodes), samples))
        draws = [generator_of(seed, benchmark, n) if n else None for n in numbers]
        played, out_of_time = _played(
            episodes, [benchmark] * len(draws), draws, stop_above, deadline, time.monotonic
        )
        outcomes += played
        if out_of_time:
            break
    best = min(outcomes, key=lambda outcome: (outcome.op_count, len(outcome.passes)))
    calls = sum(outcome.calls for outcome in outcomes)
    return replace(best, calls=calls, out_of_time=out_of_time)


def play_drawn(
    episodes: Episodes,
    benchmark: str,
    seed: int,
    seconds: float | None = None,
    clock: Clock = time.monotonic,
) -> Outcome:
    """Plays an episode on one benchmark that draws its actions.

    Args:
        episodes: Environments, of which one is used.
        benchmark: Name of the benchmark.
        seed: Seed of the draws, which also depend on the benchmark.
        seconds: Time after which no further step is taken; None is no limit.
        clock: Clock of that time.
    """
    draws = [generator_of(seed, benchmark, 0)]
    deadline = _deadline(seconds, clock)
    ((outcome,), _) = _played(episodes, [benchmark], draws, None, deadline, clock)
    return outcome


def _played(
    episodes: Episodes,
    benchmarks: Sequence[str],
    draws: Sequence[torch.Generator | None],
    stop_above: float | None,
    deadline: float,
    clock: Clock,
) -> tuple[list[Outcome], bool]:
    """Plays one episode in each of the first environments.

    Args:
        episodes: The environments.
        benchmarks: Benchmark of each episode.
        draws: Generator that draws the actions of each; None for a greedy episode.
        stop_above: See ``Episodes.greedy``.
        deadline: Time of the clock after which no further step is taken.
        clock: The clock.

    Returns:
        The results, and whether the deadline ended them.
    """

    def choose(numbers: Sequence[int], seen: Evaluation) -> list[int]:
        actions = []
        for row, number in enumerate(numbers):
            generator = draws[number]
            if generator is None:
                actions.append(episodes.greedy(number, seen, row, stop_above))
            else:
                actions.append(int(sample(seen.log_probs[row : row + 1], generator)))
        return actions

    kind = episodes.kind
    episodes.running.clear()
    infos = episodes.begin(dict(enumerate(benchmarks)))
    played = [PlayedEpisode(b, [infos[n]["size"]]) for n, b in enumerate(benchmarks)]
    out_of_time = False
    while episodes.running:
        out_of_time = clock() > deadline
        if out_of_time:
            break
        for number, after in episodes.step(choose).after.items():
            played[number].record(after.info, after.reward)
            if kind.patience is not None and played[number].idle >= kind.patience:
                episodes.running.pop(number, None)
    return [kind.outcome(episode) for episode in played], out_of_time


def _deadline(seconds: float | None, clock: Clock) -> float:
    return math.inf if seconds is None else clock() + seconds


def generator_of(seed: int, benchmark: str, number: int) -> torch.Generator:
    """Returns the generator that draws the actions of an episode.

    Args:
        seed: Seed of all episodes.
        benchmark: Name of the benchmark.
        number: Number of the episode on it.
    """
    state = np.random.SeedSequence([seed, number, *benchmark.encode()]).generate_state(1)
    return torch.Generator().manual_seed(int(state[0]))
