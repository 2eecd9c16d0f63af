"""Run times of an episode's states, for rewards that ask for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from envs.rewards import ModuleState
from envs.run_times import RunTime, RunTimes, Start
from hlograph.errors import HloError, NotExecutableError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import RUN, RUN_LOWERED, noted
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module


class TimedEpisode(Protocol):
    """What is asked of an episode whose states are timed."""

    benchmark: str
    fingerprint: str
    state: ModuleState
    start: ModuleState
    run_time: RunTime | None

    @property
    def module(self) -> Module:
        """The module now."""
        ...

    @property
    def applied(self) -> Sequence[str]:
        """Passes, or places of rewrites, that led to its state."""
        ...

    @property
    def timed_beside(self) -> Start:
        """What its states are timed beside."""
        ...


class Timing:
    """Enters run times into what a reward sees of an episode.

    Args:
        times: Takes and keeps them.
        at_end: Whether an episode's last state alone is timed.
        quarantine: States not to be run, because they ended a process.
        recorder: Where each state is noted before it is compiled and run.
    """

    def __init__(
        self,
        times: RunTimes,
        at_end: bool,
        quarantine: Quarantine,
        recorder: FlightRecorder | None,
    ) -> None:
        self._times, self._at_end = times, at_end
        self._quarantine, self._recorder = quarantine, recorder

    def begin(self, episode: TimedEpisode) -> None:
        """Makes sure that the start runs, which is what the states are timed beside.

        Raises:
            NotExecutableError: It does not.
        """
        try:
            if self._is_quarantined(episode):
                raise HloError(_ENDED)
            with self._noted(episode):
                self._times.check(episode.timed_beside)
        except HloError as error:
            raise NotExecutableError(
                f"{episode.benchmark} cannot be run here, so its run time can be no reward; "
                f"leave it out, or choose another reward: {error}"
            ) from error
        self._enter(episode, RunTime(1.0))
        episode.start = episode.state

    def measure(self, episode: TimedEpisode, done: bool) -> None:
        """Times the present state, if that is asked for and was not done before.

        Args:
            episode: The episode.
            done: Whether it ends here.
        """
        if episode.run_time is not None or (self._at_end and not done):
            return
        if self._is_quarantined(episode):
            self._enter(episode, RunTime(math.inf, _ENDED))
            return
        with self._noted(episode):
            self._enter(episode, self._times.of(episode.timed_beside, episode.module))

    @staticmethod
    def info(episode: TimedEpisode) -> dict[str, Any]:
        """What infos tell of the run time; see ``BenchmarkEnv``."""
        ratio, error = episode.run_time or (None, None)
        return {"run_time": ratio, "run_time_error": error}

    @staticmethod
    def _enter(episode: TimedEpisode, run_time: RunTime) -> None:
        episode.run_time = run_time
        episode.state = episode.state._replace(run_time=run_time.ratio)

    def _is_quarantined(self, episode: TimedEpisode) -> bool:
        return self._name(episode) in self._quarantine.passes_at(episode.fingerprint)

    @staticmethod
    def _name(episode: TimedEpisode) -> str:
        return RUN_LOWERED if episode.timed_beside.lowered else RUN

    def _noted(self, episode: TimedEpisode) -> AbstractContextManager[None]:
        about = (episode.fingerprint, episode.benchmark, episode.applied)
        return noted(self._recorder, self._name(episode), *about)


_ENDED = "compiling or running it ended a process before"
