"""Mask and observation of episodes whose actions are candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmarks import NamedModule
from envs.episode import Episode
from envs.observations import GraphObservation
from hlograph.graph.features import edge_features, node_features
from hlograph.graph.hlo_graph import HloGraph
from hlograph.module import Module

_MAX_NODES = 2**40
_MAX_FEATURE = 1e3  # numbers of rules and kinds; logarithms stay below 70


class CandidateEpisode(Episode):
    """State of an episode that offers candidates.

    Args:
        benchmark: The benchmark.
        start: Its module at the start of the episode; not changed.
        costs: True to run XLA's cost analysis on each state.
        limit: Largest number of candidates.
    """

    def __init__(self, benchmark: NamedModule, start: Module, costs: bool, limit: int) -> None:
        super().__init__(benchmark, start, costs)
        self._limit = limit

    def withdraw(self, action: int) -> None:
        """Masks a candidate for as long as the state does not change."""
        self.mask = self.mask.copy()
        self.mask[action] = 0

    def _unmask(self, number: int) -> None:
        """Sets the mask of a state with some candidates."""
        mask = np.zeros(self._limit + 1, np.int8)
        mask[:number] = mask[-1] = 1
        self.mask = mask

    def _observation(
        self, graph: HloGraph, features: NDArray[np.float32], links: NDArray[np.int64]
    ) -> dict[str, Any]:
        """Returns the observation in new arrays; see ``observation_space``.

        Args:
            graph: Graph of the module.
            features: float32 ``[candidates, F]``.
            links: int64 ``[L, 3]``.
        """
        rows = np.zeros((self._limit, features.shape[1]), np.float32)
        rows[: len(features)] = features
        return {
            "graph": spaces.GraphInstance(
                nodes=node_features(graph),
                edges=edge_features(graph),
                edge_links=np.ascontiguousarray(graph.edge_index.T),
            ),
            "op_counts": self.op_counts_by_opcode.copy(),
            "action_mask": self.mask.copy(),
            "candidates": rows,
            "candidate_links": links,
        }


def observation_space(limit: int, width: int) -> spaces.Dict:
    """Returns the space of observations.

    Args:
        limit: Largest number of candidates.
        width: Number of features of a candidate.
    """
    return spaces.Dict(
        {
            **GraphObservation(limit + 1).space.spaces,
            "candidates": spaces.Box(-_MAX_FEATURE, _MAX_FEATURE, (limit, width), np.float32),
            "candidate_links": spaces.Sequence(
                spaces.Box(0, _MAX_NODES, (3,), np.int64), stack=True
            ),
        }
    )
