"""Ctrl-C during work that keeps what was found."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C: that of a shell, 128 and the number of the signal."""

_SAID = "interrupted: the best plans so far are measured again; Ctrl-C once more ends at once"


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Notes each Ctrl-C, also one after which the work ends in order.

    Yields:
        A list, to which the number of the signal is appended before ``KeyboardInterrupt`` is
        raised. It stays empty outside of the main thread, which alone gets signals.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        if not noted:
            print(_SAID, file=sys.stderr)
        noted.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread
        yield noted
        return
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
