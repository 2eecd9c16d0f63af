"""Results on benchmarks: their size, their ratios to references, and their checks."""

import base64
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import hlograph
from experiments.evaluate.benchmarks import REFERENCES, Reference, load
from experiments.evaluate.metrics import count_ratio, geometric_mean
from hlograph import Pipeline
from hlograph.errors import VerificationError, WorkerLostError
from hlograph.execution.equivalence import Limits, OriginalModule
from hlograph.module import take_step

# The reference evaluator computes element by element: it takes as long as compiling on modules of
# a few hundred instructions, and several times as long on larger ones.
_LIMITS = Limits(evaluated_ops=500)


@dataclass(frozen=True)
class Outcome:
    """Result of a policy or search on one benchmark."""

    benchmark: str
    start: int
    """Op count before any pass."""
    op_count: int
    """Least op count of the episode. For a policy rewarded for run time the op count of the last
    state, and for fusion decisions its kernels."""
    passes: tuple[str, ...]
    """Passes, or places of rewrites or fusions, that changed the module, in order. Running them
    again on the benchmark gives the result."""
    calls: int
    """Number of steps, including those that changed nothing."""
    run_time: float | None = None
    """Run time of the last state relative to the start, for a policy rewarded for it; inf if it
    does not run."""
    reward: float | None = None
    """Sum of the rewards, for fusion decisions."""
    packed: str = field(default="", repr=False)
    """The result itself from ``packed_text``, if no passes lead there."""
    out_of_time: bool = False
    """True if a time limit ended the episode; the result is the best state until then."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Outcome":
        """Returns the outcome of which ``dataclasses.asdict`` made the content."""
        return cls(**{**content, "passes": tuple(content["passes"])})

    def unless(self, check: "Check") -> "Outcome":
        """Returns the outcome, or the unchanged benchmark if it failed its check."""
        if not check.problem:
            return self
        run_time = None if self.run_time is None else 1.0
        return replace(self, op_count=self.start, passes=(), packed="", run_time=run_time)

    def without_cost(self) -> "Outcome":
        """Returns the outcome without calls, times and rewards, which no check depends on."""
        return replace(self, calls=0, run_time=None, reward=None, out_of_time=False)

    def replay(self) -> hlograph.Module:
        """Returns the result, made again from the benchmark.

        Raises:
            HloError: Its passes do not run on the benchmark, or its text is no module.
        """
        if self.packed:
            return hlograph.Module.from_text(zlib.decompress(base64.b64decode(self.packed)))
        module = load(self.benchmark)
        for name in self.passes:
            take_step(module, name)
        return module


def packed_text(module: hlograph.Module) -> str:
    """Returns a module's text, compressed, for an outcome that no passes lead to."""
    return base64.b64encode(zlib.compress(module.to_text().encode(), 9)).decode()


def after_pipeline(benchmark: str, pipeline: str) -> Outcome:
    """Returns the result of a reference pipeline, with the passes that changed the module.

    Raises:
        HloError: The benchmark cannot be read, or XLA refuses it.
    """
    module = load(benchmark)
    start = module.op_count
    applied, calls = run_pipeline(module, pipeline)
    return Outcome(benchmark, start, module.op_count, applied, calls)


class LeastState(NamedTuple):
    """The state with the least op count on the way of a pipeline, the first of several.

    Attributes:
        passes: Passes that lead there.
        op_count: Its op count.
        calls: Calls of the whole pipeline.
        called: Passes that are called up to there, also those that change nothing.
    """

    passes: tuple[str, ...]
    op_count: int
    calls: int
    called: tuple[str, ...]


def least_on_the_way(module: hlograph.Module, pipeline: Pipeline | str) -> LeastState:
    """Runs a pipeline on a module, and looks for the least op count on its way.

    What a policy has removed, a pipeline may bring back. Passes that cannot change anything are not
    called: those that act on none of the module's opcodes, and those that were called since it
    changed last. A pass that fails changes nothing.

    Args:
        module: The module; it is changed as the whole pipeline does.
        pipeline: The pipeline, or the name of a reference pipeline.
    """
    if isinstance(pipeline, str):
        pipeline = hlograph.pipelines[pipeline]
    least, applied, called, best = module.op_count, list[str](), list[str](), (0, 0)
    idle, may_act = set[str](), hlograph.passes.may_act(module.op_counts())

    def step(entry: hlograph.Pass) -> bool:
        nonlocal least, best, may_act
        if entry.name in idle or not may_act[entry.index]:
            return False
        called.append(entry.name)
        idle.add(entry.name)
        try:
            changed = module.run(entry)
        except hlograph.PassError:  # the module is as before
            changed = False
        if not changed:
            return False
        applied.append(entry.name)
        idle.clear()
        may_act = hlograph.passes.may_act(module.op_counts())
        if module.op_count < least:
            least, best = module.op_count, (len(applied), len(called))
        return True

    pipeline.run(step)
    return LeastState(tuple(applied[: best[0]]), least, len(called), tuple(called[: best[1]]))


def followed(before: Outcome, least: LeastState) -> Outcome:
    """Returns the outcome of going on from another one, with the calls of what follows alone."""
    steps = (*before.passes, *least.passes)
    return replace(before, op_count=least.op_count, passes=steps, calls=least.calls)


def run_pipeline(module: hlograph.Module, pipeline: str) -> tuple[tuple[str, ...], int]:
    """Runs a reference pipeline on a module.

    Returns:
        The passes that changed it, and the number of calls.
    """
    applied: list[str] = []

    def step(entry: hlograph.Pass) -> bool:
        changed = module.run(entry)
        if changed:
            applied.append(entry.name)
        return changed

    calls = hlograph.pipelines[pipeline].run(step)
    return tuple(applied), len(calls)


@dataclass(frozen=True)
class Check:
    """Result of checking an outcome."""

    problem: str | None
    """Reason why the outcome does not count; None if it counts."""
    verdict: str
    """Comparison of its outputs with the original's; see ``hlograph.execution.equivalence``."""

    @classmethod
    def lost(cls, error: WorkerLostError) -> "Check":
        """Returns the failed check of an outcome whose check lost its worker."""
        return cls(f"its check {error.kind.replace('_', ' ')}: {error}", "not comparable")


class Ended(Protocol):
    """Anything with a final op count on a benchmark: an outcome, or an episode of training."""

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        ...

    @property
    def op_count(self) -> int:
        """Op count in the end."""
        ...


def count_ratios(results: Sequence[Ended], references: Mapping[str, Reference]) -> dict[str, float]:
    """Returns count ratios, by reference pipeline.

    Args:
        results: Results on benchmarks.
        references: References of these benchmarks.
    """
    return Measure.of_counts(references).of(results)


@dataclass(frozen=True)
class Measure:
    """The quantity by which training compares results with references."""

    name: str
    """Name of the quantity in logs."""
    references: Mapping[str, Mapping[str, int]]
    """Quantity without a policy, by benchmark and reference."""

    @classmethod
    def of_counts(cls, references: Mapping[str, Reference]) -> "Measure":
        """Returns the measure that compares op counts with those of the reference pipelines."""
        rows = {n: {r: ref.after[r] for r in REFERENCES} for n, ref in references.items()}
        return cls("op_count", rows)

    def of(self, results: Sequence[Ended]) -> dict[str, float]:
        """Returns the geometric mean of reference / result over benchmarks, by reference."""
        own = [result.op_count for result in results]
        rows = [self.references[result.benchmark] for result in results]
        names = next(iter(self.references.values()), {})
        return {name: count_ratio([row[name] for row in rows], own) for name in names}


def speedup(outcomes: Sequence[Outcome]) -> float | None:
    """Returns the geometric mean of run time before / after; None unless all were timed."""
    times = [outcome.run_time for outcome in outcomes if outcome.run_time is not None]
    if not times or len(times) < len(outcomes):
        return None
    return geometric_mean([1 / run_time for run_time in times])


class Checker:
    """Checks outcomes on fresh modules, outside any environment.

    Args:
        kept: Number of benchmarks whose original stays compiled, with its inputs and outputs.
            Several policies are checked on the same benchmarks.
    """

    def __init__(self, kept: int = 16) -> None:
        self._kept = kept
        self._originals: OrderedDict[tuple[str, int], OriginalModule] = OrderedDict()

    def check(self, outcome: Outcome, samples: int) -> Check:
        """Checks that an outcome leads to a valid, equivalent module of its op count.

        Args:
            outcome: The outcome.
            samples: Number of random inputs on which outputs are compared; 0 for no comparison.
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
        compared = self._original(outcome.benchmark, samples).compare(module)
        problem = str(compared) if compared.verdict == "different" else None
        return Check(problem, compared.verdict)

    def _original(self, benchmark: str, samples: int) -> OriginalModule:
        key = (benchmark, samples)
        if key not in self._originals:
            self._originals[key] = OriginalModule(load(benchmark), samples=samples, limits=_LIMITS)
            while len(self._originals) > self._kept:
                self._originals.popitem(last=False)
        self._originals.move_to_end(key)
        return self._originals[key]
