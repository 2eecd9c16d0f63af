"""One episode: a player of a decision process, and the numbers that an environment tells of it."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from envs.rewards import ModuleState, Reward, timed_states
from envs.run_times import RUN_TIMES, RunTime, RunTimes, Start
from hlograph.decisions.process import LiveModule, Process, State
from hlograph.decisions.trajectory import Trajectory
from hlograph.errors import HloError, NotExecutableError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import RUN, RUN_LOWERED, noted
from hlograph.isolation.quarantine import Quarantine
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


_ENDED = "compiling or running it ended a process before"


class Timing:
    """Enters measured run times into the states that a reward sees.

    Attributes:
        at_end: True if only the last state of an episode is timed.

    Args:
        times: Measures and keeps run times.
        at_end: See above.
        quarantine: States that are not to be run, because they ended a process.
        recorder: Records each state before it is compiled and run.
    """

    def __init__(
        self,
        times: RunTimes,
        at_end: bool,
        quarantine: Quarantine,
        recorder: FlightRecorder | None,
    ) -> None:
        self._times, self.at_end = times, at_end
        self._quarantine, self._recorder = quarantine, recorder

    @staticmethod
    def of(
        reward: Reward,
        times: RunTimes | None,
        quarantine: Quarantine,
        recorder: FlightRecorder | None,
    ) -> Timing | None:
        """Returns the timing that a reward needs, or None if it needs none.

        Args:
            reward: The reward.
            times: Measures and keeps run times; None: ``RUN_TIMES``.
            quarantine: States that are not to be run.
            recorder: Records each state before it is compiled and run.
        """
        states = timed_states(reward)
        if states == "none":
            return None
        times = RUN_TIMES if times is None else times
        return Timing(times, states == "last", quarantine, recorder)

    def begin(self, episode: Episode[Any]) -> None:
        """Checks that the start of an episode runs, which its states are compared with.

        Raises:
            NotExecutableError: It does not run.
        """
        try:
            if self._is_quarantined(episode):
                raise HloError(_ENDED)
            with self._noted(episode):
                self._times.check(episode.baseline)
        except HloError as error:
            raise NotExecutableError(
                f"{episode.benchmark} cannot be run here, so its run time cannot be a reward; "
                f"leave it out, or choose another reward: {error}"
            ) from error
        self._enter(episode, RunTime(1.0))
        episode.start = episode.state

    def measure(self, episode: Episode[Any], done: bool) -> None:
        """Times the present state of an episode, if it has to be and was not timed before.

        Args:
            episode: The episode.
            done: True if it ends here.
        """
        if episode.run_time is not None or (self.at_end and not done):
            return
        if self._is_quarantined(episode):
            self._enter(episode, RunTime(math.inf, _ENDED))
            return
        with self._noted(episode):
            self._enter(episode, self._times.of(episode.baseline, episode.module))

    @staticmethod
    def info(episode: Episode[Any]) -> dict[str, Any]:
        """Returns the entries of info about run time; see ``envs.info``."""
        ratio, error = episode.run_time or (None, None)
        return {"run_time": ratio, "run_time_error": error}

    @staticmethod
    def _enter(episode: Episode[Any], run_time: RunTime) -> None:
        episode.run_time = run_time
        episode.state = episode.state._replace(run_time=run_time.ratio)

    def _is_quarantined(self, episode: Episode[Any]) -> bool:
        return self._name(episode) in self._quarantine.passes_at(episode.fingerprint)

    @staticmethod
    def _name(episode: Episode[Any]) -> str:
        return RUN_LOWERED if episode.baseline.lowered else RUN

    def _noted(self, episode: Episode[Any]) -> AbstractContextManager[None]:
        about = (episode.fingerprint, episode.benchmark, episode.applied)
        return noted(self._recorder, self._name(episode), *about)
