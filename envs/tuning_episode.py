"""State of one episode of tuning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envs import offers as arrays
from envs.benchmarks import NamedModule
from envs.candidate_episode import CandidateEpisode
from hlograph.inspection.module_view import Snapshot
from hlograph.module import Module
from hlograph.tuning.decision_process import DecisionProcess, TuningState
from hlograph.tuning.knobs import Point
from hlograph.tuning.offers import Offer


class TuningEpisode(CandidateEpisode):
    """State of an episode: the decisions so far, and those that are offered.

    Attributes:
        process: The program that is tuned.
        tuning: The program with the decisions so far.
        found: The decisions that can be taken.
        offered: Those of them that are offered, by action number.

    Args:
        benchmark: The benchmark.
        process: The program.
        costs: True to run XLA's cost analysis on each state.
        limit: Largest number of offers.
        numbers: Numbers of the kinds of decisions that can be taken.
    """

    def __init__(
        self,
        benchmark: NamedModule,
        process: DecisionProcess,
        costs: bool,
        limit: int,
        numbers: Mapping[str, int],
    ) -> None:
        self.process, self.tuning = process, process.state(Point())
        super().__init__(benchmark, self.tuning.module, costs, limit)
        self._numbers = numbers
        self._offer()

    @property
    def start_module(self) -> Module:
        """The module that jaxlib optimizes the program to by default; not to be changed."""
        return self.process.state(Point()).module

    def decide(self, tuning: TuningState) -> None:
        """Goes to the state after a decision."""
        self.tuning = tuning
        self._module = tuning.module.clone()
        self.enter(tuning.module.snapshot())
        self._offer()

    def enter(self, snapshot: Snapshot) -> None:
        """Updates all that is known after a decision.

        Args:
            snapshot: Snapshot of the module.
        """
        super().enter(snapshot)
        self.state = self.state._replace(seconds=self.tuning.time.seconds)

    def observe(self) -> dict[str, Any]:
        """Returns the observation in new arrays; see ``envs.candidate_episode``."""
        graph = self.module.graph()
        features = arrays.features(self.offered, self._numbers)
        return self._observation(graph, features, arrays.links(self.offered, graph))

    def _offer(self) -> None:
        self.found = [offer for offer in self.tuning.offers if offer.kind in self._numbers]
        self.offered: list[Offer] = arrays.chosen(self.found, self._limit)
        self._unmask(len(self.offered))

    def _size(self) -> int:
        # Rewards divide by it.
        return max(round(1e9 * self.tuning.time.seconds), 1)
