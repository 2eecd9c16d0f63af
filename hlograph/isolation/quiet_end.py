"""Lets a worker end quietly whose program ended while it started; the fork server imports this."""

from __future__ import annotations

import sys
from multiprocessing import spawn
from pickle import UnpicklingError
from types import TracebackType

_before = sys.excepthook


def _report(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """Reports an error of a new worker, unless it is that nobody is left to say what to do."""
    last = traceback
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    reading = last is not None and last.tb_frame.f_code is spawn._main.__code__  # pyright: ignore[reportAttributeAccessIssue]
    if not (reading and isinstance(error, EOFError | UnpicklingError)):
        _before(kind, error, traceback)


sys.excepthook = _report
