"""The worker of a plan: compiles, records and times a program in its process."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlograph.errors import HloError
from hlograph.execution import lock
from hlograph.execution.load import LoadMeter
from hlograph.execution.runs import Run
from hlograph.execution.turns import in_turns
from hlograph.explorer.optimized_data import optimized_data
from hlograph.explorer.plan_requests import (
    PlanAnswer,
    PlanRequest,
    Refused,
    Timeline,
    TimelineRequest,
    TurnsRequest,
)
from hlograph.explorer.timeline_data import timeline_data
from hlograph.isolation import FlightRecorder
from hlograph.measuring.compiled import FinalModule
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import Job
from hlograph.plans import Measured, Plan, compile_program
from hlograph.profiling.kernels import measure
from hlograph.profiling.of_program import runner

# Runs for a timeline, without and under the profiler.
_RUNS, _RUN_SECONDS = 20, 3.0

# Turns that are made in any case.
_LEAST = 3

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
            if isinstance(request, TimelineRequest):
                return self._timeline(request.plan)
            return self._turns(request)
        except (HloError, RuntimeError) as error:
            return Refused(str(error))

    def _timeline(self, plan: Plan) -> Timeline:
        compiled = self._compiled(plan)
        with lock.alone(), self._noted(plan):
            run, before = runner(compiled.executable, self._inputs)
            found = measure(
                compiled.executable, run, runs=_RUNS, max_seconds=_RUN_SECONDS, before=before
            )
        return Timeline(timeline_data(found), optimized_data(found.program), compiled.seconds)

    def _turns(self, request: TurnsRequest) -> Measured:
        plans = request.plan, request.other
        both = [self._compiled(plan) for plan in plans]
        same = both[0].code == both[1].code
        if same and request.plan.digest != request.other.digest:
            return Measured(np.nan, np.nan, 1.0, 1.0, 1.0, 1.0, pairs=0)
        if same:  # what noise makes of ratios is asked for
            both[1] = self._compiled(request.other, again=True)
        plan, other = (
            Run(compiled.executable, self._inputs, self._job.program.donated) for compiled in both
        )
        with lock.alone(), self._noted(request.other):
            turns = in_turns(
                [other.seconds, plan.seconds],
                turns=request.pairs,
                block_seconds=request.block_seconds,
                max_seconds=request.max_seconds,
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
