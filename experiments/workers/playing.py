"""Plays a policy on benchmarks: greedy episodes, and the best of several."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch

from experiments.evaluate.evaluation import Outcome
from experiments.policies.evaluator import PolicyEvaluator
from experiments.policies.greedy import STOP_ABOVE, greedy_action
from experiments.policies.played_episode import PlayedEpisode
from experiments.policies.states import PolicyInput
from experiments.workers.lockstep import Lockstep
from models.actor_critic import ActorCritic, sample

Clock = Callable[[], float]
"""Function that returns seconds, such as ``time.monotonic``."""


def play_greedily(
    envs: Lockstep,
    policy: ActorCritic,
    benchmarks: Sequence[str],
    stop_above: float = STOP_ABOVE,
    seconds: float | None = None,
    clock: Clock = time.monotonic,
) -> list[Outcome]:
    """Plays one greedy episode in each environment, and returns the results.

    Args:
        envs: As many environments as benchmarks, in lockstep.
        policy: The policy; the likeliest action under the mask is taken.
        benchmarks: Names of the benchmarks.
        stop_above: Probability of stopping above which an episode ends. A lower one makes
            episodes shorter.
        seconds: Time after which no further step is taken; None is no limit.
        clock: Clock of that time.
    """
    player = _Player(envs, policy, stop_above, seconds, clock)
    return [envs.kind.outcome(e) for e in player.play(benchmarks, [None] * len(benchmarks))]


def play_samples(
    envs: Lockstep,
    policy: ActorCritic,
    benchmark: str,
    samples: int,
    seed: int,
    stop_above: float = STOP_ABOVE,
    seconds: float | None = None,
) -> Outcome:
    """Plays several episodes on one benchmark and keeps the state with the least op count.

    The first episode is greedy and the others draw their actions, so more samples are never
    worse.

    Args:
        envs: Environments in lockstep; as many are used as there are episodes.
        policy: The policy.
        benchmark: Name of the benchmark.
        samples: Number of episodes.
        seed: Seed of the draws, which also depend on the benchmark and the episode's number.
        stop_above: Probability of stopping above which the greedy episode ends.
        seconds: Wall time after which no further step is taken; None is no limit.

    Returns:
        Of the states with the least op count the one with the fewest passes. Its calls are
        those of all episodes together; ``out_of_time`` is True if the limit ended them.
    """
    player = _Player(envs, policy, stop_above, seconds)
    outcomes: list[Outcome] = []
    for begin in range(0, samples, len(envs)):
        numbers = range(begin, min(begin + len(envs), samples))
        draws = [_draws(seed, benchmark, number) if number else None for number in numbers]
        outcomes += map(envs.kind.outcome, player.play([benchmark] * len(draws), draws))
        if player.out_of_time:
            break
    best = min(outcomes, key=lambda outcome: (outcome.op_count, len(outcome.passes)))
    calls = sum(outcome.calls for outcome in outcomes)
    return replace(best, calls=calls, out_of_time=player.out_of_time)


def play_drawn(
    envs: Lockstep,
    policy: ActorCritic,
    benchmark: str,
    seed: int,
    seconds: float | None = None,
    clock: Clock = time.monotonic,
) -> Outcome:
    """Plays an episode on one benchmark that draws its actions.

    Args:
        envs: Environments in lockstep, of which one is used.
        policy: The policy.
        benchmark: Name of the benchmark.
        seed: Seed of the draws, which also depend on the benchmark.
        seconds: Time after which no further step is taken; None is no limit.
        clock: Clock of that time.
    """
    player = _Player(envs, policy, STOP_ABOVE, seconds, clock)
    (episode,) = player.play([benchmark], [_draws(seed, benchmark, 0)])
    return envs.kind.outcome(episode)


def _draws(seed: int, benchmark: str, number: int) -> torch.Generator:
    state = np.random.SeedSequence([seed, number, *benchmark.encode()]).generate_state(1)
    return torch.Generator().manual_seed(int(state[0]))


class _Player:
    """Plays episodes in lockstep, and encodes each distinct state once.

    Args:
        envs: The environments.
        policy: The policy.
        stop_above: See ``likeliest``.
        seconds: Time from now after which no further step is taken; None is no limit.
        clock: Clock of that time.
    """

    def __init__(
        self,
        envs: Lockstep,
        policy: ActorCritic,
        stop_above: float,
        seconds: float | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._envs, self._stop_above = envs, stop_above
        self._patience = envs.kind.patience
        self._evaluate = PolicyEvaluator(policy)
        self._clock = clock
        self._deadline = math.inf if seconds is None else clock() + seconds
        self.out_of_time = False
        """True once the time limit ended an episode."""

    def play(
        self, benchmarks: Sequence[str], draws: Sequence[torch.Generator | None]
    ) -> list[PlayedEpisode]:
        """Plays one episode in each of the first environments.

        Args:
            benchmarks: Benchmark of each episode.
            draws: Generator that draws the actions of each; None for a greedy episode.
        """
        begun = self._envs.reset(dict(enumerate(benchmarks)))
        running: dict[int, PolicyInput] = {n: state for n, (state, _) in begun.items()}
        episodes = [PlayedEpisode(b, [begun[n][1]["size"]]) for n, b in enumerate(benchmarks)]
        taken = [defaultdict(set) for _ in benchmarks]
        while running:
            if self._clock() > self._deadline:
                self.out_of_time = True
                break
            log_probs = self._evaluate(list(running.values())).log_probs
            actions = {}
            for row, (n, state) in enumerate(running.items()):
                generator = draws[n]
                if generator is not None:
                    actions[n] = int(sample(log_probs[row : row + 1], generator))
                else:
                    past = taken[n][state.key]
                    actions[n] = greedy_action(
                        self._envs.kind, state, log_probs[row], past, self._stop_above
                    )
                    past.add(actions[n])
            for n, after in self._envs.step(actions).items():
                episodes[n].record(after.info, after.reward)
                running[n] = after.state
                given_up = self._patience is not None and episodes[n].idle >= self._patience
                if after.terminated or after.truncated or given_up:
                    del running[n]
        return episodes
