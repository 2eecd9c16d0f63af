"""Messages for names that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Collection

_LISTED = 20


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """Returns the message for an unknown name: near ones if there are any, else the first.

    Args:
        kind: What the name should have named, as "pass".
        name: The name that came.
        known: The names that exist.
    """
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"no {kind} is called {name!r}; did you mean {', '.join(near)}?"
    listed = ", ".join(list(known)[:_LISTED])
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"no {kind} is called {name!r}; known: {listed}{more}"
