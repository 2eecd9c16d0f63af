"""Ends searches that would try for ever without anything new."""

from collections.abc import Callable
from typing import Any

from experiments.search.budget import BudgetSpentError
from experiments.search.state_space import StateSpace


class Patience:
    """Limit on the tries that bring nothing new.

    The limit also ends a search at once when every move was made in every state.

    Args:
        space: Where the search is.
        tries: Consecutive tries without progress after which the search ends.
        progress: Number that grows with each success; None counts the calls spent.
    """

    def __init__(
        self,
        space: StateSpace[Any],
        tries: int = 300,
        progress: Callable[[], int] | None = None,
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
