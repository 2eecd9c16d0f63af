"""Brackets and commas in the text of HLO modules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlograph.plans.errors import PlanError

_CLOSING = {"(": ")", "{": "}", "[": "]"}
_STRING = r'"(?:[^"\\]|\\.)*"?'
# A string is one match, so that what is in it counts for nothing.
_BRACKETS = re.compile(_STRING + r"|[(){}\[\]]", re.S)
_BRACKETS_AND_COMMAS = re.compile(_STRING + r"|[(){}\[\],]", re.S)


def end_of(text: str, start: int) -> int:
    """Returns the position after the bracket that closes the one at ``start``."""
    waiting: list[str] = []
    for found in _BRACKETS.finditer(text, start):
        token = found[0]
        if token in _CLOSING:
            waiting.append(_CLOSING[token])
        elif waiting and token == waiting[-1]:
            waiting.pop()
            if not waiting:
                return found.end()
    raise _unclosed(text)


def split(text: str) -> Iterator[str]:
    """Yields the parts between commas that are in no bracket and no string."""
    start = 0
    waiting: list[str] = []
    for found in _BRACKETS_AND_COMMAS.finditer(text):
        token = found[0]
        if token in _CLOSING:
            waiting.append(_CLOSING[token])
        elif waiting:
            if token == waiting[-1]:
                waiting.pop()
        elif token == ",":
            if part := text[start : found.start()].strip():
                yield part
            start = found.end()
    if waiting:
        raise _unclosed(text)
    if part := text[start:].strip():
        yield part


def _unclosed(text: str) -> PlanError:
    return PlanError(f"expected a closing bracket in {text[:200]!r}")
