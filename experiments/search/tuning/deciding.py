"""Decisions about a program that a trained policy takes, one by one, as a method of a search."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from experiments.policies.shipped import checkpoint_location
from hlograph.errors import HloError, WorkerLostError
from hlograph.execution import lock
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods import MakeMethod, Method, PlanSearch
from hlograph.plans import Numerics, Plan, Program
from hlograph.storage.locations import Location

if TYPE_CHECKING:
    from experiments.search.tuning.episodes import Decided
    from hlograph.isolation import FlightRecorder

POLICY, OP_COUNTS = "tuning", "tuning-op-counts"
"""Kinds of policies that come with the project: on graphs, and on op counts."""

_SECONDS, _MEMORY = 300.0, 16 << 30

_EPISODE_SECONDS = 2.0
_PRELOADED = ("experiments.search.tuning.episodes",)

# Sampled episodes in a row that lead to known plans, after which a policy has no more.
_MOST_KNOWN = 16


class Decisions:
    """Decisions of a policy's greedy episode, then those of sampled ones.

    They are taken in a worker process, so that what ends it ends the decisions only.

    Args:
        program: The program.
        numerics: Class of the results.
        checkpoint: The policy; None takes the one of seed 0 that comes with the project.
        seconds: Time of an episode; see ``PlayedPolicy``.
    """

    def __init__(
        self,
        program: Program,
        numerics: Numerics,
        checkpoint: Location | None = None,
        seconds: float | None = _EPISODE_SECONDS,
    ) -> None:
        checkpoint = checkpoint or checkpoint_location(POLICY)
        make = partial(_Decider, program, numerics, checkpoint, seconds)
        self._worker = Remote(make, WorkerLimits(seconds=_SECONDS, memory=_MEMORY), _PRELOADED)
        self._episodes, self._lost = 0, False
        self._known = {Plan().digest}

    def following(self) -> Decided | None:
        """Returns decisions whose plan is new; None if there are none."""
        for _ in range(_MOST_KNOWN):
            try:
                decided = self._decided(self._episodes)
            except HloError:
                return None
            finally:
                self._episodes += 1
            if decided.plan.digest not in self._known:
                self._known.add(decided.plan.digest)
                return decided
        return None

    def _decided(self, episode: int) -> Decided:
        try:
            return self._worker.call(_Decider.decided, episode)
        except WorkerLostError:
            if self._lost:
                raise
            # Once: a busy machine may have kept the process from starting in time.
            self._lost = True
            return self._worker.call(_Decider.decided, episode)

    def close(self) -> None:
        """Ends the worker process, also while it decides."""
        self._worker.close()


class DecidingMethod(PlanSearch):
    """Proposes the plans of decisions, for ``hlograph.optimize``.

    Decisions are taken while others are measured: the first ones at once, and the next ones when
    the outcome of the last plan is known.

    Args:
        name: Name of the method in reports.
        decisions: The decisions.
    """

    def __init__(self, name: str, decisions: Decisions) -> None:
        self._name, self._decisions = name, decisions
        self._thread = ThreadPoolExecutor(1, "decisions")
        self._last = ""
        self._pending: Future[Decided | None] | None = None
        self._begin()

    @property
    def ready(self) -> bool:
        """False while the next decisions are taken."""
        return self._pending is not None and self._pending.done()

    def _next(self) -> Plan | None:
        """Returns the next plan, and waits for it; None if there is none."""
        decided, self._pending = self._begin().result(), None
        if decided is None:
            self._pending = Future()
            self._pending.set_result(None)
            return None
        self._last = decided.plan.digest
        return replace(decided.plan, method=self._name)

    def _take(self, result: PlanMeasurement) -> None:
        """Takes the next decisions, if the outcome is that of the last ones."""
        if result.plan.digest == self._last and not result.thorough:
            self._begin()

    def close(self) -> None:
        """Ends the worker process."""
        self._decisions.close()
        self._thread.shutdown()

    def _begin(self) -> Future[Decided | None]:
        if self._pending is None:
            self._pending = self._thread.submit(self._decisions.following)
        return self._pending


def playing(name: str, kind: str) -> MakeMethod:
    """Returns the function that makes the method which plays a policy of the project.

    The seed of a method is that of the policy's training.

    Args:
        name: Name of the method in reports.
        kind: ``POLICY`` or ``OP_COUNTS``.
    """

    def make(program: Program, numerics: Numerics, seed: int = 0) -> Method:
        checkpoint = checkpoint_location(f"{kind}-seed{seed}")
        return DecidingMethod(name, Decisions(program, numerics, checkpoint))

    return make


policy = playing("policy", POLICY)
"""Makes the method that plays the policy on graphs."""

op_counts = playing("policy-op-counts", OP_COUNTS)
"""Makes the method that plays the policy on op counts."""


class _Decider:
    """Decides what the episodes of a number decide, in the process that may die."""

    def __init__(
        self,
        program: Program,
        numerics: Numerics,
        checkpoint: Location,
        seconds: float | None,
        recorder: FlightRecorder,
    ) -> None:
        self._recorder = recorder
        # These import torch: seconds that belong to the worker, and not to a measurement.
        with lock.compiling():
            import torch

            from experiments.search.tuning.episodes import PlayedPolicy

            # Graphs are small, and the search needs the other cores.
            torch.set_num_threads(1)
            self._played = PlayedPolicy(program, numerics, checkpoint, seconds, lock.compiling)

    def decided(self, episode: int) -> Decided:
        with self._recorder.noted(f"episode {episode}".encode()):
            return self._played.decided(episode)
