"""The state of one episode of fusion decisions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

from envs.benchmarks import NamedModule
from envs.fusion_walk import FusionWalk
from envs.rewards import ModuleState
from envs.run_times import RunTime, Start
from envs.trajectory import Trajectory
from hlograph import HloGraph
from hlograph.errors import RewriteError
from hlograph.module import Cost, Module
from hlograph.transforms.xla_cpu import before_fusion, count_kernels

_KEPT_MODULES = 32
_APPLY = "apply "


class FusionEpisode:
    """A lowered module on its way through its decisions, and what is known of its present state.

    Attributes:
        benchmark: Name of the benchmark.
        walk: The module, and the decision that is offered.
        state: What rewards see of it now; its op count is the number of kernels.
        start: What rewards saw of it as the episode began.
        start_op_count: Instructions then, those inside of fusions among them.
        op_count: Instructions now.
        kernels: Kernels now.
        start_kernels: Kernels as the episode began.
        counts: Its instructions by opcode, float32 ``[len(OPCODES)]``; not to be written to.
        fingerprint: Its fingerprint now.
        cost: XLA's cost analysis; None in an episode without costs.
        run_time: What came of running it; None until it is timed.
        seen: What the observation sees of the module; None until asked for.
        steps: Decisions made.
        done: Whether the episode has ended.

    Args:
        benchmark: What the episode begins with.
        passes: The passes to walk.
        costs: Whether XLA's cost analysis is run on each state.
    """

    def __init__(self, benchmark: NamedModule, passes: Sequence[str], costs: bool) -> None:
        self.benchmark = benchmark.name
        self._source, self._costs = benchmark, costs
        self.walk = FusionWalk(_lower(benchmark).clone(), passes)
        self._enter()
        self.start = self.state
        self.start_kernels = self.kernels
        self.start_op_count, self._start_fingerprint = self.op_count, self.fingerprint
        self.steps = 0
        self.done = False
        self._taken: list[str] = []
        self._op_counts: list[int] = []

    @property
    def module(self) -> Module:
        """The module, changed by each decision to fuse."""
        return self.walk.module

    @property
    def applied(self) -> list[str]:
        """Places of the pairs that were fused."""
        return [t.removeprefix(_APPLY) for t in self._taken if t.startswith(_APPLY)]

    @property
    def timed_beside(self) -> Start:
        """What its states are timed beside: the module before any decision."""
        return Start(_lower(self._source), self._source.load(), lowered=True)

    def decide(self, choice: str) -> str | None:
        """Keeps or applies the decision that is offered.

        Args:
            choice: ``"keep"`` or ``"apply"``.

        Returns:
            XLA's message if fusing failed, which counts as kept; None otherwise.
        """
        decision, error = self.walk.decision, None
        self.steps += 1
        if decision is None:
            return None
        if choice == "apply":
            try:
                self.walk.apply()
                self._enter()
            except RewriteError as failure:
                error = str(failure)
                choice = "keep"
        if choice == "keep":
            self.walk.keep()
        self._taken.append(f"{choice} {decision}")
        self._op_counts.append(self.op_count)
        return error

    def graph(self) -> HloGraph:
        """The module's graph, made once for each state."""
        if self._graph is None:
            self._graph = self.walk.module.graph()
        return self._graph

    def nodes(self) -> dict[str, int]:
        """The graph's nodes by name; instructions hide computations of their name."""
        if self._nodes is None:
            names = self.graph().names()
            self._nodes = {names[node]: node for node in reversed(range(len(names)))}
        return self._nodes

    def trajectory(self) -> Trajectory:
        """What was decided so far."""
        return Trajectory(
            benchmark=self.benchmark,
            start_fingerprint=self._start_fingerprint,
            start_op_count=self.start_op_count,
            passes=tuple(self._taken),
            op_counts=tuple(self._op_counts),
            fingerprint=self.fingerprint,
        )

    def copy(self) -> Self:
        """Returns an independent copy."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.walk = self.walk.copy()
        copy._taken, copy._op_counts = list(self._taken), list(self._op_counts)
        return copy

    def _enter(self) -> None:
        module = self.walk.module
        snapshot = module.snapshot()
        self.fingerprint, self.op_count = snapshot.fingerprint, snapshot.op_count
        self.counts = snapshot.op_counts
        self.cost: Cost | None = module.cost() if self._costs else None
        self.kernels = count_kernels(module)
        # Rewards divide by it; a program that only names data has none.
        self.state = ModuleState(max(self.kernels, 1))
        if self.cost is not None:
            self.state = self.state._replace(**self.cost._asdict())
        self.run_time: RunTime | None = None
        self.seen: Any = None
        self._graph: HloGraph | None = None
        self._nodes: dict[str, int] | None = None


@lru_cache(maxsize=_KEPT_MODULES)
def _lower(benchmark: NamedModule) -> Module:
    # Takes seconds where a pass does; the modules of a training set come again and again.
    return before_fusion(benchmark.load())
