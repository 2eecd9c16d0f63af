"""Ctrl-C during work that keeps what was found."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C: that of a shell, 128 and the number of the signal."""

_SAID = "interrupted: the best plans so far are measured again; Ctrl-C once more ends at once"
_LATER = 0.02  # seconds

Handler = Callable[[int, FrameType | None], None]
"""Handler of a signal."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raises ``KeyboardInterrupt``, as a handler of SIGINT.

    Python drops what is raised in a callback of its garbage collector, such as that of jax: there
    the signal comes again a little later.
    """
    callbacks = {getattr(one, "__code__", None) for one in gc.callbacks}
    if any(one.f_code in callbacks for one in _callers(frame)):
        threading.Timer(_LATER, os.kill, (os.getpid(), number)).start()
        return
    raise KeyboardInterrupt


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def handled_interrupts(handler: Handler = interrupt) -> Iterator[None]:
    """Handles each Ctrl-C by a function; does nothing outside of the main thread."""
    try:
        before = signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Notes each Ctrl-C, also one after which the work ends in order.

    Yields:
        A list, to which the number of the signal is appended before ``KeyboardInterrupt`` is
        raised. It stays empty outside of the main thread, which alone gets signals.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        try:
            interrupt(number, frame)
        except KeyboardInterrupt:
            if not noted:
                print(_SAID, file=sys.stderr)
            noted.append(number)
            raise

    with handled_interrupts(note):
        yield noted
