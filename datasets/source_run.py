"""Runs one source of the corpus in a process of its own, and follows what it reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from manifest import ROOT, Omission, Row

WORKER = ROOT / "lower_source.py"

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "KERAS_BACKEND": "jax",
    "PYTHONHASHSEED": "0",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "USE_TF": "0",
    "USE_TORCH": "0",
}
"""Keeps sources deterministic and offline, and keeps transformers from importing TensorFlow."""


class Options(NamedTuple):
    """Settings with which sources are run.

    Attributes:
        folder: The corpus that modules are written to.
        only: Families to build; none means all.
        not_shipped: Graphs to pass over.
        time_limit: Seconds that one source may take.
        verbose: Show what the sources print.
        set: Key of `BUILDS`, the set that is built.
    """

    folder: Path = ROOT
    only: tuple[str, ...] = ()
    not_shipped: tuple[str, ...] = ()
    time_limit: float = 3600.0
    verbose: bool = False
    set: str = "small"


class SourceRun:
    """One source, run to its end.

    A process that dies in the middle of a graph (XLA's checks abort) is started again without that
    graph, as long as the time limit of the source allows.
    """

    def __init__(self, source: str, known: dict[str, list[str]], options: Options) -> None:
        self.source = source
        self.names: list[str] | None = None
        self.rows: list[Row] = []
        self.omissions: list[Omission] = []
        self.error: str | None = None
        self._known = known
        self._options = options
        self._finished: set[str] = set()
        self._current: str | None = None
        self._done = False

    def events(self) -> Iterator[str]:
        """Runs the source; yields the name of each graph as it is finished."""
        timed_out = threading.Event()
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "log"
            process: subprocess.Popen[str] | None = None

            def stop() -> None:
                timed_out.set()
                if process is not None:
                    process.kill()

            timer = threading.Timer(self._options.time_limit, stop)
            timer.start()
            try:
                while not self._done and self.error is None:
                    process = self._start(log, scratch)
                    if timed_out.is_set():
                        process.kill()
                    yield from self._follow(process)
                    process.wait()
                    yield from self._bury(process.returncode, timed_out.is_set(), log)
            finally:
                timer.cancel()
                if process is not None and process.poll() is None:
                    process.kill()
                    process.wait()

    def _start(self, log: Path, scratch: str) -> subprocess.Popen[str]:
        """Starts the source's process and sends the request."""
        with log.open("a", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [sys.executable, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if self._options.verbose else errors,
                text=True,
                cwd=scratch,  # Some libraries leave logs where they are run.
                env={**os.environ, **ENVIRONMENT, "KERAS_HOME": scratch},
            )
        request = {
            "source": self.source,
            "set": self._options.set,
            "families": list(self._options.only),
            "known": self._known,
            "not_shipped": self._options.not_shipped,
            "skip": sorted(self._finished),
            "folder": str(self._options.folder),
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.close()
        return process

    def _follow(self, process: subprocess.Popen[str]) -> Iterator[str]:
        """Takes in the events of a process until it closes its output."""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                event: dict[str, Any] = json.loads(line)
                kind = event.pop("event")
                if kind == "names":
                    self.names = event["names"]
                elif kind == "start":
                    self._current = event["name"]
                elif kind == "done":
                    self._done = True
                else:
                    if kind == "made":
                        self.rows.append(Row(*event["row"]))
                    elif kind == "failed":
                        self.omissions.append(Omission(event["name"], event["reason"]))
                    yield self._finish()

    def _bury(self, status: int, timed_out: bool, log: Path) -> Iterator[str]:
        """Settles what a process left behind that ended without saying that it was done."""
        if self._done:
            return
        lines = (
            log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
        )
        last = next((line for line in reversed(lines) if line.strip()), "no message")
        reason = "time limit" if timed_out else f"the process ended with {status}: {last[:300]}"
        if timed_out or self._current is None:
            self.error = reason
        if self._current is not None:
            self.omissions.append(Omission(self._current, reason))
            yield self._finish()

    def _finish(self) -> str:
        """Notes that the current graph needs no more attention, and returns its name."""
        name, self._current = self._current, None
        assert name is not None
        self._finished.add(name)
        return name
