"""Limits of a search: its budget, and the tries that may bring nothing new."""

import time
from collections.abc import Callable
from typing import Protocol


class BudgetSpentError(Exception):
    """Raised when a search has nothing left to spend; its results so far count."""


class Budget:
    """Limit on calls and seconds, whichever ends first; the clock starts when it is made.

    Args:
        calls: Pass calls, or rewrites to apply; None is no limit.
        seconds: Wall time; None is no limit.
    """

    def __init__(self, calls: int | None = None, seconds: float | None = None) -> None:
        if calls is None and seconds is None:
            raise ValueError("expected a limit of pass calls, of seconds, or both; got neither")
        self.limit_calls, self.limit_seconds = calls, seconds
        self.calls = 0
        """Calls made."""
        self.start()

    def start(self) -> None:
        """Sets the clock to zero."""
        self._begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Returns the wall time since the search began."""
        return time.perf_counter() - self._begun

    @property
    def share(self) -> float:
        """Returns the share of the budget that is spent, 0 to 1."""
        shares = [0.0]
        if self.limit_calls is not None:
            shares.append(self.calls / max(self.limit_calls, 1))
        if self.limit_seconds is not None:
            shares.append(self.seconds / max(self.limit_seconds, 1e-9))
        return min(max(shares), 1.0)

    def check(self) -> None:
        """Raises BudgetSpentError if nothing is left."""
        if self.limit_calls is not None and self.calls >= self.limit_calls:
            raise BudgetSpentError
        if self.limit_seconds is not None and self.seconds >= self.limit_seconds:
            raise BudgetSpentError

    def spend(self) -> None:
        """Counts one call.

        Raises:
            BudgetSpentError: There is none left.
        """
        self.check()
        self.calls += 1


class Exhaustible(Protocol):
    """Interface of a search under a budget."""

    budget: Budget

    @property
    def exhausted(self) -> bool:
        """True if it is known that nothing is left to try."""
        ...


class Patience:
    """Limit on the tries that bring nothing new, for searches that would try for ever.

    The limit also ends a search at once when every move was made in every state.

    Args:
        space: Where the search is.
        tries: Consecutive tries without progress after which the search ends.
        progress: Number that grows with each success; None counts the calls spent.
    """

    def __init__(
        self, space: Exhaustible, tries: int = 300, progress: Callable[[], int] | None = None
    ) -> None:
        self._space, self._tries = space, tries
        self._progress = progress or (lambda: space.budget.calls)
        self._last, self._idle = -1, 0

    def check(self) -> None:
        """Counts a try.

        Raises:
            BudgetSpentError: Too many tries brought nothing new, the budget is spent, or the space
                is exhausted.
        """
        self._space.budget.check()
        progress = self._progress()
        self._idle = self._idle + 1 if progress == self._last else 0
        self._last = progress
        if self._idle >= self._tries or self._space.exhausted:
            raise BudgetSpentError
