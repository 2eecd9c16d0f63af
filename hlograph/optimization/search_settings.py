"""Settings of a search over plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hlograph.errors import HloError
from hlograph.optimization.cache import Store
from hlograph.optimization.methods import MakeMethod
from hlograph.optimization.methods import methods as methods_by_name


def method_names(methods: Iterable[str] | str | None) -> tuple[str, ...] | None:
    """Returns the names of methods, or of one; None, which stands for all, stays None."""
    if methods is None:
        return None
    return (methods,) if isinstance(methods, str) else tuple(methods)


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search; see ``hlograph.optimize``.

    Attributes:
        budget: Seconds to search for, the final included. The search may end later if compilations
            are slow or the first plan that leads comes late, since the winner is always measured
            again.
        methods: Names of the methods that take turns in proposing plans; None takes all.
        store: Store of plans.
        measure_again: True searches again although the store has a plan, and uses no earlier
            measurements.
        search_further: True goes on with the search although the store has a plan, from all that
            was measured before.
        progress: True shows a progress bar; None shows one on a terminal.
        seed: Seed of the methods that take one.
        process: True lets settings of the caller's process be part of the result.

    Raises:
        HloError: The budget is none, or there is no such method.
    """

    budget: float = 60.0
    methods: tuple[str, ...] | None = None
    store: Store = field(default_factory=Store)
    measure_again: bool = False
    search_further: bool = False
    progress: bool | None = None
    seed: int = 0
    process: bool = True

    def __post_init__(self) -> None:
        """Checks the budget and the names of the methods."""
        budget = self.budget
        if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
            raise HloError(f"expected a budget above 0 seconds, got {budget!r}")
        self.makers()

    def makers(self) -> Mapping[str, MakeMethod]:
        """Returns the methods by name."""
        return methods_by_name(self.methods, self.seed)
