"""The process of passes: an action runs one of XLA's passes on the module."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.memory import Memory
from hlograph.decisions.process import LiveModule, Process, ProgramStart, State, Step
from hlograph.errors import PassError
from hlograph.graph.features import GraphFeatures
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import note
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module
from hlograph.transforms.registry import Pass, passes

# Sets of opcodes whose masks are kept. The states of an episode have few different ones.
_KEPT_MASKS = 1024


class LivePasses(LiveModule[State]):
    """Module of one player, and the passes that are known to change nothing in its state.

    Attributes:
        no_ops: Bit i is set if the pass of index i in ``hlograph.passes`` is known to change
            nothing in the present state.
        shared_no_ops: Those of them that the memory shares.
        context: Number that, with the fingerprint, identifies a state of the memory's no-ops.
    """

    no_ops = shared_no_ops = context = 0

    @property
    def identity(self) -> int:
        """Fingerprint and context of the present state, by which no-ops are remembered."""
        return int(self.state.snapshot.fingerprint, 16) ^ self.context

    def copy(self) -> Self:
        """Returns an independent copy, which makes all of its steps."""
        copy = super().copy()
        # The state of the memory has a graph, whose nodes the copy may number in another way.
        copy.arrive(State(self.state.snapshot, self.state.parent, self.state.action))
        return copy


class PassProcess(Process[State]):
    """Process whose actions are passes.

    A pass that reports no change is a no-op of its state. It is not run there again. A step that
    an earlier player made is not made again while nothing needs the module.

    Args:
        actions: The passes, by action number.
        memory: What earlier players learned of states; None runs every pass and makes every step.
        quarantine: States and passes that are not to be tried.
        recorder: Records each pass before it runs; None outside of worker processes.
    """

    def __init__(
        self,
        actions: Sequence[Pass] = passes,
        memory: Memory | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        super().__init__(quarantine, recorder)
        self.passes = tuple(actions)
        self.num_actions = len(self.passes) + 1
        self._names = tuple(entry.name for entry in self.passes)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._memory = memory
        acts_on = passes.acts_on[:, [entry.index for entry in self.passes]] > 0
        self._acts_on = np.hstack([acts_on, np.ones((len(acts_on), 1), bool)])
        self._masks: dict[bytes, NDArray[np.int8]] = {}

    def start(self, benchmark: NamedModule) -> LivePasses:
        """Returns a new live module of a program in its first state."""
        module = benchmark.load()
        memory = self._memory
        # Of the start itself, not of its clone: it keeps its fingerprint for the next episode.
        state = State(module.snapshot()) if memory is None else memory.start(module)
        start = ProgramStart(benchmark.name, module, module)
        player = LivePasses(self, start, state, remembers=memory is not None)
        player.context = int(module.context_fingerprint(), 16)
        self._arrive(player)
        return player

    def names(self, state: State) -> Sequence[str]:
        """Returns the names of the passes, the same in every state."""
        return self._names

    def mask(self, player: LiveModule[State]) -> NDArray[np.int8]:
        """Returns a new mask: 0 for passes that find no opcode to act on (``Pass.acts_on``)."""
        snapshot = player.state.snapshot
        present = snapshot.op_counts.astype(bool)
        key = present.tobytes()
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) == _KEPT_MASKS:
                self._masks.clear()
            mask = np.asarray(self._acts_on[present].any(axis=0), np.int8)
            self._masks[key] = mask
        mask = mask.copy()
        for name in self.quarantine.passes_at(snapshot.fingerprint):
            if name in self._numbers:
                mask[self._numbers[name]] = 0
        return mask

    def take(self, player: LiveModule[State], name: str) -> Step[State]:
        """Runs the pass of that name in the state of a player."""
        return self._after(player, self._numbers[name])

    def graph(self, player: LiveModule[State]) -> GraphFeatures:
        """Returns the typed graph of a player's state as arrays of floats; not to be changed."""
        if self._memory is None or not player.remembers:
            return super().graph(player)
        return self._memory.graph(player.state, lambda: player.module.features())

    def leave(self, player: LiveModule[State]) -> None:
        """Shares the no-ops that a player found in its state, all at once."""
        assert isinstance(player, LivePasses)
        if self._memory is not None and player.no_ops != player.shared_no_ops:
            self._memory.add_no_ops(player.identity, player.no_ops)
            player.shared_no_ops = player.no_ops

    def repeat(self, module: Module, action: str) -> None:
        """Runs a pass again."""
        module.run(self.passes[self._numbers[action]])

    def _arrive(self, player: LivePasses) -> None:
        """Looks up what is known of the state that a player has entered."""
        if self._memory is not None:
            player.no_ops = player.shared_no_ops = self._memory.no_ops(player.identity)

    def _after(self, player: LiveModule[State], action: int) -> Step[State]:
        assert isinstance(player, LivePasses)
        entry, before = self.passes[action], player.state
        if self._memory is not None and player.no_ops >> entry.index & 1:
            return Step(before, entry.name)
        after = before.after.get(entry.name) if player.remembers else None
        if after is None:
            return self._run(player, entry)
        self.leave(player)
        player.go(after)
        return self._arrived(player, before, Step(after, entry.name))

    def _run(self, player: LivePasses, entry: Pass) -> Step[State]:
        before, behind, recorder = player.state, player.follow(), self.recorder
        module = player.module
        if recorder is not None:
            where = (before.fingerprint, player.start.benchmark, player.applied())
            recorder.begin(note(entry.name, *where))
        begin = time.perf_counter()
        try:
            reported, seconds, snapshot = module.run_with_snapshot(entry)
        except PassError as failure:
            seconds = time.perf_counter() - begin
            return Step(before, entry.name, seconds=behind + seconds, error=str(failure))
        finally:
            if recorder is not None:
                recorder.end()
        step = Step(before, entry.name, seconds=behind + seconds)
        if not reported:
            player.no_ops |= 1 << entry.index
            return step
        self.leave(player)
        # A pass that reports a change and leaves the fingerprint may have reordered instructions:
        # that is another state, by its key.
        after = State(snapshot or before.snapshot, before, entry.name)
        if self._memory is not None and player.remembers:
            after = self._memory.add_step(before, after)
        player.arrive(after)
        return self._arrived(player, before, step)

    def _arrived(self, player: LivePasses, before: State, step: Step[State]) -> Step[State]:
        """Returns the step that has led a player from one state to another."""
        changed = player.state.fingerprint != before.fingerprint
        if changed:
            self._arrive(player)
        return step._replace(state=player.state, changed=changed)
