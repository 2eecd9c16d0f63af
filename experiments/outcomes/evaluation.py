"""What was made of benchmarks, how good it is, and whether it holds."""

import base64
import math
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import hlograph
from experiments.outcomes.benchmarks import REFERENCES, Reference, load
from experiments.outcomes.metrics import count_ratio, geometric_mean
from hlograph.errors import VerificationError, WorkerLostError
from hlograph.execution.equivalence import Limits
from hlograph.execution.equivalence import Reference as Original
from hlograph.transforms.steps import take_step

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
    """How its outputs compare with the original's; see ``hlograph.execution.equivalence``."""

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
