"""Says in words how results were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def made_with(made: Mapping[str, Any]) -> dict[str, str]:
    """Returns command, commit, machine, versions and time, as far as they are known.

    Args:
        made: What ``hlograph.storage.provenance`` has written.
    """
    versions = {"python": made.get("python"), **(made.get("versions") or {})}
    machine = (made.get("platform"), made.get("cpus") and f"{made['cpus']} CPUs")
    lines = {
        "command": made.get("command"),
        "commit": made.get("commit"),
        "machine": ", ".join(str(part) for part in machine if part),
        "versions": ", ".join(f"{name} {value}" for name, value in versions.items() if value),
        "time": made.get("time"),
    }
    return {name: str(value) for name, value in lines.items() if value}
