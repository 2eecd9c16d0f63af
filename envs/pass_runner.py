"""Runs passes on an episode's module, and remembers which have no effect where."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.episode import Episode
from envs.known_no_ops import KnownNoOps
from envs.no_op_table import NoOpTable
from envs.step_result import NOTHING, StepResult
from hlograph.errors import PassError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import note
from hlograph.isolation.quarantine import Quarantine
from hlograph.transforms.registry import Pass, passes


class PassRunner:
    """The passes of an environment.

    Args:
        actions: The passes, by action number.
        no_op_bytes: Memory for what masks show of passes without effect.
        known: What need not be run again, whatever masks show; None to run all.
        quarantine: States and passes that are not to be tried.
        recorder: Where each pass is noted before it runs; None in a process that is nobody's
            worker.
    """

    def __init__(
        self,
        actions: Sequence[Pass],
        no_op_bytes: int,
        known: KnownNoOps | None,
        quarantine: Quarantine,
        recorder: FlightRecorder | None,
    ) -> None:
        self._quarantine = quarantine
        self._passes = tuple(actions)
        self._indices = [entry.index for entry in self._passes]
        self._numbers = {entry.name: number for number, entry in enumerate(self._passes)}
        self._no_op_bytes = no_op_bytes
        self._known = known
        self._recorder = recorder
        self.forget()

    def forget(self) -> None:
        """Forgets all that masks show of passes without effect."""
        self.no_ops = NoOpTable(len(self._passes) + 1, self._no_op_bytes)

    def mask(self, episode: Episode) -> NDArray[np.int8]:
        """Returns the action mask of an episode's state, int8 ``[passes + 1]``, the caller's."""
        mask = self.no_ops.mask(episode.fingerprint)
        mask[:-1] *= passes.may_act(episode.counts)[self._indices]
        for name in self._quarantine.passes_at(episode.fingerprint):
            if name in self._numbers:
                mask[self._numbers[name]] = 0
        return mask

    def arrive(self, episode: Episode) -> None:
        """Looks up what is known of the state that an episode is in now."""
        episode.mask = self.mask(episode)
        if self._known is not None:
            episode.known = episode.known_before = self._known.at(episode.key)

    def leave(self, episode: Episode) -> None:
        """Records what an episode found out about the state that it is in, all of it at once."""
        if self._known is not None and episode.known != episode.known_before:
            self._known.add(episode.key, episode.known)
            episode.known_before = episode.known

    def run(self, episode: Episode, action: int) -> StepResult:
        """Runs a pass on the module of an episode, and keeps the episode's books.

        Args:
            episode: The episode.
            action: Number of the pass.
        """
        entry = self._passes[action]
        result = NOTHING
        if episode.mask[action]:
            if self._known is None or not episode.known >> entry.index & 1:
                result = self._call(episode, entry)
            if result.changed:
                self.arrive(episode)
            else:
                self.no_ops.add(episode.fingerprint, action)
                episode.mask = self.mask(episode)
        episode.applied.append(entry.name)
        episode.op_counts.append(episode.state.op_count)
        return result

    def _call(self, episode: Episode, entry: Pass) -> StepResult:
        recorder = self._recorder
        if recorder is not None:
            recorder.begin(
                note(entry.name, episode.fingerprint, episode.benchmark, episode.applied)
            )
        start = time.perf_counter()
        try:
            reported, seconds, snapshot = episode.module.run_and_look(entry)
        except PassError as failure:
            return StepResult(False, time.perf_counter() - start, str(failure))
        finally:
            if recorder is not None:
                recorder.end()
        if snapshot is not None:
            self.leave(episode)
            episode.enter(snapshot)
        elif not reported:
            episode.known |= 1 << entry.index
        return StepResult(snapshot is not None, seconds, None)
