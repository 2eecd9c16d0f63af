"""The errors that hlograph raises."""

from __future__ import annotations

import re

# XLA's parser reports "was parsing 3:7: error: ..." with 1-based line and column.
_POSITION = re.compile(r"was parsing (\d+):(\d+)")


class HloError(Exception):
    """Base class of every error that hlograph raises on purpose."""


class HloParseError(HloError, ValueError):
    """The source is not an HLO module.

    Attributes:
        line: Line of the text where parsing stopped, from 1; None where the
            source has no lines (a proto, an unreadable file).
        column: Column in that line, from 1; None likewise.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        position = _POSITION.search(message)
        self.line = int(position.group(1)) if position else None
        self.column = int(position.group(2)) if position else None


class PassError(HloError):
    """An XLA pass returned an error; the module is as it was before the pass."""


class VerificationError(HloError):
    """XLA's HloVerifier rejected the module."""


class UnknownNameError(HloError, KeyError):
    """No pass, pipeline or benchmark has this name; the message lists near ones."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0]) if self.args else ""


class EngineUnavailableError(HloError, ImportError):
    """The native extension or the XLA libraries it needs cannot be loaded."""
