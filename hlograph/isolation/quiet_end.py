"""Lets a worker end quietly whose program ended while it started; the fork server imports this."""

from __future__ import annotations

import sys
from multiprocessing import spawn
from pickle import UnpicklingError
from traceback import walk_tb
from types import TracebackType

_before = sys.excepthook


def _report(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """Reports an error of a new worker, unless it is that nobody is left to say what to do."""
    frames = [frame for frame, _ in walk_tb(traceback)]
    reading = bool(frames) and frames[-1].f_code is spawn._main.__code__  # pyright: ignore[reportAttributeAccessIssue]
    if not (reading and isinstance(error, EOFError | UnpicklingError)):
        _before(kind, error, traceback)


sys.excepthook = _report
