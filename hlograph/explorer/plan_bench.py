"""Worker processes that record and time one program with its plans."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from hlograph.errors import HloError, WorkerLostError
from hlograph.execution import lock
from hlograph.execution.load import LoadMeter
from hlograph.execution.runs import Run
from hlograph.execution.turns import in_turns
from hlograph.explorer.timelines import optimized_data, timeline_data
from hlograph.isolation import FlightRecorder, WorkerLimits, WorkerPool
from hlograph.measuring.compiled import FinalModule
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import Job
from hlograph.plans import Measured, Plan, compile_program
from hlograph.profiling.kernel_categories import OUTSIDE
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernel_trees import shipped_trees
from hlograph.profiling.kernels import measure
from hlograph.profiling.of_program import runner
from hlograph.profiling.optimized_module import OptimizedModule


@dataclass(frozen=True)
class Timeline:
    """A timeline, and the module that ran.

    Attributes:
        timeline: See ``timeline_data``; with ``compile_seconds``, those of jaxlib's compilation.
        module: See ``optimized_data``.
    """

    timeline: dict[str, Any]
    module: dict[str, Any]


@dataclass(frozen=True)
class Refused:
    """Says that a request cannot be answered.

    Attributes:
        reason: Why.
    """

    reason: str


PlanRequest = tuple[Plan, ...]
"""A plan, whose timeline is asked for, or two of them: how much faster the first is. The empty plan
is jaxlib's default."""
PlanAnswer = Timeline | Measured | Refused

# Runs for a timeline, without and under the profiler.
_RUNS, _RUN_SECONDS = 20, 3.0

# Pairs of turns: at most, and in any case; the least duration of one side of a pair, and the time
# after which no pair begins.
_MOST, _LEAST, _BLOCK_SECONDS, _TURNS_SECONDS = 40, 3, 0.01, 3.0

# Executables that are kept; a large one takes a gigabyte.
_KEPT = 3

# An operation may take this long, as the default of a program may.
_HOUR = 3600.0


@dataclass(frozen=True)
class _Compiled:
    executable: Any
    seconds: float
    code: tuple[object, ...]


class PlanWorker:
    """Answers requests about one program.

    Args:
        job: The program, and its inputs.
        recorder: Records each operation that may end the process.
    """

    def __init__(self, job: Job, recorder: FlightRecorder) -> None:
        self._job, self._recorder = job, recorder
        self._inputs = Samples(job.program, job.given, job.seed).usual[0].inputs
        self._kept: OrderedDict[str, _Compiled] = OrderedDict()

    def __call__(self, request: PlanRequest) -> PlanAnswer:
        """Answers a request. What cannot be done is refused with the reason."""
        try:
            return (self._timeline if len(request) == 1 else self._turns)(*request)
        except (HloError, RuntimeError) as error:
            return Refused(str(error))

    def _timeline(self, plan: Plan) -> Timeline:
        compiled = self._compiled(plan)
        with lock.alone(), self._noted(plan):
            run, before = runner(compiled.executable, self._inputs)
            measurement = measure(
                compiled.executable, run, runs=_RUNS, max_seconds=_RUN_SECONDS, before=before
            )
        predicted = self._predicted(measurement.program, plan)
        timeline = timeline_data(measurement, predicted) | {"compile_seconds": compiled.seconds}
        return Timeline(timeline, optimized_data(measurement.program))

    def _predicted(self, program: OptimizedModule, plan: Plan) -> dict[str, float]:
        """Returns the predicted seconds of kernels in a run, by their names."""
        with lock.compiling():
            kernels = kernel_modules(program)
            trees = shipped_trees()
            seconds = trees(kernels, plan.flags).kernels
            outside = trees.weights.outside
        names = (kernel.name for kernel in kernels)
        return dict(zip(names, seconds, strict=True)) | {OUTSIDE: outside}

    def _turns(self, plan: Plan, other: Plan) -> Measured:
        both = [self._compiled(plan), self._compiled(other)]
        same = both[0].code == both[1].code
        if same and plan.digest != other.digest:
            return Measured(np.nan, np.nan, 1.0, 1.0, 1.0, 1.0, pairs=0)
        if same:  # what noise makes of ratios is asked for
            both[1] = self._compiled(other, again=True)
        first, second = (
            Run(compiled.executable, self._inputs, self._job.program.donated) for compiled in both
        )
        with lock.alone(), self._noted(other):
            turns = in_turns(
                [second.seconds, first.seconds],
                turns=_MOST,
                block_seconds=_BLOCK_SECONDS,
                max_seconds=_TURNS_SECONDS,
                least=_LEAST,
                read=LoadMeter(),
            )
        return Measured.of(turns.undisturbed(_LEAST))

    def _compiled(self, plan: Plan, again: bool = False) -> _Compiled:
        if plan.digest in self._kept and not again:
            self._kept.move_to_end(plan.digest)
            return self._kept[plan.digest]
        with lock.compiling(), self._noted(plan):
            begun = time.perf_counter()
            executable = compile_program(self._job.program, plan)
            seconds = time.perf_counter() - begun
        settings = tuple(sorted(plan.flags.items())), tuple(sorted(plan.layouts.items()))
        compiled = _Compiled(executable, seconds, (FinalModule.of(executable).digest, *settings))
        if not again:
            self._kept[plan.digest] = compiled
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return compiled

    def _noted(self, plan: Plan) -> AbstractContextManager[None]:
        return self._recorder.noted(plan.digest.encode(), _HOUR)


_MEMORY = 16 << 30
_LONGEST_WAIT = 3600.0  # seconds
# Other measurements of the machine may stop a worker for a while.
_LONGEST_STOP = 60.0  # seconds


class PlanBench:
    """Answers requests about one program in worker processes, which may die.

    Compilations run side by side, measurements alone, as for ``hlograph.optimize``.

    Args:
        job: The program, and its inputs.
        workers: Number of worker processes.
    """

    def __init__(self, job: Job, workers: int = 2) -> None:
        # A worker may wait long for the machine, which others measure on.
        limits = WorkerLimits(
            idle_seconds=_LONGEST_WAIT, stopped_seconds=_LONGEST_STOP, memory=_MEMORY
        )
        preloaded = ("hlograph.explorer.plan_bench",)
        self._pool = WorkerPool(
            partial(PlanWorker, job), workers, limits, preloaded, with_main=False
        )

    def answers(self, requests: Sequence[PlanRequest]) -> list[PlanAnswer]:
        """Returns the answer to each request, in order. Only one call at a time."""
        answers = dict(self._pool.map(requests))
        return [
            Refused(f"its process ended: {answer}")
            if isinstance(answer, WorkerLostError)
            else answer
            for _, answer in sorted(answers.items())
        ]

    def close(self) -> None:
        """Ends the workers."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
