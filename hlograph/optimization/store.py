"""Stores of plans, and journals of what was measured."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

from hlograph.errors import HloError
from hlograph.measuring.trial import Job, Outcome
from hlograph.measuring.verification import Checks
from hlograph.optimization.report import outcome_to_json
from hlograph.plans import Measured, Plan
from hlograph.storage.cache import cache_folder
from hlograph.storage.locations import Location, as_location, join, read_bytes, write_bytes
from hlograph.storage.machine import machine


def key_of(job: Job) -> str:
    """Returns the key of a job: its program, its numerics class, and this machine.

    A change of the jaxlib, CPU, number of cores or XLA_FLAGS is another machine.
    """
    donated = ",".join(map(str, job.program.donated))
    program = hashlib.sha256(f"{job.program.fingerprint} {donated}".encode()).hexdigest()[:24]
    return f"{program}-{job.numerics}-{machine().key}"


class Store:
    """A folder or URL with one plan for each key.

    Args:
        location: A path, or a URL that fsspec reads and writes. None is the folder ``plans`` of
            hlograph's cache (``$HLOGRAPH_CACHE``, otherwise ``~/.cache/hlograph``).
    """

    def __init__(self, location: str | os.PathLike[str] | None = None) -> None:
        self.location: Location = (
            cache_folder() / "plans" if location is None else as_location(location)
        )

    def get(self, key: str) -> Plan | None:
        """Returns the plan of a key; None if there is none, or it cannot be read.

        Whether it fits the program and the machine is for the caller to check.
        """
        try:
            return Plan.from_json(read_bytes(self._file(key)))
        except (OSError, HloError):
            return None

    def put(self, key: str, plan: Plan) -> None:
        """Stores a plan; one with the same key is replaced.

        Raises:
            OSError: The file cannot be written.
        """
        write_bytes(self._file(key), plan.to_json().encode())

    def _file(self, key: str) -> Location:
        return join(self.location, f"{key}.plan.json")


class Journal:
    """Outcomes of one key, a line for each, written as soon as they are known.

    A search that is killed loses nothing that was measured: the next one reads the journal. The
    journal is removed when the search has ended.

    Args:
        key: Key of the job.
        folder: Folder of journals; None is ``journals`` in hlograph's cache.
    """

    def __init__(self, key: str, folder: Path | None = None) -> None:
        self._writable = True
        self.path = (folder or cache_folder() / "journals") / f"{key}.jsonl"

    def read(self) -> list[Outcome]:
        """Returns the outcomes so far. A line that was cut off, or is damaged, is left out."""
        try:
            lines = self.path.read_text(errors="replace").splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, HloError):
                found.append(_outcome_of(json.loads(line)))
        return found

    def add(self, outcome: Outcome) -> None:
        """Appends an outcome, and waits until it is on the disk.

        A disk that cannot be written costs the journal, not the search; a warning says so once.
        """
        if self._writable:
            try:
                self._append(outcome)
            except OSError as error:
                self._writable = False
                warnings.warn(f"cannot write the journal of the search: {error}", stacklevel=2)

    def _append(self, outcome: Outcome) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            # In front of it, because a line before may have been cut off.
            file.write("\n" + outcome_to_json(outcome) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Removes the journal."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def _outcome_of(content: dict[str, Any]) -> Outcome:
    fields = dict(content)
    measured, checks = fields.pop("measured"), fields.pop("checks")
    changes = {opcode: (one, two) for opcode, (one, two) in fields.pop("changes").items()}
    plan = Plan.from_json(json.dumps(fields.pop("plan")))
    return Outcome(
        plan=plan,
        measured=Measured(**measured) if measured else None,
        checks=Checks(**{**checks, "samples": tuple(checks["samples"])}) if checks else None,
        changes=changes,
        **fields,
    )
