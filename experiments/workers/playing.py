"""Plays a policy on benchmarks: greedy episodes, and the best of several."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.outcomes.evaluation import Outcome
from experiments.policies.states import STOP, State, is_fusion, size, stacked, step_name
from experiments.workers.lockstep import Lockstep
from models.actor_critic import ActorCritic, sample
from models.rollout import StateTable

STOP_ABOVE = 0.5
"""Probability of stopping above which an episode that draws nothing ends."""


def play_greedily(
    envs: Lockstep,
    policy: ActorCritic,
    benchmarks: Sequence[str],
    stop_above: float = STOP_ABOVE,
    *,
    anew: bool = False,
) -> list[Outcome]:
    """Plays one greedy episode in each environment, benchmark by benchmark.

    Args:
        envs: As many environments as benchmarks, in lockstep.
        policy: What acts; the likeliest action under the mask is taken.
        benchmarks: Names of the benchmarks.
        stop_above: Probability of stopping above which an episode ends; with less it is shorter.
        anew: Whether an episode that comes back to a state does what it has not done there yet.
    """
    draws = [None] * len(benchmarks)
    episodes = _play(envs, policy, StateTable(policy), benchmarks, draws, stop_above, anew)
    return [episode.outcome() for episode in episodes]


def play_samples(
    envs: Lockstep,
    policy: ActorCritic,
    benchmark: str,
    samples: int,
    seed: int,
    stop_above: float = STOP_ABOVE,
    *,
    anew: bool = False,
) -> Outcome:
    """Plays several episodes on one benchmark and keeps the state with the least op count.

    The first episode is greedy, the others draw their actions: more samples never end worse.

    Args:
        envs: Environments in lockstep, of which as many are used as there are episodes.
        policy: What acts.
        benchmark: Name of the benchmark.
        samples: Number of episodes.
        seed: Seed of the draws, which also depend on the benchmark and the episode's number.
        stop_above: Probability of stopping above which the greedy episode ends.
        anew: Of the greedy episode, as of ``play_greedily``.

    Returns:
        Of the states with the least op count the one with the fewest passes; its calls are
        those of all episodes together.
    """
    table = StateTable(policy)
    episodes: list[Played] = []
    for begin in range(0, samples, len(envs)):
        numbers = range(begin, min(begin + len(envs), samples))
        draws = [_draws(seed, benchmark, number) if number else None for number in numbers]
        episodes += _play(envs, policy, table, [benchmark] * len(draws), draws, stop_above, anew)
    cut = [episode.outcome() for episode in episodes]
    best = min(cut, key=lambda outcome: (outcome.op_count, len(outcome.passes)))
    return replace(best, calls=sum(outcome.calls for outcome in cut))


def likeliest(log_probs: Tensor, stop_above: float = STOP_ABOVE) -> Tensor:
    """The action of a policy that does not draw: int64 [B].

    Stopping is one decision, and which pass to call another. An episode ends where stopping is
    more likely than not; that it is likelier than each of ninety passes alone says little.

    Args:
        log_probs: float32 [B, A], the last action of which is to stop.
        stop_above: Probability of stopping above which it is chosen.
    """
    stops = log_probs[:, -1] > math.log(stop_above)
    return torch.where(stops, log_probs.shape[1] - 1, log_probs[:, :-1].argmax(1))


def _draws(seed: int, benchmark: str, number: int) -> torch.Generator:
    state = np.random.SeedSequence([seed, number, *benchmark.encode()]).generate_state(1)
    return torch.Generator().manual_seed(int(state[0]))


@dataclass
class Played:
    """An episode as it is played."""

    benchmark: str
    op_counts: list[int]
    """At the start, and after each pass that changed the module."""
    passes: list[str] = field(default_factory=list)
    """Those that changed it."""
    calls: int = 0
    run_time: float | None = None
    """Of the last state, if it was timed."""
    reward: float | None = None
    """What it was paid so far, of fusion decisions."""
    tried: dict[str, set[int]] = field(default_factory=dict, repr=False)
    """By key of a state, the actions that were taken there."""

    def choose(self, state: State, log_probs: Tensor, stop_above: float) -> int:
        """The likeliest action, but for those that were taken in this state before.

        Without draws these would only lead round again.

        Args:
            state: Where the episode is.
            log_probs: float32 [A], of the policy there.
            stop_above: As of ``likeliest``.
        """
        tried = self.tried.setdefault(state.key, set())
        left = torch.tensor([bool(m) and a not in tried for a, m in enumerate(state.mask)])
        if not left[:-1].any():
            return len(log_probs) - 1
        left[-1] = True
        action = int(likeliest(log_probs.where(left, -math.inf)[None], stop_above))
        tried.add(action)
        return action

    def note(self, info: Mapping[str, Any], reward: float = 0.0) -> None:
        """Adds what a step's info says, and what it was paid."""
        self.run_time = info.get("run_time")
        if is_fusion(info):
            self.reward = (self.reward or 0.0) + reward
        name = step_name(info)
        if name is None or name == STOP:
            return
        self.calls += 1
        if info["changed"]:
            self.passes.append(name)
            self.op_counts.append(size(info))

    def outcome(self) -> Outcome:
        """The first state with the least op count, with the calls of the whole episode.

        Where the last state was timed it is the one: only a timed state is known to be worth it.
        So it is after fusion decisions, which are paid for something else than the count.
        """
        if self.run_time is not None or self.reward is not None:
            last, passes = self.op_counts[-1], tuple(self.passes)
            paid = (self.run_time, self.reward)
            return Outcome(self.benchmark, self.op_counts[0], last, passes, self.calls, *paid)
        least = min(self.op_counts)
        passes = tuple(self.passes[: self.op_counts.index(least)])
        return Outcome(self.benchmark, self.op_counts[0], least, passes, self.calls)


@torch.no_grad()
def _play(
    envs: Lockstep,
    policy: ActorCritic,
    table: StateTable,
    benchmarks: Sequence[str],
    draws: Sequence[torch.Generator | None],
    stop_above: float,
    anew: bool,
) -> list[Played]:
    """Plays one episode in each of the first environments.

    Args:
        envs: At least as many environments as benchmarks.
        policy: What acts.
        table: States that were encoded already.
        benchmarks: Benchmark of each episode.
        draws: What draws the actions of each; None takes the likeliest one.
        stop_above: As of ``likeliest``, where nothing is drawn.
        anew: As of ``play_greedily``.
    """
    device = next(policy.parameters()).device
    begun = envs.reset(dict(enumerate(benchmarks)))
    running: dict[int, State] = {n: state for n, (state, _) in begun.items()}
    episodes = [Played(b, [size(begun[n][1])]) for n, b in enumerate(benchmarks)]
    while running:
        states = list(running.values())
        numbers = table.numbers([s.key for s in states], [s.item for s in states])
        context, mask = map(torch.from_numpy, stacked(states))
        log_probs, _ = policy(table.vectors(numbers), context.to(device), mask.to(device))
        actions: list[int] = []
        for row, (n, state) in enumerate(running.items()):
            generator = draws[n]
            if generator is not None:
                actions.append(int(sample(log_probs[row : row + 1], generator)))
            elif anew:
                actions.append(episodes[n].choose(state, log_probs[row].cpu(), stop_above))
            else:
                actions.append(int(likeliest(log_probs[row : row + 1], stop_above)))
        for n, after in envs.step(dict(zip(running, actions, strict=True))).items():
            episodes[n].note(after.info, after.reward)
            running[n] = after.state
            if after.terminated or after.truncated:
                del running[n]
    return episodes
