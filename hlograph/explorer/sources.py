"""Determines the type of a source of pages before it is read."""

from __future__ import annotations

from pathlib import Path

from hlograph.explorer.results import reading

_PLAN = b'"hlograph plan"'
_HEAD = 1024


def is_plan(source: str) -> bool:
    """Returns True if a source is the file of a plan."""
    path = Path(source)
    if path.name.endswith(".plan.json"):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:  # a function, a folder, a URL, or a file whose absence its reader reports
        return False
    return head.lstrip().startswith(b"{") and _PLAN in head


def is_results(source: str) -> bool:
    """Returns True if a source is a folder or file of results."""
    return reading.is_results(Path(source))
