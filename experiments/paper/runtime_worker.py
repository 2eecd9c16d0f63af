"""Measures the run times of one benchmark, in a worker process.

The process may crash, hang or exceed its memory. The method that caused this is left out, and the
benchmark is measured again without it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Check, Checker, Outcome, after_pipeline
from experiments.paper.paired_timing import CONTROL, Side, TimedPair
from experiments.paper.settings import TimedConfig
from hlograph import HloError, Module
from hlograph.errors import WorkerLostError
from hlograph.execution.bootstrap import Interval
from hlograph.execution.equivalence import Limits
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.executable import Executable, random_inputs, time_in_turn
from hlograph.isolation import FlightRecorder, Pool, WorkerLimits, WorkerPool

ORIGINAL = "the original"
"""Note in the flight recorder for work on the module as it is in the corpus."""
_TRIES = 3  # of a benchmark whose worker is killed from outside
# The first compilation in a process includes the initialisation of LLVM.
_WARM_UP = "HloModule w\nENTRY e { x = f32[8] parameter(0)\n ROOT y = f32[8] tanh(x) }"


@dataclass(frozen=True)
class MethodToTime:
    """A method and its outcome on a benchmark."""

    method: str
    outcome: Outcome | None
    """The outcome; None runs the reference pipeline of the method's name."""


@dataclass(frozen=True)
class TimeBenchmark:
    """Task of a worker: one benchmark and all methods."""

    benchmark: str
    candidates: Sequence[MethodToTime]
    seeds: Sequence[int]
    """Seeds of the random inputs; each gets an equal share of the pairs."""
    compilations: int
    """Compilations of both modules of a pair, in turn."""
    pairs: int
    samples: int
    """Random inputs on which each result is compared with its original."""
    sample_seconds: float
    pair_seconds: float
    """Time limit for the pairs of one method."""
    step_seconds: float
    """Time limit of one check, and of one compilation with its runs."""
    limits: Limits

    @classmethod
    def of(
        cls,
        config: TimedConfig,
        benchmark: str,
        outcomes: Mapping[str, Outcome | None],
        seeds: Sequence[int],
        samples: int,
        step_seconds: float,
        limits: Limits,
    ) -> "TimeBenchmark":
        """Returns the task for the outcomes by method, with an experiment's settings."""
        return cls(
            benchmark,
            [MethodToTime(method, outcome) for method, outcome in outcomes.items()],
            seeds,
            config.compilations,
            config.repetitions,
            samples,
            config.sample_seconds,
            config.pair_seconds,
            step_seconds,
            limits,
        )


@dataclass(frozen=True)
class MethodTiming:
    """Result of one method on one benchmark."""

    method: str
    problem: str | None
    """Reason why there is no pair; None if there is one."""
    pair: TimedPair | None = None
    outcome: Outcome | None = None
    """None for the control, and for methods that failed."""
    check: Check | None = None


def make_worker(recorder: FlightRecorder) -> Callable[[TimeBenchmark], list[MethodTiming]]:
    """Returns the function that does tasks in a worker process (``hlograph.isolation``)."""
    Executable(Module.from_text(_WARM_UP))
    return lambda task: results_of(task, recorder)


MakeWorker = Callable[[FlightRecorder], Callable[[TimeBenchmark], list[MethodTiming]]]


def timing_pool(
    step_seconds: float, memory_gib: float, make: MakeWorker | None = None
) -> WorkerPool:
    """Returns a pool of a single process: two would disturb each other's times.

    Args:
        step_seconds: Time limit of a check, and of a compilation with its runs.
        memory_gib: Limit of its resident memory.
        make: Makes the function that does tasks; None is ``make_worker``.
    """
    limits = WorkerLimits(seconds=step_seconds, memory=int(memory_gib * (1 << 30)))
    return WorkerPool(make or make_worker, 1, limits, ("experiments.paper.runtime_worker",))


def results_of(task: TimeBenchmark, recorder: FlightRecorder) -> "list[MethodTiming]":
    """Does a task in this process."""
    return _Benchmark(task, recorder).run()


def measure(
    pool: Pool, tasks: "Sequence[TimeBenchmark]"
) -> "Iterator[tuple[str, list[MethodTiming]]]":
    """Runs tasks in a pool; a lost task is run again without the method that is to blame.

    Yields:
        Benchmarks and their complete results.
    """
    lost: dict[str, list[MethodTiming]] = defaultdict(list)
    killed: Counter[str] = Counter()
    waiting = list(tasks)
    while waiting:
        again: list[TimeBenchmark] = []
        for number, answer in pool.map(waiting):
            task = waiting[number]
            if isinstance(answer, WorkerLostError):
                if not answer.to_blame and killed[task.benchmark] < _TRIES:
                    killed[task.benchmark] += 1
                    again.append(task)
                    continue
                method = (answer.note or ORIGINAL.encode()).decode()
                others = [c for c in task.candidates if c.method != method]
                if len(others) < len(task.candidates):
                    lost[task.benchmark].append(MethodTiming(method, f"{answer.kind}: {answer}"))
                    again.append(replace(task, candidates=others))
                    continue
                answer = [MethodTiming(CONTROL, f"{answer.kind}: {answer}")]
            yield task.benchmark, [*answer, *lost[task.benchmark]]
        waiting = again


class _Benchmark:
    """Measures one benchmark and everything that is compared with it."""

    def __init__(self, task: TimeBenchmark, recorder: FlightRecorder) -> None:
        self._task, self._recorder, self._checker = task, recorder, Checker()
        self._start = load(task.benchmark)

    def run(self) -> list[MethodTiming]:
        """Returns one result for each method; only the control if the benchmark cannot be run."""
        try:
            self._begin(ORIGINAL)
            self._before = Executable(self._start, self._task.limits)
            self._inputs = [random_inputs(self._start, seed) for seed in self._task.seeds]
            self._begin(CONTROL)
            control = MethodTiming(CONTROL, None, self._pair(CONTROL, self._start))
        except HloError as error:
            return [MethodTiming(CONTROL, str(error))]
        return [control, *map(self._measured, self._task.candidates)]

    def _measured(self, candidate: MethodToTime) -> MethodTiming:
        self._begin(candidate.method)
        try:
            outcome = candidate.outcome or after_pipeline(self._task.benchmark, candidate.method)
            check = self._checker.check(outcome, self._task.samples)
            if check.problem:
                return MethodTiming(candidate.method, check.problem, None, outcome, check)
            self._begin(candidate.method)
            pair = self._pair(candidate.method, outcome.replay())
        except HloError as error:
            return MethodTiming(candidate.method, str(error))
        return MethodTiming(candidate.method, None, pair, outcome, check)

    def _pair(self, method: str, module: Module) -> TimedPair:
        after, *compiled = self._compiled(method, module)
        self._begin(method)
        times = np.concatenate([self._times(after, inputs) for inputs in self._inputs])
        ratios = [float(f"{ratio:.5g}") for ratio in times[:, 0] / times[:, 1]]
        seconds = np.median(times, axis=0).tolist()
        return TimedPair(
            self._task.benchmark,
            method,
            ratios,
            *Interval.of_median(ratios),
            before=_side(self._start, self._before, compiled[0], seconds[0]),
            after=_side(module, after, compiled[1], seconds[1]),
        )

    def _compiled(self, method: str, module: Module) -> tuple[Executable, float, float]:
        """Returns a method's executable and the median compile times of the original and of it.

        Both are compiled in turn, and each is first every other time: a module that was compiled
        long before, in another state of the process and the machine, could not be compared.
        """
        executables: list[Executable] = []
        seconds: dict[bool, list[float]] = {True: [], False: []}
        for number in range(self._task.compilations):
            for original in (True, False) if number % 2 else (False, True):
                self._begin(method)
                made = Executable(self._start if original else module, self._task.limits)
                seconds[original].append(made.compile_seconds)
                if not original:
                    executables.append(made)
            del executables[1:]
        return executables[0], median(seconds[True]), median(seconds[False])

    def _times(self, after: Executable, inputs: list[Array]) -> np.ndarray:
        """Returns seconds before and after, float64 [P, 2]."""
        task, share = self._task, len(self._inputs)
        return time_in_turn(
            self._before,
            after,
            inputs,
            pairs=max(1, task.pairs // share),
            sample_seconds=task.sample_seconds,
            max_seconds=task.pair_seconds / share,
        )

    def _begin(self, note: str) -> None:
        self._recorder.begin(note.encode(), self._task.step_seconds)


def _side(module: Module, executable: Executable, compiled: float, seconds: float) -> Side:
    return Side(module.op_count, compiled, executable.kernels, seconds)
