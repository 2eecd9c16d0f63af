"""Timelines and times of one program with a plan, from worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Self

from hlograph.errors import WorkerLostError
from hlograph.explorer.plan_requests import PlanAnswer, PlanRequest, Refused
from hlograph.explorer.plan_worker import PlanWorker
from hlograph.isolation import WorkerLimits, WorkerPool
from hlograph.measuring.trial import Job

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
        preloaded = ("hlograph.explorer.plan_worker",)
        self._pool = WorkerPool(
            partial(PlanWorker, job), workers, limits, preloaded, with_main=False
        )

    def answers(self, requests: Sequence[PlanRequest]) -> list[PlanAnswer]:
        """Returns the answer to each request, in order. Only one call at a time."""
        found: dict[int, PlanAnswer] = {}
        for number, answer in self._pool.map(requests):
            lost = isinstance(answer, WorkerLostError)
            found[number] = Refused(f"its process ended: {answer}") if lost else answer
        return [found[number] for number in range(len(requests))]

    def close(self) -> None:
        """Ends the workers."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
