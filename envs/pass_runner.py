"""Runs passes on an episode's module, and remembers which of them change nothing in which state."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.known_no_ops import KnownNoOps
from envs.known_steps import KnownSteps
from envs.no_op_table import NoOpTable
from envs.opcode_masks import OpcodeMasks
from envs.pass_episode import PassEpisode
from envs.step_result import StepResult
from hlograph.errors import PassError
from hlograph.inspection.module_view import Snapshot
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import note
from hlograph.isolation.quarantine import Quarantine
from hlograph.transforms.registry import Pass


class PassRunner:
    """Runs the passes of an environment and makes its action masks.

    Args:
        actions: The passes, by action number.
        no_op_bytes: Memory for the table of no-ops that masks are made of.
        known: Passes that are not run because they are known to change nothing; None to run all
            that the mask allows.
        steps: Steps that are not made again because earlier episodes made them; None to make all.
        quarantine: States and passes that are not to be tried.
        recorder: Records each pass before it runs; None outside of worker processes.
    """

    def __init__(
        self,
        actions: Sequence[Pass],
        no_op_bytes: int,
        known: KnownNoOps | None,
        steps: KnownSteps | None,
        quarantine: Quarantine,
        recorder: FlightRecorder | None,
    ) -> None:
        self._passes = tuple(actions)
        self._opcode_masks = OpcodeMasks(self._passes)
        self._actions = {entry.name: action for action, entry in enumerate(self._passes)}
        self._no_op_bytes = no_op_bytes
        self._known, self._steps = known, steps
        self._quarantine, self._recorder = quarantine, recorder
        self.forget()

    def forget(self) -> None:
        """Forgets the no-ops that masks are made of."""
        self._no_ops = NoOpTable(len(self._passes) + 1, self._no_op_bytes)

    def copy(self) -> PassRunner:
        """Returns a copy that learns no-ops of its own from here on; ``known`` stays shared."""
        copy = object.__new__(PassRunner)
        copy.__dict__.update(self.__dict__)
        copy._no_ops = self._no_ops.copy()
        return copy

    def mask(self, episode: PassEpisode) -> NDArray[np.int8]:
        """Returns a new action mask of an episode's state, int8 ``[passes + 1]``."""
        may_act = self._opcode_masks.mask(episode.op_counts_by_opcode)
        mask = self._no_ops.masked(may_act, episode.fingerprint)
        for name in self._quarantine.passes_at(episode.fingerprint):
            if name in self._actions:
                mask[self._actions[name]] = 0
        return mask

    def arrive(self, episode: PassEpisode) -> None:
        """Looks up what is known of the state that an episode has entered."""
        episode.mask = self.mask(episode)
        if self._known is not None:
            episode.known = episode.known_before = self._known.at(episode.key)

    def leave(self, episode: PassEpisode) -> None:
        """Records the no-ops that an episode found in its state, all at once."""
        if self._known is not None and episode.known != episode.known_before:
            self._known.add(episode.key, episode.known)
            episode.known_before = episode.known

    def run(self, episode: PassEpisode, action: int) -> StepResult:
        """Runs a pass on the module of an episode, and adds the step to its trajectory.

        Args:
            episode: The episode.
            action: Number of the pass.
        """
        entry = self._passes[action]
        after = None if episode.place is None else episode.place.after.get(entry.index)
        if self._known is not None and episode.known >> entry.index & 1:
            result = StepResult(entry.name)
        elif after is None:
            result = self._call(episode, entry)
        else:
            self.leave(episode)
            result = StepResult(entry.name, episode.go(entry, after))
        if result.changed:
            self.arrive(episode)
        else:
            self._no_ops.add(episode.fingerprint, action)
            # All else that the mask depends on is as before.
            episode.mask = episode.mask.copy()
            episode.mask[action] = 0
        episode.note(entry.name)
        return result

    def _call(self, episode: PassEpisode, entry: Pass) -> StepResult:
        recorder = self._recorder
        behind = episode.follow()
        module = episode.module
        if recorder is not None:
            about = (episode.fingerprint, episode.benchmark, episode.applied)
            recorder.begin(note(entry.name, *about))
        start = time.perf_counter()
        try:
            reported, seconds, snapshot = module.run_with_snapshot(entry)
        except PassError as failure:
            seconds = time.perf_counter() - start
            return StepResult(entry.name, seconds=behind + seconds, error=str(failure))
        finally:
            if recorder is not None:
                recorder.end()
        if reported:
            self.leave(episode)
            self._enter(episode, entry, snapshot)
        else:
            episode.known |= 1 << entry.index
        return StepResult(entry.name, snapshot is not None, behind + seconds)

    def _enter(self, episode: PassEpisode, entry: Pass, snapshot: Snapshot | None) -> None:
        """Enters the state after a pass that reported a change; no snapshot is the same state."""
        if self._steps is not None and episode.place is not None:
            if snapshot is None:
                snapshot = episode.place.snapshot
            episode.arrive(self._steps.add(episode.place, entry.index, snapshot))
        elif snapshot is not None:
            episode.enter(snapshot)
