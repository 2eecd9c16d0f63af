"""What came of one step of an episode."""

from __future__ import annotations

from typing import NamedTuple


class StepResult(NamedTuple):
    """What a pass or a rewrite did.

    Attributes:
        changed: Whether the module is in another state.
        seconds: Time in XLA; 0 if it was known that nothing would change.
        error: XLA's message if it failed, or None.
    """

    changed: bool
    seconds: float
    error: str | None


NOTHING = StepResult(changed=False, seconds=0.0, error=None)
"""Of a pass that need not be run, and of what is no pass."""
