"""The state of one episode."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from envs.benchmarks import NamedModule
from envs.rewards import ModuleState
from envs.run_times import RunTime, Start
from envs.trajectory import Trajectory
from hlograph.module import Cost, Module, Snapshot


class Episode:
    """A module on its way through an episode, and what is known of its present state.

    Attributes:
        benchmark: Name of the benchmark.
        module: The module, changed by each pass.
        fingerprint: Its fingerprint now.
        start_fingerprint: Its fingerprint as the episode began.
        state: What rewards see of it now.
        start: What rewards saw of it as the episode began.
        steps: Steps taken, stopping included.
        done: Whether the episode has ended.
        applied: Names of the passes run, those without effect included.
        op_counts: Op count after each of them.
        counts: Its instructions by opcode, float32 ``[len(OPCODES)]``; not to be written to.
        mask: Action mask of the present state, int8 ``[num_actions]``; replaced, not written to.
        known: Passes known to change nothing in it, as ``KnownNoOps.at`` gives them.
        known_before: Those that were known as the episode came into it.
        seen: What the observation sees of the module; None until asked for.
        cost: XLA's cost analysis; None in an episode without costs.
        run_time: What came of running it; None until it is timed.

    Args:
        benchmark: What the episode begins with.
        costs: Whether XLA's cost analysis is run on each state.
    """

    def __init__(self, benchmark: NamedModule, costs: bool) -> None:
        self.benchmark = benchmark.name
        self._load, self._costs = benchmark.load, costs
        start = benchmark.load()
        self.module = start.clone()
        # Of the start itself, which keeps its fingerprint for the next episode.
        self.enter(start.snapshot())
        self._surroundings = int(start.surroundings(), 16)
        self.start_fingerprint = self.fingerprint
        self.start = self.state
        self.steps = 0
        self.done = False
        self.applied: list[str] = []
        self.op_counts: list[int] = []
        self.mask: NDArray[np.int8] = np.zeros(0, np.int8)
        self.known = self.known_before = 0

    @property
    def start_module(self) -> Module:
        """The module as the episode began; not to be changed."""
        return self._load()

    @property
    def timed_beside(self) -> Start:
        """What its states are timed beside."""
        return Start(self.start_module, self.start_module)

    @property
    def key(self) -> int:
        """The present state, as ``KnownNoOps`` tells states apart."""
        return int(self.fingerprint, 16) ^ self._surroundings

    def enter(self, snapshot: Snapshot) -> None:
        """Goes on to the state that the module is in now."""
        self.fingerprint = snapshot.fingerprint
        self.state = ModuleState(snapshot.op_count)
        self.cost: Cost | None = None
        if self._costs:
            self.cost = self.module.cost()
            self.state = ModuleState(snapshot.op_count, *self.cost)
        self.counts = snapshot.op_counts
        self.run_time: RunTime | None = None
        self.seen: Any = None

    def trajectory(self) -> Trajectory:
        """Returns what the episode did so far."""
        return Trajectory(
            benchmark=self.benchmark,
            start_fingerprint=self.start_fingerprint,
            start_op_count=self.start.op_count,
            passes=tuple(self.applied),
            op_counts=tuple(self.op_counts),
            fingerprint=self.module.fingerprint(),
        )

    def copy(self) -> Self:
        """Returns an independent copy."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.module = self.module.clone()
        copy.applied = list(self.applied)
        copy.op_counts = list(self.op_counts)
        return copy
