"""Times the states of an episode, for rewards that need run times."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

from envs.episode import Episode
from envs.rewards import Reward, timed_states
from envs.run_times import RUN_TIMES, RunTime, RunTimes
from hlograph.errors import HloError, NotExecutableError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import RUN, RUN_LOWERED, noted
from hlograph.isolation.quarantine import Quarantine

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
