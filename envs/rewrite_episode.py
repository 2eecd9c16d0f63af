"""State of one episode of rewrites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from envs import candidates as arrays
from envs.benchmarks import NamedModule
from envs.candidate_episode import CandidateEpisode
from envs.candidates import Candidate
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite

_KEPT_MODULES = 32


class RewriteEpisode(CandidateEpisode):
    """State of an episode: a module, and the rewrites that are offered.

    Attributes:
        candidates: The rewrites and sweeps that are offered, by action number.
        num_applicable: Number of rewrites that apply, offered or not.

    Args:
        benchmark: The benchmark.
        costs: True to run XLA's cost analysis on each state.
        limit: Largest number of candidates.
        prepare: Names of the passes that run on the benchmark first.
        predict: True if the predicted seconds of candidates are among their features.
        sweeps: True if sweeps are offered, too.
    """

    def __init__(
        self,
        benchmark: NamedModule,
        costs: bool,
        limit: int,
        prepare: tuple[str, ...] = (),
        predict: bool = False,
        sweeps: bool = False,
    ) -> None:
        super().__init__(benchmark, _start(benchmark, prepare), costs, limit)
        self._prepare, self._predict, self._sweeps = prepare, predict, sweeps
        self.candidates: list[Candidate] = []
        self.num_applicable = 0

    @property
    def start_module(self) -> Module:
        """The prepared module at the start of the episode; not to be changed."""
        return _start(self._source, self._prepare)

    @property
    def applied(self) -> list[str]:
        """Names of the passes that prepared the benchmark, and places of the rewrites."""
        return [*self._prepare, *self.step_names]

    def offer(self, found: Sequence[Rewrite], excluded: Collection[str] = ()) -> None:
        """Chooses the candidates of the present state, and sets the mask.

        Args:
            found: All rewrites that apply.
            excluded: Places that are not offered.
        """
        self.num_applicable = sum(one.place not in excluded for one in found)
        self.candidates = arrays.offered(
            found, self._limit, predict=self._predict, sweeps=self._sweeps, excluded=excluded
        )
        self._unmask(len(self.candidates))

    def observe(self) -> dict[str, Any]:
        """Returns the observation in new arrays; see ``envs.candidate_episode``."""
        graph = self.module.graph()
        features = arrays.features(self.candidates, predict=self._predict, sweeps=self._sweeps)
        return self._observation(graph, features, arrays.links(self.candidates, graph))


def _start(benchmark: NamedModule, prepare: tuple[str, ...]) -> Module:
    return _prepared(benchmark, prepare) if prepare else benchmark.load()


@lru_cache(maxsize=_KEPT_MODULES)
def _prepared(benchmark: NamedModule, passes: tuple[str, ...]) -> Module:
    # Episodes share what is known of one copy: where rewrites apply, and its fingerprint.
    module = benchmark.load().clone()
    for name in passes:
        module.run(name)
    return module
