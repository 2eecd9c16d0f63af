"""A module under a walk: every call on it is noted, and what it must not do is checked."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from hlograph import Module, passes
from hlograph.errors import HloError, PassError, VerificationError
from hlograph.isolation import FlightRecorder
from tests.campaigns.passes.records import Finding, FindingError, Kind, Tally

T = TypeVar("T")

ALWAYS_VERIFIED = 4_000
"""Modules of at most so many instructions are verified after each change, larger ones of n
instructions after each change with probability ALWAYS_VERIFIED / n, and at the end of a walk."""

_MESSAGE = 60  # characters of an error's message that tell errors of a pass apart


class CheckedModule:
    """A module, the passes that led to it, and checks around each further call.

    Fingerprints are computed anew each time: the module's own cache would hide a pass that
    changes something and says that it does not.

    Args:
        benchmark: Name of the corpus module.
        start: The module as loaded; never changed here.
        recorder: Told of each call into XLA, so that the end of this process is understood.
        rng: Decides which large modules are verified.
        tally: Counts of the walk, added to.
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
        """Bit mask of the opcodes that the module has, by their index in `hlograph.OPCODES`."""
        if self._opcodes is None:
            present = np.packbits(self.module.op_counts() > 0, bitorder="little")
            self._opcodes = int.from_bytes(present.tobytes(), "little")
        return self._opcodes

    def call(self, what: str, function: Callable[..., T], *args: object) -> T:
        """Calls into XLA with a note of it for whoever finds this process dead."""
        note = f"{self.benchmark}\n{what}\n{' '.join(self.passes)}"
        self._recorder.begin(note.encode())
        try:
            return function(*args)
        finally:
            self._recorder.end()

    def found(self, kind: Kind, detail: str) -> FindingError:
        """A finding at the state that the walk is in."""
        return FindingError(Finding(kind, self.benchmark, tuple(self.passes), detail))

    def run(self, name: str) -> bool:
        """Runs a pass and checks what it did and what it said.

        Returns:
            Whether it changed the module; False after an error.

        Raises:
            FindingError: It did something that no pass may do.
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
        """Leads a clone and the module itself on by the same passes, in this order.

        Raises:
            FindingError: The clone differs, shares state with the module, or ends elsewhere.
        """
        self.tally.forks += 1
        clone = CheckedModule(self.benchmark, self.module, self._recorder, self._rng, self.tally)
        clone.passes, clone.changing = list(self.passes), list(self.changing)
        clone._start = self._start
        if (clone.fingerprint, clone.op_count) != (self.fingerprint, self.op_count):
            raise self.found("clone differs", "a clone has another fingerprint or op count")
        outcomes = [(clone.run(name), clone.op_count) for name in names]
        if (self._compute_fingerprint(), self.module.op_count) != (self.fingerprint, self.op_count):
            raise clone.found("clone shares state", "passes on a clone changed the module itself")
        for name, outcome in zip(names, outcomes, strict=True):
            came = self.run(name), self.op_count
            if came != outcome:
                text = f"(changed, op count) {outcome} on a clone, {came} on the module itself"
                raise self.found("non-determinism", text)
        if clone.fingerprint != self.fingerprint:
            raise self.found("non-determinism", "a clone led on by the same passes ends elsewhere")

    def check_round_trips(self) -> None:
        """Prints and parses the module, and sends it through a proto.

        Raises:
            FindingError: What comes back is another module.
        """
        self.tally.round_trips += 1
        trips: dict[str, Callable[[], Module]] = {
            "text": lambda: Module.from_text(self.module.to_text()),
            "proto": lambda: Module.from_proto(self.module.to_proto()),
        }
        for name, trip in trips.items():
            try:
                again = self.call(f"round trip by {name}", trip)
            except HloError as error:
                raise self.found("round trip differs", f"by {name}: {error}") from error
            if (again.fingerprint(), again.op_count) != (self.fingerprint, self.op_count):
                raise self.found("round trip differs", f"by {name}: another fingerprint")

    def replay(self) -> Module:
        """Runs the passes that changed the module on the start again, without checks."""
        module = self._start.clone()
        for name in self.changing:
            self.tally.calls += 1
            self.call("replay", module.run, passes[name])
        return module

    def check_replay(self) -> None:
        """Repeats what changed the module, without what did not, on a fresh one.

        Raises:
            FindingError: It leads elsewhere: a pass is not deterministic, or one that reported
                no change, or an error, left something behind.
        """
        self.tally.replays += 1
        try:
            again = self.replay()
        except PassError as error:
            raise self.found("non-determinism", f"an error when repeated: {error}") from error
        if (again.fingerprint(), again.op_count) != (self.fingerprint, self.op_count):
            text = (
                f"the passes that changed the module, repeated, give {again.op_count} instructions "
                f"with fingerprint {again.fingerprint()}, expected {self.op_count} with "
                f"{self.fingerprint}"
            )
            raise self.found("non-determinism", text)

    def _compute_fingerprint(self) -> str:
        return self.call("fingerprint", lambda: self.module.fingerprint(cached=False))

    def _check_restored(self, error: PassError) -> None:
        if "could not be restored" in str(error):
            raise self.found("error changed the module", str(error))
        if self.module.to_text() != self.replay().to_text():
            raise self.found("error changed the module", f"the text differs after: {error}")
