"""State of one episode of pass ordering."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

from envs.benchmarks import NamedModule
from envs.episode import Episode
from envs.known_steps import KnownState, KnownSteps
from envs.observations import Observation
from envs.trajectory import check_replay
from hlograph.inspection.module_view import Cost, Snapshot
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import noted
from hlograph.module import Module
from hlograph.transforms.registry import Pass


class _Step(NamedTuple):
    """A step that the module has not made yet.

    Attributes:
        entry: The pass.
        fingerprint: The state before it.
        num_steps: Number of steps that the episode had made before it.
    """

    entry: Pass
    fingerprint: str
    num_steps: int


class PassEpisode(Episode):
    """State of an episode: a module, and the passes that are known to change nothing in it.

    With a table of known steps the episode goes from state to state, and the module follows when it
    is needed: it makes the steps that it has not made yet. Together they are no more than
    without the table, and none at all in an episode whose steps are all known.

    Attributes:
        known: Passes known to change nothing in the present state, as ``KnownNoOps.at`` returns
            them.
        known_before: Those that were known when the episode entered the state.
        place: The present state in the table of known steps; None without a table.

    Args:
        benchmark: The benchmark.
        costs: True to run XLA's cost analysis on each state.
        steps: Table of known steps; None to make all steps.
        recorder: Records each pass before it runs; None outside of worker processes.
    """

    def __init__(
        self,
        benchmark: NamedModule,
        costs: bool,
        steps: KnownSteps | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        start = benchmark.load()
        self._steps, self._recorder = steps, recorder
        self._to_make: list[_Step] = []
        self.place: KnownState | None = None if steps is None else steps.start(start)
        super().__init__(benchmark, start, costs)
        self._context = int(start.context_fingerprint(), 16)
        self.known = self.known_before = 0

    @property
    def key(self) -> int:
        """The present state's key in ``KnownNoOps``."""
        return int(self.fingerprint, 16) ^ self._context

    @property
    def module(self) -> Module:
        """The module in the present state."""
        self.follow()
        return self._module

    def go(self, entry: Pass, after: KnownState) -> bool:
        """Makes a known step, and returns True if it changed the module.

        Args:
            entry: The pass.
            after: The state after it.
        """
        self._to_make.append(_Step(entry, self.fingerprint, len(self.step_names)))
        return self.arrive(after)

    def arrive(self, after: KnownState) -> bool:
        """Enters the state after a pass, and returns True if it is another one than before.

        Args:
            after: The state, as the table of known steps has it.
        """
        self.place = after
        changed = after.snapshot.fingerprint != self.fingerprint
        if changed:
            self.enter(after.snapshot)
        return changed

    def look(self, observation: Observation) -> Any:
        """Returns the part of an observation that depends on the module only."""
        counts = self.op_counts_by_opcode
        if not observation.shows_graph:
            return counts
        steps, place = self._steps, self.place
        if steps is None or place is None:
            return observation.observe(self.module, counts)
        return steps.graph(place, lambda: observation.observe(self.module, counts))

    def follow(self) -> float:
        """Makes the steps that the module has not made yet, and returns the seconds it took."""
        if not self._to_make:
            return 0.0
        begin = time.perf_counter()
        while self._to_make:
            entry, fingerprint, num_steps = self._to_make[0]
            about = (fingerprint, self.benchmark, self.step_names[:num_steps])
            with noted(self._recorder, entry.name, *about):
                self._module.run(entry)
            del self._to_make[0]
        check_replay("known steps", self.fingerprint, self._module.fingerprint())
        return time.perf_counter() - begin

    def copy(self) -> Self:
        """Returns an independent copy.

        It makes all its steps: a clone may store its computations in another order, so the
        states that it comes to are not those of the table.
        """
        copy = super().copy()
        copy._steps = copy.place = None
        copy._to_make = []
        return copy

    def _snapshot_of(self, start: Module) -> Snapshot:
        return start.snapshot() if self.place is None else self.place.snapshot

    def _analyze(self) -> Cost:
        if self.place is None:
            return self.module.cost()
        if self.place.cost is None:
            self.place.cost = self.module.cost()
        return self.place.cost
