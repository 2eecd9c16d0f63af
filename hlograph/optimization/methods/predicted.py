"""The plan that is predicted to be fastest, without a measurement."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import descended
from hlograph.errors import HloError
from hlograph.execution import lock
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods import PlanSearch
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_trees import KernelTrees

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder

_SECONDS, _MEMORY = 300.0, 16 << 30
_PRELOADED = ("hlograph.optimization.methods.predicted",)

_THINKING = 2.0
"""Seconds after which no further decision is taken."""


class Predicted(PlanSearch):
    """Proposes the plan that trees predict to be fastest, and no other one.

    It takes rules for time, native kernels, flags, libraries, partitions and fusions, one after the
    other (``hlograph.decisions.predicted_gains``), in a process of its own, while plans of other
    methods are measured.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        limits = WorkerLimits(seconds=_SECONDS, memory=_MEMORY)
        self._worker = Remote(partial(_Predictor, program, numerics), limits, _PRELOADED)
        self._thread = ThreadPoolExecutor(1, "predicted")
        self._found: Future[Plan | None] = self._thread.submit(self._find)
        self._proposed = False

    @property
    def ready(self) -> bool:
        """False while decisions are taken."""
        return self._found.done()

    def _next(self) -> Plan | None:
        """Returns the plan, and waits for it; None if it was returned, or is the default."""
        if self._proposed:
            return None
        self._proposed = True
        return self._found.result()

    def _take(self, result: PlanMeasurement) -> None:
        """Learns nothing."""

    def close(self) -> None:
        """Ends the process."""
        self._worker.close()
        self._thread.shutdown()

    def _find(self) -> Plan | None:
        try:
            return self._worker.call(_Predictor.plan, _THINKING)
        except HloError:
            return None


class _Predictor:
    """Decides about a program, in the process that may die."""

    def __init__(self, program: Program, numerics: Numerics, recorder: FlightRecorder) -> None:
        self._recorder = recorder
        with lock.compiling():
            self._trees = KernelTrees.load()
        self._states = PlanStates(program, numerics, self._trees, lock.compiling)

    def plan(self, seconds: float) -> Plan | None:
        with self._recorder.noted(b"the decisions that are predicted to bring most"):
            point = descended(self._states, self._trees, seconds)
            plan = None if point == Point() else self._states.plan(point)
        return None if plan is None else replace(plan, method="predicted")
