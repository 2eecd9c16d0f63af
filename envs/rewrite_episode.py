"""State of one episode of rewrites."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from envs import candidates as arrays
from envs.benchmarks import NamedModule
from envs.episode import Episode
from envs.observations import GraphObservation
from hlograph.graph.features import edge_features, node_features
from hlograph.transforms.rewriting import Rewrite

_MAX_NODES = 2**40
_MAX_FEATURE = 1e3  # numbers of rules; logarithms stay below 70


class RewriteEpisode(Episode):
    """State of an episode: a module, and the rewrites that are offered.

    Attributes:
        candidates: The rewrites that are offered, by action number.
        num_applicable: Number of rewrites that apply, offered or not.

    Args:
        benchmark: The benchmark.
        costs: True to run XLA's cost analysis on each state.
        limit: Largest number of candidates.
    """

    def __init__(self, benchmark: NamedModule, costs: bool, limit: int) -> None:
        super().__init__(benchmark, benchmark.load(), costs)
        self._limit = limit
        self.candidates: list[Rewrite] = []
        self.num_applicable = 0

    def offer(self, found: list[Rewrite]) -> None:
        """Chooses the candidates of the present state, and sets the mask.

        Args:
            found: All rewrites that apply.
        """
        self.num_applicable = len(found)
        self.candidates = arrays.chosen(found, self._limit)
        mask = np.zeros(self._limit + 1, np.int8)
        mask[: len(self.candidates)] = mask[-1] = 1
        self.mask = mask

    def withdraw(self, action: int) -> None:
        """Masks a candidate for as long as the state does not change."""
        self.mask = self.mask.copy()
        self.mask[action] = 0

    def observe(self) -> dict[str, Any]:
        """Returns the observation in new arrays; see ``observation_space``."""
        graph = self.module.graph()
        rows = np.zeros((self._limit, len(arrays.CANDIDATE_FEATURES)), np.float32)
        rows[: len(self.candidates)] = arrays.features(self.candidates)
        return {
            "graph": spaces.GraphInstance(
                nodes=node_features(graph),
                edges=edge_features(graph),
                edge_links=np.ascontiguousarray(graph.edge_index.T),
            ),
            "op_counts": self.op_counts_by_opcode.copy(),
            "action_mask": self.mask.copy(),
            "candidates": rows,
            "candidate_links": arrays.links(self.candidates, graph),
        }


def observation_space(limit: int) -> spaces.Dict:
    """Returns the space of the observations of rewriting.

    Args:
        limit: Largest number of candidates.
    """
    width = len(arrays.CANDIDATE_FEATURES)
    return spaces.Dict(
        {
            **GraphObservation(limit + 1).space.spaces,
            "candidates": spaces.Box(-_MAX_FEATURE, _MAX_FEATURE, (limit, width), np.float32),
            "candidate_links": spaces.Sequence(
                spaces.Box(0, _MAX_NODES, (3,), np.int64), stack=True
            ),
        }
    )
