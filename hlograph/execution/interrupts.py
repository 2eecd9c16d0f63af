"""Ctrl-C during work that keeps its results."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
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
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    if any(caller.f_code in callbacks for caller in _callers(frame)):
        threading.Timer(_LATER, os.kill, (os.getpid(), number)).start()
        return
    raise KeyboardInterrupt


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def handled_interrupts(
    handler: Handler = interrupt, signals: Sequence[int] = (signal.SIGINT,)
) -> Iterator[None]:
    """Handles signals by a function within the block.

    It does nothing outside of the main thread, which alone gets signals.
    """
    try:
        before = {number: signal.signal(number, handler) for number in signals}
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Keeps SIGINT and SIGTERM until the end of the block, or of a decorated function.

    ``KeyboardInterrupt`` in the middle of a write may leave a queue locked, such as TensorBoard's,
    and closing the file would wait for ever.
    """
    noted: list[int] = []
    both = (signal.SIGINT, signal.SIGTERM)
    with handled_interrupts(lambda number, frame: noted.append(number), both):
        yield
    for number in noted[:1]:
        signal.raise_signal(number)


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
