"""State of one episode of rewrites."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces

from envs import candidates as arrays
from envs.benchmarks import NamedModule
from envs.episode import Episode
from envs.observations import GraphObservation
from hlograph.graph.features import edge_features, node_features
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite

_KEPT_MODULES = 32
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
        prepare: Names of the passes that run on the benchmark first.
        predict: True if the predicted seconds of candidates are among their features.
    """

    def __init__(
        self,
        benchmark: NamedModule,
        costs: bool,
        limit: int,
        prepare: tuple[str, ...] = (),
        predict: bool = False,
    ) -> None:
        super().__init__(benchmark, _start(benchmark, prepare), costs)
        self._limit, self._prepare, self._predict = limit, prepare, predict
        self.candidates: list[Rewrite] = []
        self.num_applicable = 0

    @property
    def start_module(self) -> Module:
        """The prepared module at the start of the episode; not to be changed."""
        return _start(self._source, self._prepare)

    @property
    def applied(self) -> list[str]:
        """Names of the passes that prepared the benchmark, and places of the rewrites."""
        return [*self._prepare, *self.step_names]

    def offer(self, found: list[Rewrite]) -> None:
        """Chooses the candidates of the present state, and sets the mask.

        Args:
            found: All rewrites that apply.
        """
        self.num_applicable = len(found)
        self.candidates = arrays.chosen(found, self._limit, predict=self._predict)
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
        rows = np.zeros((self._limit, len(arrays.feature_names(self._predict))), np.float32)
        rows[: len(self.candidates)] = arrays.features(self.candidates, predict=self._predict)
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


def observation_space(limit: int, predict: bool = False) -> spaces.Dict:
    """Returns the space of the observations of rewriting.

    Args:
        limit: Largest number of candidates.
        predict: True if the predicted seconds of candidates are among their features.
    """
    width = len(arrays.feature_names(predict))
    return spaces.Dict(
        {
            **GraphObservation(limit + 1).space.spaces,
            "candidates": spaces.Box(-_MAX_FEATURE, _MAX_FEATURE, (limit, width), np.float32),
            "candidate_links": spaces.Sequence(
                spaces.Box(0, _MAX_NODES, (3,), np.int64), stack=True
            ),
        }
    )


def _start(benchmark: NamedModule, prepare: tuple[str, ...]) -> Module:
    return _prepared(benchmark, prepare) if prepare else benchmark.load()


@lru_cache(maxsize=_KEPT_MODULES)
def _prepared(benchmark: NamedModule, passes: tuple[str, ...]) -> Module:
    # Episodes share what is known of one copy: where rewrites apply, and its fingerprint.
    module = benchmark.load().clone()
    for name in passes:
        module.run(name)
    return module
