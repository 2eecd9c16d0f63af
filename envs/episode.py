"""One episode: a player of a decision process, and the numbers that an environment tells of it."""

from __future__ import annotations

import math
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from envs.rewards import ModuleState
from envs.run_times import RunTime, Start
from hlograph.decisions.process import LiveModule, Process, State
from hlograph.decisions.trajectory import Trajectory
from hlograph.module import Cost, Module

S = TypeVar("S", bound=State)


class Episode(Generic[S]):
    """Episode of a process: where the player is, and what is known of that state.

    Attributes:
        process: The process.
        player: The player's live module.
        benchmark: Name of the benchmark.
        fingerprint: Fingerprint of the module.
        op_count: Number of instructions in all computations.
        op_counts_by_opcode: Instructions by opcode, float32 ``[len(OPCODES)]``; read-only.
        cost: XLA's cost analysis; None in an episode without costs.
        state: Numbers that rewards are computed from.
        start: The same at the start.
        start_op_count: Number of instructions at the start.
        start_fingerprint: Fingerprint of the module at the start.
        run_time: Measured run time; None until the state is timed.
        seen: Observation of the module without the mask; None until it is made.
        mask: Action mask of the present state, int8 ``[num_actions]``; replaced, never written to.
        step_names: Names of the steps that a replay repeats: all but stopping.
        op_counts: Op count after each of them.
        num_steps: Number of steps, stopping included.
        done: True if the episode has ended.

    Args:
        process: The process.
        player: A player of it in its first state.
        costs: True to run XLA's cost analysis on each state.
    """

    def __init__(self, process: Process[S], player: LiveModule[S], costs: bool) -> None:
        self.process, self.player, self._costs = process, player, costs
        self.benchmark = player.start.benchmark
        self.enter()
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
        return self.player.module

    @property
    def baseline(self) -> Start:
        """The program whose run time is the unit of the states' run times."""
        start = self.player.start
        return Start(start.module, start.source, start.lowered)

    @property
    def applied(self) -> tuple[str, ...]:
        """Names of the passes and actions that led from the benchmark to the present state."""
        return self.player.applied()

    def enter(self) -> None:
        """Updates all that is known of the state, after the module has changed."""
        self.fingerprint, self.op_count, self.op_counts_by_opcode = self.player.state.snapshot
        self.cost: Cost | None = self.process.cost(self.player) if self._costs else None
        self.state = ModuleState(self.process.size(self.player.state))
        if self.cost is not None:
            self.state = self.state._replace(**self.cost._asdict())
        self.run_time: RunTime | None = None
        self.seen: Any = None

    def predict(self) -> None:
        """Enters the predicted seconds of the present state, if they are not there."""
        if math.isnan(self.state.seconds):
            self.state = self.state._replace(seconds=self.process.seconds(self.player))

    def withdraw(self, action: int) -> None:
        """Masks an action for as long as the state does not change."""
        self.mask = self.mask.copy()
        self.mask[action] = 0

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
        copy.player = self.player.copy()
        copy.step_names, copy.op_counts = list(self.step_names), list(self.op_counts)
        return copy
