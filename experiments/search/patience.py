"""When a search that tries again and again has nothing new to ask."""

from experiments.search.budget import BudgetSpentError
from experiments.search.space import SearchSpace


class Patience:
    """Ends a search that would go on for ever, since what it asks was asked before.

    It ends at once where every pass was called in every state. Where a method does not come to the
    states that are left, it ends after some tries in vain; how many looks into the table a try
    takes is of no account.

    Args:
        space: Where the search is.
        tries: Tries one after the other without any pass call, after which it ends.
    """

    def __init__(self, space: SearchSpace, tries: int = 300) -> None:
        self._space, self._tries = space, tries
        self._calls, self._idle = -1, 0

    def check(self) -> None:
        """Counts a try.

        Raises:
            BudgetSpentError: There were too many without a call, or nothing is left to spend or
                to ask.
        """
        budget = self._space.budget
        budget.check()
        self._idle = self._idle + 1 if self._calls == budget.calls else 0
        self._calls = budget.calls
        if self._idle >= self._tries or self._space.exhausted:
            raise BudgetSpentError
