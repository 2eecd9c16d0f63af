"""Module of a walk, whose calls into XLA are noted and checked."""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from hlograph import Module, passes
from hlograph.errors import HloError, PassError, VerificationError
from hlograph.isolation import FlightRecorder
from tests.campaigns.framework.tasks import noted
from tests.campaigns.passes.records import Finding, FindingError, Kind, Tally

T = TypeVar("T")

ALWAYS_VERIFIED = 4_000
"""Modules of at most so many instructions are verified after each change. Larger ones, of n
instructions, are verified after each change with probability ALWAYS_VERIFIED / n, and at the end of
a walk."""

_NO_TEXT_ROUND_TRIP = {"small/ELEMENTWISE"}
"""XLA's parser reads (nan, nan) for the complex constant (nan, 0), which a pass leaves there."""

_MESSAGE = 60  # characters of a message that distinguish the errors of a pass


def note_of(benchmark: str, what: str, names: Sequence[str]) -> str:
    """Returns the note of a call into XLA: the module, the call and all passes so far."""
    return f"{benchmark}\n{what}\n{' '.join(names)}"


class CheckedModule:
    """Module, the passes that led to it, and checks of each further call.

    Fingerprints are always computed, since the cached one would hide a change that a pass does not
    report.

    Args:
        benchmark: Name of the module.
        start: The module as loaded, which never changes.
        recorder: Where each call into XLA is noted, in case it ends this process.
        rng: Decides which large modules are verified.
        tally: Counts of the walk, which are increased.

    Attributes:
        passes: All pass calls.
        op_counts: Instructions after each of them.
        changing: Pass calls that changed the module.
    """

    def __init__(
        self,
        benchmark: str,
        start: Module,
        recorder: FlightRecorder,
        rng: random.Random,
        tally: Tally,
    ) -> None:
        self.benchmark, self.tally = benchmark, tally
        self._start, self._recorder, self._rng = start, recorder, rng
        self.passes: list[str] = []
        self.op_counts: list[int] = []
        self.changing: list[str] = []
        self.module = self.call("clone", start.clone)
        self.op_count = self.module.op_count
        self.fingerprint = self._compute_fingerprint()
        self._opcodes: int | None = None

    @property
    def opcodes(self) -> int:
        """Bit mask of the opcodes in the module, by their index in `hlograph.OPCODES`."""
        if self._opcodes is None:
            present = np.packbits(self.module.op_counts() > 0, bitorder="little")
            self._opcodes = int.from_bytes(present.tobytes(), "little")
        return self._opcodes

    def call(self, what: str, function: Callable[..., T], *args: Any) -> T:
        """Calls into XLA, with a note that remains if the call ends this process."""
        with noted(self._recorder, note_of(self.benchmark, what, self.passes)):
            return function(*args)

    def found(self, kind: Kind, detail: str) -> FindingError:
        """Returns the error of a finding at the current state of the walk."""
        return FindingError(Finding(kind, self.benchmark, tuple(self.passes), detail))

    def run(self, name: str) -> bool:
        """Runs a pass and checks its effect and its report.

        Returns:
            True if it changed the module; False after an error.

        Raises:
            FindingError: The pass did something that no pass may do.
        """
        self.passes.append(name)
        self.tally.calls += 1
        changed = False
        try:
            changed = self.call("pass", self.module.run, passes[name])
        except PassError as error:
            self.tally.errors[name, str(error)[:_MESSAGE]] += 1
            self._check_restored(error)
        before, self.fingerprint = self.fingerprint, self._compute_fingerprint()
        self.op_count = self.module.op_count
        self.op_counts.append(self.op_count)
        if not changed and self.fingerprint != before:
            raise self.found("silent change", "the pass reports no change, the fingerprint differs")
        if changed:
            self._opcodes = None
            self.changing.append(name)
            self.tally.changes[name] += 1
            if self.fingerprint == before:
                self.tally.idle_changes[name] += 1
            if self._rng.random() * self.op_count < ALWAYS_VERIFIED:
                self.verify()
        return changed

    def verify(self) -> None:
        """Runs XLA's verifier.

        Raises:
            FindingError: It rejects the module.
        """
        self.tally.verified += 1
        try:
            self.call("verify", self.module.verify)
        except VerificationError as error:
            raise self.found("verifier failure", str(error)) from error

    def check_fork(self, names: Sequence[str]) -> None:
        """Runs the same passes on a clone and then on the module itself.

        Raises:
            FindingError: The clone differs, shares state with the module, or ends differently.
        """
        self.tally.forks += 1
        clone = CheckedModule(self.benchmark, self.module, self._recorder, self._rng, self.tally)
        clone.passes, clone.changing = list(self.passes), list(self.changing)
        clone._start = self._start
        if clone._state() != self._state():
            raise self.found("clone differs", "a clone has another fingerprint or op count")
        outcomes = [(clone.run(name), clone.op_count) for name in names]
        if (self._compute_fingerprint(), self.module.op_count) != self._state():
            raise clone.found("clone shares state", "passes on a clone changed the module itself")
        for name, expected in zip(names, outcomes, strict=True):
            outcome = self.run(name), self.op_count
            if outcome != expected:
                text = f"(changed, op count) {expected} on a clone, {outcome} on the module itself"
                raise self.found("non-determinism", text)
        if clone.fingerprint != self.fingerprint:
            raise self.found("non-determinism", "a clone ends differently after the same passes")

    def check_round_trips(self) -> None:
        """Prints and parses the module, and converts it to a proto and back.

        Raises:
            FindingError: The result is another module.
        """
        self.tally.round_trips += 1
        trips = {"proto": lambda: Module.from_proto(self.module.to_proto())}
        if self.benchmark not in _NO_TEXT_ROUND_TRIP:
            trips["text"] = lambda: Module.from_text(self.module.to_text())
        for name, trip in trips.items():
            try:
                result = self.call(f"round trip by {name}", trip)
            except HloError as error:
                raise self.found("round trip differs", f"by {name}: {error}") from error
            if (result.fingerprint(), result.op_count) != self._state():
                raise self.found("round trip differs", f"by {name}: another fingerprint")

    def replay(self) -> Module:
        """Runs the passes that changed the module on the start again, without checks."""
        module = self._start.clone()
        for name in self.changing:
            self.tally.calls += 1
            self.call("replay", module.run, passes[name])
        return module

    def check_replay(self) -> None:
        """Repeats the passes that changed the module on a fresh one.

        Raises:
            FindingError: The result differs: a pass is not deterministic, or one that reported no
                change or an error had an effect.
        """
        self.tally.replays += 1
        try:
            result = self.replay()
        except PassError as error:
            raise self.found("non-determinism", f"an error when repeated: {error}") from error
        state = result.fingerprint(), result.op_count
        if state != self._state():
            text = (
                f"the passes that changed the module, repeated, give (fingerprint, op count) "
                f"{state}, expected {self._state()}"
            )
            raise self.found("non-determinism", text)

    def _state(self) -> tuple[str, int]:
        return self.fingerprint, self.op_count

    def _compute_fingerprint(self) -> str:
        return self.call("fingerprint", lambda: self.module.fingerprint(cached=False))

    def _check_restored(self, error: PassError) -> None:
        if "could not be restored" in str(error):
            raise self.found("error changed the module", str(error))
        if self.module.to_text() != self.replay().to_text():
            raise self.found("error changed the module", f"the text differs after: {error}")
