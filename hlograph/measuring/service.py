"""The measuring service: trials of one program in worker processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Self

from hlograph.errors import NotExecutableError, WorkerCrashedError, WorkerLostError
from hlograph.isolation import WorkerLimits, WorkerPool
from hlograph.measuring.trial import Effort, Job, MeasurementRequest, PlanMeasurement
from hlograph.measuring.worker import DEFAULT, SAMPLE, MeasuringWorker
from hlograph.plans import Plan
from hlograph.reading.parser_server import failed_check

COMPARISON = Effort(1, 0.0, 0.0, thorough=True)
"""Effort that compares outputs on all inputs, and times nothing that counts."""

_PRELOADED = ("hlograph.measuring.worker",)
_MEMORY = 16 << 30
_LONGEST_WAIT = 3600.0  # seconds
_LATE_CRASHES = 1  # of the default, after it has run
_EARLY_LOSSES = 2  # times that a worker may be lost before the default has run in one


class Measurer:
    """Measures plans of one program in jaxlib, in worker processes that may die.

    Compilations run side by side. Only one process of the user measures at a time, whatever
    program it measures. A plan whose worker dies is an outcome with an error.

    The processes start and compile the default at once, before there is a plan to measure.

    Args:
        job: The program and the conditions.
        workers: Number of worker processes. Each compiles the default once.
        without: Names of samples on which outputs are not compared.

    Attributes:
        without: These, and those that the default did not survive.
    """

    def __init__(
        self, job: Job, *, workers: int = 2, without: frozenset[str] = frozenset()
    ) -> None:
        # A worker may wait long for the machine, which others measure on.
        limits = WorkerLimits(idle_seconds=_LONGEST_WAIT, memory=_MEMORY)
        make_worker = partial(MeasuringWorker, job)
        self._pool = WorkerPool(
            make_worker, workers, limits, _PRELOADED, with_main=False, ahead=True
        )
        self._name = job.program.name
        self._answered, self._early_losses, self._late_crashes = False, 0, 0
        self.without = without

    def measure(self, trials: Iterable[MeasurementRequest]) -> Iterator[PlanMeasurement]:
        """Performs trials, and yields their outcomes as they end.

        Trials are taken from the iterable one by one, so that they may depend on outcomes.

        Raises:
            NotExecutableError: The default itself does not compile or run.
            HloError: The program cannot be measured; the message says why.
        """
        waiting, again = iter(trials), deque[MeasurementRequest]()
        yield from self._measured(waiting, again)
        while again:
            yield from self._measured(waiting, again)

    def _measured(
        self, trials: Iterator[MeasurementRequest], again: deque[MeasurementRequest]
    ) -> Iterator[PlanMeasurement]:
        """Performs trials, those of a queue first, to which some are added.

        Args:
            trials: The trials.
            again: Trials whose worker was lost while it ran the default on a sample, as in a loop
                without an end. They are performed again without this sample.
        """
        asked: list[MeasurementRequest] = []

        def remembered() -> Iterator[MeasurementRequest]:
            while (trial := again.popleft() if again else next(trials, None)) is not None:
                asked.append(replace(trial, without=trial.without | self.without))
                yield asked[-1]

        for number, outcome in self._pool.map(remembered()):
            if isinstance(outcome, WorkerLostError):
                if self._left_out(outcome):
                    again.append(asked[number])
                    continue
                outcome = self._lost(asked[number], outcome)
            else:
                self._answered = True
            yield outcome

    def _left_out(self, lost: WorkerLostError) -> bool:
        """Returns True if the default did not survive a sample, which is left out from then on."""
        note = lost.note or b""
        by_itself = lost.to_blame or isinstance(lost, WorkerCrashedError)
        if not by_itself or not note.startswith(SAMPLE):
            return False
        self.without |= {note.removeprefix(SAMPLE).decode()}
        return True

    def _lost(self, trial: MeasurementRequest, lost: WorkerLostError) -> PlanMeasurement:
        words = f"{lost} {failed_check(lost.output) or lost.output[-300:]}".strip()
        # Once the default has run in a worker, a loss is an accident or the plan's fault.
        if not self._answered and lost.note in (None, DEFAULT):
            self._early_losses += 1
            by_itself = lost.to_blame or isinstance(lost, WorkerCrashedError)
            if by_itself or self._early_losses > _EARLY_LOSSES:
                raise NotExecutableError(
                    "a process ended in jaxlib's default compilation or run of "
                    f"{self._name}: {words}"
                ) from lost
        if self._answered and lost.note == DEFAULT and isinstance(lost, WorkerCrashedError):
            self._late_crashes += 1
            if self._late_crashes > _LATE_CRASHES:
                raise NotExecutableError(
                    f"processes ended in runs of jaxlib's default of {self._name}: {words}"
                ) from lost
        # What ends its process by itself does so again; what was killed may have been too slow on a
        # busy machine, or in the way of others.
        crashed = isinstance(lost, WorkerCrashedError) and lost.note == trial.plan.digest.encode()
        return PlanMeasurement(
            trial.plan,
            trial.effort.thorough,
            error=words,
            seconds=lost.seconds,
            accident=not crashed,
        )

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that have started."""
        return self._pool.pids

    def close(self) -> None:
        """Ends the workers."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def try_plan(job: Job, plan: Plan, effort: Effort = COMPARISON) -> PlanMeasurement:
    """Compiles, compares and times a plan in a process of its own, which it may end.

    Raises:
        HloError: The program cannot be measured; the message says why.
    """
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(plan, effort)])
    return outcome
