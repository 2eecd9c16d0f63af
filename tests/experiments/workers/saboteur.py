"""Workers of a real run to which something happens in the middle of a pass."""

import ctypes
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.policies.config import PassTrainConfig, TrainConfig
from experiments.workers.worker import RolloutWorker, Task, make_rollout_worker
from hlograph.isolation import FlightRecorder, PassCall
from hlograph.isolation.pass_call import RUN


def _bloat():
    hoard = []
    while True:
        hoard.append(bytearray(64 << 20))


DEEDS = {
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "exit": lambda: os._exit(0),
    "hang": lambda: time.sleep(1000),
    "bloat": _bloat,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


class _Saboteur(FlightRecorder):
    """Notes passes like any recorder, and does one deed after the other as they begin."""

    def __init__(self, recorder: FlightRecorder, deeds: Sequence[str], memory: Path) -> None:
        self.__setstate__(recorder.__getstate__())
        self._deeds, self._memory = deeds, memory

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        super().begin(note, seconds)
        if note.count(b"\n") != 3:
            return  # not a pass of an episode
        for deed in self._deeds:
            try:
                # Whoever makes the file does the deed, whichever worker it is.
                (self._memory / deed).touch(exist_ok=False)
            except FileExistsError:
                continue
            DEEDS[deed]()
            return


def make_sabotaged_worker(
    deeds: Sequence[str], memory: Path, config: PassTrainConfig, recorder: FlightRecorder
) -> RolloutWorker:
    """Makes a worker that does one of the deeds whenever a pass begins, each once in a run.

    Args:
        deeds: Keys of ``DEEDS``.
        memory: Folder that remembers what was done.
        config: Settings of the run.
        recorder: The worker's recorder.
    """
    worker = make_rollout_worker(config, recorder)
    worker.recorder = _Saboteur(recorder, deeds, memory)
    return worker


class _Cursed(FlightRecorder):
    """Notes calls like any recorder, and aborts whenever one of some rules or places begins."""

    def __init__(self, recorder: FlightRecorder, rules: Sequence[str], places: Sequence[str]):
        self.__setstate__(recorder.__getstate__())
        self._rules, self._places = frozenset(rules), frozenset(places)

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        super().begin(note, seconds)
        if note.count(b"\n") != 3:
            return  # nothing of an episode
        call = PassCall.from_note(note)
        # What a benchmark itself cannot survive is left out before.
        at_start = call.name == RUN and not call.applied
        name = call.name.partition("(")[0]
        if self._rules & set(call.rules or ()) or (name in self._places and not at_start):
            os.abort()


def make_cursed_worker(
    rules: Sequence[str], places: Sequence[str], config: TrainConfig, recorder: FlightRecorder
) -> RolloutWorker:
    """Makes a worker that some rules abort each time, as a fault of XLA's would.

    Args:
        rules: Those whose listing aborts it.
        places: Those whose rewrites do; with ``RUN``, running any state but a start.
        config: Settings of the run.
        recorder: The worker's recorder.
    """
    worker = make_rollout_worker(config, recorder)
    worker.recorder = _Cursed(recorder, rules, places)
    return worker


@dataclass(frozen=True)
class KilledOnce(Task):
    """Kills its worker the first time, as the system does to free memory."""

    marker: Path

    def do(self, worker: RolloutWorker) -> str:
        """Returns a word the second time."""
        if not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "done"


@dataclass(frozen=True)
class AbortsAlways(Task):
    """Ends its worker in a call that looks at no quarantine."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> None:
        """Notes the call, and aborts."""
        worker.recorder.begin(PassCall("the default", "", self.benchmark, ()).to_note())
        os.abort()
