"""Stores of plans."""

from __future__ import annotations

import hashlib
import json
import os

from hlograph.errors import HloError
from hlograph.measuring.trial import Job
from hlograph.optimization.rules import rules_of
from hlograph.plans import Plan
from hlograph.storage.cache import cache_folder
from hlograph.storage.locations import Location, as_location, join, read_bytes, write_bytes
from hlograph.storage.machine import machine

# Entry of a file beside those of its plan: the code that carried it out when it was measured.
_RULES = "rules"


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
        """Returns the plan of a key.

        Whether it fits the program and the machine is for the caller to check.

        Returns:
            The plan; None if there is none, it cannot be read, or it was compared and measured when
            another version of hlograph carried it out; see ``outdated``.
        """
        plan, rules = self._read(key)
        return plan if plan is not None and rules == rules_of(plan) else None

    def outdated(self, key: str) -> Plan | None:
        """Returns the plan of a key that ``get`` leaves out since hlograph was updated."""
        plan, rules = self._read(key)
        return plan if plan is not None and rules != rules_of(plan) else None

    def put(self, key: str, plan: Plan) -> None:
        """Stores a plan that was measured; one with the same key is replaced.

        Raises:
            OSError: The file cannot be written.
        """
        content = {**json.loads(plan.to_json()), _RULES: rules_of(plan)}
        write_bytes(self._file(key), (json.dumps(content, indent=2) + "\n").encode())

    def _read(self, key: str) -> tuple[Plan | None, str]:
        try:
            data = read_bytes(self._file(key))
            return Plan.from_json(data), json.loads(data).get(_RULES, "")
        except (OSError, HloError):
            return None, ""

    def _file(self, key: str) -> Location:
        return join(self.location, f"{key}.plan.json")
