"""State of one episode of tuning."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from envs import offers as arrays
from envs.benchmarks import NamedModule
from envs.episode import Episode
from envs.observations import GraphObservation
from hlograph.graph.features import edge_features, node_features
from hlograph.inspection.module_view import Snapshot
from hlograph.module import Module
from hlograph.tuning.decision_process import DecisionProcess, TuningState
from hlograph.tuning.knobs import Point
from hlograph.tuning.offers import Offer

_MAX_NODES = 2**40
_MAX_FEATURE = 1e3  # numbers of kinds; logarithms stay below 70


class TuningEpisode(Episode):
    """State of an episode: the decisions so far, and those that are offered.

    Attributes:
        process: The program that is tuned.
        tuning: The program with the decisions so far.
        offered: The decisions that are offered, by action number.

    Args:
        benchmark: The benchmark.
        process: The program.
        costs: True to run XLA's cost analysis on each state.
        limit: Largest number of offers.
    """

    def __init__(
        self, benchmark: NamedModule, process: DecisionProcess, costs: bool, limit: int
    ) -> None:
        self.process, self.tuning = process, process.state(Point())
        self._limit = limit
        super().__init__(benchmark, self.tuning.module, costs)
        self._offer()

    @property
    def start_module(self) -> Module:
        """The module that jaxlib optimizes the program to by default; not to be changed."""
        return self.process.state(Point()).module

    def decide(self, tuning: TuningState) -> None:
        """Goes to the state after a decision."""
        self.tuning = tuning
        self.module = tuning.module.clone()
        self.enter(tuning.module.snapshot())
        self._offer()

    def withdraw(self, action: int) -> None:
        """Masks an offer for as long as the state does not change."""
        self.mask = self.mask.copy()
        self.mask[action] = 0

    def enter(self, snapshot: Snapshot) -> None:
        """Updates all that is known after a decision.

        Args:
            snapshot: Snapshot of the module.
        """
        super().enter(snapshot)
        self.state = self.state._replace(seconds=self.tuning.time.seconds)

    def observe(self) -> dict[str, Any]:
        """Returns the observation in new arrays; see ``observation_space``."""
        graph = self.module.graph()
        rows = np.zeros((self._limit, len(arrays.OFFER_FEATURES)), np.float32)
        rows[: len(self.offered)] = arrays.features(self.offered)
        return {
            "graph": spaces.GraphInstance(
                nodes=node_features(graph),
                edges=edge_features(graph),
                edge_links=np.ascontiguousarray(graph.edge_index.T),
            ),
            "op_counts": self.op_counts_by_opcode.copy(),
            "action_mask": self.mask.copy(),
            "candidates": rows,
            "candidate_links": arrays.links(self.offered, graph),
        }

    def _offer(self) -> None:
        self.offered: list[Offer] = arrays.chosen(self.tuning.offers, self._limit)
        mask = np.zeros(self._limit + 1, np.int8)
        mask[: len(self.offered)] = mask[-1] = 1
        self.mask = mask

    def _size(self) -> int:
        # Rewards divide by it.
        return max(round(1e9 * self.tuning.time.seconds), 1)


def observation_space(limit: int) -> spaces.Dict:
    """Returns the space of the observations of tuning.

    Args:
        limit: Largest number of offers.
    """
    shape = (limit, len(arrays.OFFER_FEATURES))
    return spaces.Dict(
        {
            **GraphObservation(limit + 1).space.spaces,
            "candidates": spaces.Box(-_MAX_FEATURE, _MAX_FEATURE, shape, np.float32),
            "candidate_links": spaces.Sequence(
                spaces.Box(0, _MAX_NODES, (3,), np.int64), stack=True
            ),
        }
    )
