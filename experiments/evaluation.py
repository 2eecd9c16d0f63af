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
from experiments.metrics import count_ratio
from experiments.states import STOP, State, stacked, step_name
from hlograph.equivalence import Limits
from hlograph.equivalence import Reference as Original
from hlograph.errors import VerificationError, WorkerLostError
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
    """Least op count of its episode; which passes come after that is of no use to anybody."""
    passes: tuple[str, ...]
    """Passes (or places of rewrites) that changed the module, in order: running them on it again
    gives the result."""
    calls: int
    """Pass calls, those that changed nothing included."""
    packed: str = field(default="", repr=False)
    """The result itself, as ``packed_text`` makes it, where no passes lead there."""

    def unless(self, check: "Check") -> "Outcome":
        """The outcome; of one that failed its check, the benchmark without any pass."""
        if not check.problem:
            return self
        return replace(self, op_count=self.start, passes=(), packed="")

    def replay(self) -> hlograph.Module:
        """The result, made again from the benchmark.

        Raises:
            HloError: Its passes do not run on the benchmark, or its module is none.
        """
        if self.packed:
            return hlograph.Module.from_text(zlib.decompress(base64.b64decode(self.packed)))
        module = load(self.benchmark)
        for name in self.passes:
            # No pass has brackets in its name, and every place of a rewrite has.
            (module.apply if "(" in name else module.run)(name)
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
    own = [result.op_count for result in results]
    return {
        name: count_ratio([references[result.benchmark].after[name] for result in results], own)
        for name in REFERENCES
    }


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


def play_greedily(envs: Lockstep, policy: ActorCritic, benchmarks: Sequence[str]) -> list[Outcome]:
    """Plays one greedy episode in each environment, benchmark by benchmark.

    Args:
        envs: As many environments as benchmarks, in lockstep.
        policy: What acts; the likeliest action under the mask is taken.
        benchmarks: Names of the benchmarks.
    """
    episodes = _play(envs, policy, StateTable(policy), benchmarks, [None] * len(benchmarks))
    return [episode.outcome() for episode in episodes]


def play_samples(
    envs: Lockstep, policy: ActorCritic, benchmark: str, samples: int, seed: int
) -> Outcome:
    """Plays several episodes on one benchmark and keeps the state with the least op count.

    The first episode is greedy, the others draw their actions: more samples never end worse.

    Args:
        envs: Environments in lockstep, of which as many are used as there are episodes.
        policy: What acts.
        benchmark: Name of the benchmark.
        samples: Number of episodes.
        seed: Seed of the draws, which also depend on the benchmark and the episode's number.

    Returns:
        Of the states with the least op count the one with the fewest passes; its calls are
        those of all episodes together.
    """
    table = StateTable(policy)
    episodes: list[Played] = []
    for begin in range(0, samples, len(envs)):
        numbers = range(begin, min(begin + len(envs), samples))
        draws = [_draws(seed, benchmark, number) if number else None for number in numbers]
        episodes += _play(envs, policy, table, [benchmark] * len(draws), draws)
    cut = [episode.outcome() for episode in episodes]
    best = min(cut, key=lambda outcome: (outcome.op_count, len(outcome.passes)))
    return replace(best, calls=sum(outcome.calls for outcome in cut))


def likeliest(log_probs: Tensor) -> Tensor:
    """The action of a policy that does not draw: int64 [B].

    Stopping is one decision, and which pass to call another. An episode ends where stopping is
    more likely than not; that it is likelier than each of ninety passes alone says little.

    Args:
        log_probs: float32 [B, A], the last action of which is to stop.
    """
    stops = log_probs[:, -1] > math.log(0.5)
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

    def note(self, info: Mapping[str, Any]) -> None:
        """Adds what a step's info says."""
        name = step_name(info)
        if name is None or name == STOP:
            return
        self.calls += 1
        if info["changed"]:
            self.passes.append(name)
            self.op_counts.append(info["op_count"])

    def outcome(self) -> Outcome:
        """The first state with the least op count, with the calls of the whole episode."""
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
) -> list[Played]:
    """Plays one episode in each of the first environments.

    Args:
        envs: At least as many environments as benchmarks.
        policy: What acts.
        table: States that were encoded already.
        benchmarks: Benchmark of each episode.
        draws: What draws the actions of each; None takes the likeliest one.
    """
    device = next(policy.parameters()).device
    begun = envs.reset(dict(enumerate(benchmarks)))
    running: dict[int, State] = {n: state for n, (state, _) in begun.items()}
    episodes = [Played(b, [begun[n][1]["start_op_count"]]) for n, b in enumerate(benchmarks)]
    while running:
        states = list(running.values())
        numbers = table.numbers([s.key for s in states], [s.item for s in states])
        context, mask = map(torch.from_numpy, stacked(states))
        log_probs, _ = policy(table.vectors(numbers), context.to(device), mask.to(device))
        actions = likeliest(log_probs).tolist()
        for row, n in enumerate(running):
            generator = draws[n]
            if generator is not None:
                actions[row] = int(sample(log_probs[row : row + 1], generator))
        for n, after in envs.step(dict(zip(running, actions, strict=True))).items():
            episodes[n].note(after.info)
            running[n] = after.state
            if after.terminated or after.truncated:
                del running[n]
    return episodes
