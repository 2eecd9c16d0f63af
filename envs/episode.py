"""State of one episode, as all environments keep it."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from envs.benchmarks import NamedModule
from envs.rewards import ModuleState
from envs.run_times import RunTime, Start
from envs.trajectory import Trajectory
from hlograph.inspection.module_view import Cost, Snapshot
from hlograph.module import Module


class Episode:
    """State of an episode: a module that steps change, and what is known of it now.

    Attributes:
        benchmark: Name of the benchmark.
        fingerprint: Fingerprint of the module.
        start_fingerprint: Its fingerprint at the start.
        op_count: Number of instructions in all computations.
        start_op_count: The same at the start.
        op_counts_by_opcode: Instructions by opcode, float32 ``[len(OPCODES)]``; read-only.
        cost: XLA's cost analysis; None in an episode without costs.
        state: Numbers that rewards are computed from.
        start: The same at the start.
        run_time: Measured run time; None until the state is timed.
        seen: Observation of the module without the mask; None until it is made.
        mask: Action mask of the present state, int8 ``[num_actions]``; replaced, never written to.
        step_names: Names of the steps that a replay repeats: all but stopping.
        op_counts: Op count after each of them.
        num_steps: Number of steps, stopping included.
        done: True if the episode has ended.

    Args:
        benchmark: The benchmark.
        start: Its module at the start of the episode; not changed.
        costs: True to run XLA's cost analysis on each state.
    """

    def __init__(self, benchmark: NamedModule, start: Module, costs: bool) -> None:
        self.benchmark = benchmark.name
        self._source, self._costs = benchmark, costs
        self._module = start.clone()
        self.enter(self._snapshot_of(start))
        self.start = self.state
        self.start_op_count, self.start_fingerprint = self.op_count, self.fingerprint
        self.mask: NDArray[np.int8] = np.zeros(0, np.int8)
        self.step_names: list[str] = []
        self.op_counts: list[int] = []
        self.num_steps = 0
        self.done = False

    @property
    def module(self) -> Module:
        """The module, changed by each step."""
        return self._module

    @property
    def start_module(self) -> Module:
        """The module at the start of the episode; not to be changed."""
        return self._source.load()

    @property
    def baseline(self) -> Start:
        """The program whose run time is the unit of the states' run times."""
        return Start(self.start_module, self.start_module)

    @property
    def applied(self) -> list[str]:
        """Names of the passes, or places of the rewrites, that led to the present state."""
        return self.step_names

    def enter(self, snapshot: Snapshot) -> None:
        """Updates all that is known after the module has changed.

        Args:
            snapshot: Snapshot of the module.
        """
        self.fingerprint, self.op_count = snapshot.fingerprint, snapshot.op_count
        self.op_counts_by_opcode = snapshot.op_counts
        self.cost: Cost | None = self._analyze() if self._costs else None
        self.state = ModuleState(self._size())
        if self.cost is not None:
            self.state = self.state._replace(**self.cost._asdict())
        self.run_time: RunTime | None = None
        self.seen: Any = None

    def predict(self) -> None:
        """Enters the predicted seconds of the present state, if they are not there."""
        if math.isnan(self.state.seconds):
            self.state = self.state._replace(seconds=self.module.seconds())

    def note(self, step_name: str) -> None:
        """Adds a step to the trajectory."""
        self.step_names.append(step_name)
        self.op_counts.append(self.op_count)

    def trajectory(self) -> Trajectory:
        """Returns the steps of the episode so far."""
        return Trajectory(
            benchmark=self.benchmark,
            start_fingerprint=self.start_fingerprint,
            start_op_count=self.start_op_count,
            passes=tuple(self.step_names),
            op_counts=tuple(self.op_counts),
            fingerprint=self.module.fingerprint(),
        )

    def copy(self) -> Self:
        """Returns an independent copy."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._module = self.module.clone()
        copy.step_names, copy.op_counts = list(self.step_names), list(self.op_counts)
        return copy

    def _snapshot_of(self, start: Module) -> Snapshot:
        """Returns the snapshot of the module at the start."""
        # Of the start itself, not of its clone: it keeps its fingerprint for the next episode.
        return start.snapshot()

    def _analyze(self) -> Cost:
        """Returns the cost of the present state."""
        return self.module.cost()

    def _size(self) -> int:
        """Returns the count that rewards call op count."""
        return self.op_count
