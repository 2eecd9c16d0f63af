"""Plays a policy on benchmarks, greedily or keeping the best, and checks what comes out."""

import base64
import math
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

import hlograph
from experiments.benchmarks import REFERENCES, Reference, load
from experiments.lockstep import Lockstep
from experiments.metrics import count_ratio, geometric_mean
from experiments.states import STOP, State, is_fusion, size, stacked, step_name
from hlograph.equivalence import Limits
from hlograph.equivalence import Reference as Original
from hlograph.errors import VerificationError, WorkerLostError
from hlograph.steps import take_step
from models.actor_critic import ActorCritic, sample
from models.rollout import StateTable

# The reference evaluator goes element by element: it takes as long as compiling does on modules
# of a few hundred instructions, and several times as long on larger ones.
_LIMITS = Limits(evaluated_ops=500)


@dataclass(frozen=True)
class Outcome:
    """What a policy made of one benchmark."""

    benchmark: str
    start: int
    """Op count before any pass."""
    op_count: int
    """Least op count of its episode; which passes come after that is of no use to anybody. Of a
    policy rewarded for run time, that of the last state; of fusion decisions, its kernels."""
    passes: tuple[str, ...]
    """Passes (or places of rewrites, or of fusions) that changed the module, in order: running them
    on it again gives the result."""
    calls: int
    """Pass calls, those that changed nothing included."""
    run_time: float | None = None
    """Of the last state, in units of the benchmark's own, of a policy rewarded for it; inf if it
    does not run."""
    reward: float | None = None
    """What the episode was paid, of fusion decisions."""
    packed: str = field(default="", repr=False)
    """The result itself, as ``packed_text`` makes it, where no passes lead there."""

    def unless(self, check: "Check") -> "Outcome":
        """The outcome; of one that failed its check, the benchmark without any pass."""
        if not check.problem:
            return self
        run_time = None if self.run_time is None else 1.0
        return replace(self, op_count=self.start, passes=(), packed="", run_time=run_time)

    def replay(self) -> hlograph.Module:
        """The result, made again from the benchmark.

        Raises:
            HloError: Its passes do not run on the benchmark, or its module is none.
        """
        if self.packed:
            return hlograph.Module.from_text(zlib.decompress(base64.b64decode(self.packed)))
        module = load(self.benchmark)
        for name in self.passes:
            take_step(module, name)
        return module


def packed_text(module: hlograph.Module) -> str:
    """A module's text, compressed, as it stands in an outcome that no passes lead to."""
    return base64.b64encode(zlib.compress(module.to_text().encode(), 9)).decode()


def after_pipeline(benchmark: str, pipeline: str) -> Outcome:
    """What a reference pipeline makes of a benchmark, with the passes that did something.

    Raises:
        HloError: The benchmark cannot be read, or XLA refuses it.
    """
    module = load(benchmark)
    start = module.op_count
    applied: list[str] = []

    def step(entry: hlograph.Pass) -> bool:
        changed = module.run(entry)
        if changed:
            applied.append(entry.name)
        return changed

    calls = hlograph.pipelines[pipeline].run(step)
    return Outcome(benchmark, start, module.op_count, tuple(applied), len(calls))


@dataclass(frozen=True)
class Check:
    """What was found when an outcome was checked."""

    problem: str | None
    """Why the outcome does not count; None if nothing speaks against it."""
    verdict: str
    """How its outputs compare with the original's; see ``hlograph.equivalence``."""

    @classmethod
    def lost(cls, error: WorkerLostError) -> "Check":
        """The check of an outcome that could not be checked to its end."""
        return cls(f"its check {error.kind.replace('_', ' ')}: {error}", "not comparable")


class Ended(Protocol):
    """Something that came to an op count on a benchmark: an outcome, or an episode of training."""

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        ...

    @property
    def op_count(self) -> int:
        """What was left of it."""
        ...


def count_ratios(results: Sequence[Ended], references: Mapping[str, Reference]) -> dict[str, float]:
    """Count ratios by the reference pipelines of which the corpus has op counts.

    Args:
        results: What something made of benchmarks.
        references: Of these benchmarks.
    """
    return Measure.of_counts(references).of(results)


@dataclass(frozen=True)
class Measure:
    """What training writes down of results beside references."""

    name: str
    """What is counted, as it is called in logs."""
    references: Mapping[str, Mapping[str, int]]
    """What is left of each benchmark without a policy, by reference."""

    @classmethod
    def of_counts(cls, references: Mapping[str, Reference]) -> "Measure":
        """Op counts beside those after the reference pipelines."""
        rows = {n: {r: found.after[r] for r in REFERENCES} for n, found in references.items()}
        return cls("op_count", rows)

    def of(self, results: Sequence[Ended]) -> dict[str, float]:
        """Geometric mean of reference / result over benchmarks, by reference."""
        own = [result.op_count for result in results]
        rows = [self.references[result.benchmark] for result in results]
        names = next(iter(self.references.values()), {})
        return {name: count_ratio([row[name] for row in rows], own) for name in names}


def score(outcomes: Sequence[Outcome], ratios: Sequence[float]) -> float:
    """What the policy is kept by that did best.

    Args:
        outcomes: What it made of the validation benchmarks.
        ratios: Count ratios, which decide if nothing else does.
    """
    timed = speedup(outcomes)
    if timed is not None:
        return timed
    rewards = [outcome.reward for outcome in outcomes if outcome.reward is not None]
    return math.fsum(rewards) / len(rewards) if rewards else geometric_mean(ratios)


def speedup(outcomes: Sequence[Outcome]) -> float | None:
    """Geometric mean of run time before / after; None unless all of them were timed."""
    times = [outcome.run_time for outcome in outcomes if outcome.run_time is not None]
    if not times or len(times) < len(outcomes):
        return None
    return geometric_mean([1 / run_time for run_time in times])


class Checker:
    """Checks outcomes on fresh modules, outside any environment.

    What tables show does not rest on the environment's own books then.

    Args:
        kept: Benchmarks of which the original stays compiled, with its inputs and outputs:
            several policies are checked on the same ones.
    """

    def __init__(self, kept: int = 16) -> None:
        self._kept = kept
        self._originals: OrderedDict[tuple[str, int], Original] = OrderedDict()

    def check(self, outcome: Outcome, samples: int) -> Check:
        """Whether an outcome says how to make a valid, equivalent module of its op count.

        Args:
            outcome: The outcome.
            samples: Random inputs to compare the outputs on; 0 for no comparison.
        """
        module = outcome.replay()
        if module.op_count != outcome.op_count:
            return Check(f"it leads to {module.op_count} instructions", "not compared")
        try:
            module.verify()
        except VerificationError as error:
            return Check(f"XLA's verifier rejects it: {error}", "not compared")
        if not samples:
            return Check(None, "not compared")
        found = self._original(outcome.benchmark, samples).compare(module)
        return Check(str(found) if found.verdict == "different" else None, found.verdict)

    def _original(self, benchmark: str, samples: int) -> Original:
        key = (benchmark, samples)
        if key not in self._originals:
            self._originals[key] = Original(load(benchmark), samples=samples, limits=_LIMITS)
            while len(self._originals) > self._kept:
                self._originals.popitem(last=False)
        self._originals.move_to_end(key)
        return self._originals[key]


STOP_ABOVE = 0.5
"""Probability of stopping above which an episode that draws nothing ends."""


def play_greedily(
    envs: Lockstep,
    policy: ActorCritic,
    benchmarks: Sequence[str],
    stop_above: float = STOP_ABOVE,
) -> list[Outcome]:
    """Plays one greedy episode in each environment, benchmark by benchmark.

    Args:
        envs: As many environments as benchmarks, in lockstep.
        policy: What acts; the likeliest action under the mask is taken.
        benchmarks: Names of the benchmarks.
        stop_above: Probability of stopping above which an episode ends; with less it is shorter.
    """
    draws = [None] * len(benchmarks)
    episodes = _play(envs, policy, StateTable(policy), benchmarks, draws, stop_above)
    return [episode.outcome() for episode in episodes]


def play_samples(
    envs: Lockstep,
    policy: ActorCritic,
    benchmark: str,
    samples: int,
    seed: int,
    stop_above: float = STOP_ABOVE,
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

    Returns:
        Of the states with the least op count the one with the fewest passes; its calls are
        those of all episodes together.
    """
    table = StateTable(policy)
    episodes: list[Played] = []
    for begin in range(0, samples, len(envs)):
        numbers = range(begin, min(begin + len(envs), samples))
        draws = [_draws(seed, benchmark, number) if number else None for number in numbers]
        episodes += _play(envs, policy, table, [benchmark] * len(draws), draws, stop_above)
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
    stop_above: float = STOP_ABOVE,
) -> list[Played]:
    """Plays one episode in each of the first environments.

    Args:
        envs: At least as many environments as benchmarks.
        policy: What acts.
        table: States that were encoded already.
        benchmarks: Benchmark of each episode.
        draws: What draws the actions of each; None takes the likeliest one.
        stop_above: As of ``likeliest``, where nothing is drawn.
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
            if generator is None:
                actions.append(episodes[n].choose(state, log_probs[row].cpu(), stop_above))
            else:
                actions.append(int(sample(log_probs[row : row + 1], generator)))
        for n, after in envs.step(dict(zip(running, actions, strict=True))).items():
            episodes[n].note(after.info, after.reward)
            running[n] = after.state
            if after.terminated or after.truncated:
                del running[n]
    return episodes
