"""Brackets and commas in the text of HLO modules."""

from __future__ import annotations

from collections.abc import Iterator

from hlograph.plans.errors import PlanError

_CLOSING = {"(": ")", "{": "}", "[": "]"}


def end_of(text: str, start: int) -> int:
    """Returns the position after the bracket that closes the one at ``start``."""
    waiting: list[str] = []
    position = start
    while position < len(text):
        character = text[position]
        if character == '"':
            position = _string_end(text, position)
            continue
        if character in _CLOSING:
            waiting.append(_CLOSING[character])
        elif waiting and character == waiting[-1]:
            waiting.pop()
            if not waiting:
                return position + 1
        position += 1
    raise PlanError(f"expected a closing bracket in {text[:200]!r}")


def _string_end(text: str, start: int) -> int:
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position + 1


def split(text: str) -> Iterator[str]:
    """Yields the parts between commas that are in no bracket and no string."""
    position = start = 0
    while position < len(text):
        character = text[position]
        if character == '"':
            position = _string_end(text, position)
        elif character in _CLOSING:
            position = end_of(text, position)
        else:
            if character == ",":
                if part := text[start:position].strip():
                    yield part
                start = position + 1
            position += 1
    if part := text[start:].strip():
        yield part
