"""Silences the error of a worker whose parent ended during startup.

The fork server imports this module.
"""

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
    """Reports an error of a new worker, unless its parent process has ended."""
    frames = [frame for frame, _ in walk_tb(traceback)]
    reading = bool(frames) and frames[-1].f_code is spawn._main.__code__  # pyright: ignore[reportAttributeAccessIssue]
    if not (reading and isinstance(error, EOFError | UnpicklingError)):
        _before(kind, error, traceback)


sys.excepthook = _report
