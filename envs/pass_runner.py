"""Runs passes on an episode's module, and remembers which have no effect where."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.episode import Episode
from envs.no_op_table import NoOpTable
from hlograph.errors import PassError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import note
from hlograph.isolation.quarantine import Quarantine
from hlograph.registry import Pass


class PassResult(NamedTuple):
    """What a pass did.

    Attributes:
        changed: Whether the module is in another state.
        seconds: Time in XLA; 0 if the pass is known to change nothing.
        error: XLA's message if the pass failed, or None.
    """

    changed: bool
    seconds: float
    error: str | None


class PassRunner:
    """The passes of an environment.

    Args:
        passes: The passes, by action number.
        no_op_bytes: Memory for what is known of passes without effect.
        quarantine: States and passes that are not to be tried.
        recorder: Where each pass is noted before it runs; None in a process that is nobody's
            worker.
    """

    def __init__(
        self,
        passes: Sequence[Pass],
        no_op_bytes: int,
        quarantine: Quarantine,
        recorder: FlightRecorder | None,
    ) -> None:
        self._quarantine = quarantine
        self._passes = tuple(passes)
        self._numbers = {entry.name: number for number, entry in enumerate(self._passes)}
        self._no_op_bytes = no_op_bytes
        self._recorder = recorder
        self.forget()

    def forget(self) -> None:
        """Forgets all that is known of passes without effect."""
        self.no_ops = NoOpTable(len(self._passes) + 1, self._no_op_bytes)

    def mask(self, fingerprint: str) -> NDArray[np.int8]:
        """Returns the action mask of a state, int8 ``[passes + 1]``, the caller's to keep."""
        mask = self.no_ops.mask(fingerprint)
        for name in self._quarantine.passes_at(fingerprint):
            if name in self._numbers:
                mask[self._numbers[name]] = 0
        return mask

    def run(self, episode: Episode, action: int) -> PassResult:
        """Runs a pass on the module of an episode, and keeps the episode's books.

        Args:
            episode: The episode.
            action: Number of the pass.
        """
        entry = self._passes[action]
        result = PassResult(False, 0.0, None)
        if episode.mask[action]:
            result = self._call(episode, entry)
            if result.changed:
                episode.enter_state()
            else:
                self.no_ops.add(episode.fingerprint, action)
            episode.mask = self.mask(episode.fingerprint)
        episode.applied.append(entry.name)
        episode.op_counts.append(episode.state.op_count)
        return result

    def _call(self, episode: Episode, entry: Pass) -> PassResult:
        recorder = self._recorder
        if recorder is not None:
            recorder.begin(
                note(entry.name, episode.fingerprint, episode.benchmark, episode.applied)
            )
        error = None
        start = time.perf_counter()
        try:
            reported = episode.module.run(entry)
        except PassError as failure:
            reported, error = False, str(failure)
        seconds = time.perf_counter() - start
        if recorder is not None:
            recorder.end()
        # Some passes report a change that leaves the state what it was.
        changed = reported and episode.module.fingerprint() != episode.fingerprint
        return PassResult(changed, seconds, error)
