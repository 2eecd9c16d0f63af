"""State of one episode of fusion decisions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Self

from envs.benchmarks import NamedModule
from envs.episode import Episode
from envs.fusion_walk import FusionWalk
from envs.run_times import Start
from envs.step_result import StepResult
from hlograph import HloGraph, Place
from hlograph.errors import RewriteError
from hlograph.inspection.module_view import Snapshot
from hlograph.module import Module
from hlograph.transforms.xla_cpu import before_fusion, count_kernels

_KEPT_MODULES = 32

KEPT = "keep "
"""Prefix of the name of a step that kept a pair apart; a fusion's name is its place alone."""


class FusionEpisode(Episode):
    """State of an episode: a lowered module, and the decision about it that is offered.

    Attributes:
        walk: Lists the decisions.
        kernels: Number of kernels; the op count of ``state`` is the same, at least 1.
        start_kernels: The same at the start.

    Args:
        benchmark: The benchmark.
        passes: The fusion passes to decide about.
        costs: True to run XLA's cost analysis on each state.
    """

    def __init__(self, benchmark: NamedModule, passes: Sequence[str], costs: bool) -> None:
        super().__init__(benchmark, _lowered(benchmark), costs)
        self.walk = FusionWalk(self.module, passes)
        self.start_kernels = self.kernels

    @property
    def start_module(self) -> Module:
        """The lowered module at the start of the episode; not to be changed."""
        return _lowered(self._source)

    @property
    def baseline(self) -> Start:
        """The lowered module without any fusion, whose run time is the unit of run times."""
        return Start(self.start_module, self._source.load(), lowered=True)

    @property
    def applied(self) -> list[str]:
        """Places of the pairs that were fused."""
        return [name for name in self.step_names if not name.startswith(KEPT)]

    def keep(self, decision: Place) -> StepResult:
        """Keeps the pair that is offered apart.

        Args:
            decision: The pair.
        """
        begin = time.perf_counter()
        self.walk.keep()
        seconds = time.perf_counter() - begin
        self.note(f"{KEPT}{decision}")
        return StepResult(self.step_names[-1], seconds=seconds)

    def fuse(self, decision: Place) -> StepResult:
        """Fuses the pair that is offered; keeps it apart if that fails.

        Args:
            decision: The pair.
        """
        begin = time.perf_counter()
        try:
            self.walk.apply()
        except RewriteError as failure:
            seconds = time.perf_counter() - begin
            kept = self.keep(decision)
            return kept._replace(seconds=seconds + kept.seconds, error=str(failure))
        seconds = time.perf_counter() - begin
        self.enter(self.module.snapshot())
        self.note(str(decision))
        return StepResult(self.step_names[-1], changed=True, seconds=seconds)

    def graph(self) -> HloGraph:
        """Returns the module's graph, made once for each state."""
        if self._graph is None:
            self._graph = self.module.graph()
        return self._graph

    def nodes(self) -> dict[str, int]:
        """Returns the graph's nodes by name; instructions hide computations of the same name."""
        if self._nodes is None:
            names = self.graph().names()
            self._nodes = {names[node]: node for node in reversed(range(len(names)))}
        return self._nodes

    def enter(self, snapshot: Snapshot) -> None:
        """Updates all that is known after the module has changed.

        Args:
            snapshot: Snapshot of the module.
        """
        self.kernels = count_kernels(self.module)
        super().enter(snapshot)
        self._graph: HloGraph | None = None
        self._nodes: dict[str, int] | None = None

    def copy(self) -> Self:
        """Returns an independent copy."""
        copy = super().copy()
        copy.walk = self.walk.copy(copy.module)
        return copy

    def _size(self) -> int:
        # Rewards divide by it, and a program that only names data has no kernel.
        return max(self.kernels, 1)


@lru_cache(maxsize=_KEPT_MODULES)
def _lowered(benchmark: NamedModule) -> Module:
    # Lowering takes seconds, and training plays the same benchmarks many times.
    return before_fusion(benchmark.load())
