"""Local search: references first, then small changes to the best few orders."""

from collections.abc import Sequence

import numpy as np

import hlograph
from experiments.search.budget import Patience
from experiments.search.space import Node, SearchSpace
from hlograph.registry import Pass

_ALL_CALLS, _SINGLE_CALLS = "call-inliner", "call-inliner:single-call-site"
_STARTS: tuple[tuple[str, str | None], ...] = (
    ("xla-simplify", _ALL_CALLS),
    ("xla-cpu-unexpanded", _SINGLE_CALLS),
    ("xla-simplify", _SINGLE_CALLS),
    ("xla-cpu", _SINGLE_CALLS),
    ("xla-simplify", None),
    ("xla-cpu-unexpanded", _ALL_CALLS),
    ("xla-cpu", _ALL_CALLS),
    ("xla-cpu-unexpanded", None),
    ("xla-cpu", None),
)
"""Pipelines to begin with, and what inlines in them, if anything does."""
_STARTS_SHARE, _SHORTENING_SHARE = 0.35, 0.5
"""Once so much of the budget is spent, no further start is tried, and none is shortened."""
_MOST_CHANGES = 3
_KEPT = 3
"""Starts that are shortened, then changed."""
_BEST_SHARE = 0.6
"""Of the tries, those that change the best order; the others change any."""

Order = list[int]
"""Numbers of passes, each of which changes the state that it is called in."""


def local_search(space: SearchSpace, random: np.random.Generator) -> None:
    """Searches until the budget is spent.

    The reference pipelines are run first, then with the other way to inline and without inlining,
    and the best few of these orders are shortened, all within half of the budget. Then one of
    them, most often the best, is changed in one to three places (a pass inserted, left out,
    moved, replaced by another), and the changed order takes its place where that is as good:
    equal changes are let through, so that it wanders. Passes that change nothing drop out of an
    order by themselves. Passes that have changed something are drawn more often.

    Args:
        space: Where to search.
        random: Draws the changes.

    Raises:
        BudgetSpentError: The budget is spent, or changes lead to nothing new.
    """
    lines = _starts(space)
    useful = _Useful(space, random)
    patience = Patience(space.budget, tries=3000)
    while True:
        patience.check()
        place = int(random.integers(len(lines)))
        if random.random() < _BEST_SHARE:
            place = min(range(len(lines)), key=lambda n: _rank(space, lines[n]))
        end, order = effective(space, _changed(lines[place], useful, random))
        if (end.op_count, len(order)) <= _rank(space, lines[place]):
            lines[place] = order


def effective(space: SearchSpace, actions: Sequence[int]) -> tuple[Node, Order]:
    """Where an order leads, and the order without what changes nothing on the way."""
    node, order = space.root, []
    for action in actions:
        before, node = node, space.step(node, action)
        if node is not before:
            order.append(action)
    return node, order


def shortened(space: SearchSpace, order: Order) -> Order:
    """An order that leads to no more instructions, by fewer passes if there is such.

    Half of the passes are left out where that does no harm, then a quarter, down to single ones,
    late ones first (in the manner of ddmin: Zeller and Hildebrandt 2002, "Simplifying and
    Isolating Failure-Inducing Input").
    """
    least = space.follow(space.root, order).op_count
    size = len(order) // 2
    while size:
        place = len(order) - size
        while place >= 0:
            end, shorter = effective(space, order[:place] + order[place + size :])
            if end.op_count <= least:
                least, order = end.op_count, shorter
            place = min(place - size, len(order) - size)
        size //= 2
    return order


def _starts(space: SearchSpace) -> list[Order]:
    """The best few orders that reference pipelines come to, shortened."""
    orders = []
    for name, inliner in _STARTS:
        if not orders or space.budget.share < _STARTS_SHARE:
            orders.append(_run(space, hlograph.pipelines[name], inliner))
    orders.sort(key=lambda order: _rank(space, order))
    by_end = {space.follow(space.root, order): order for order in reversed(orders)}
    best = sorted(by_end.values(), key=lambda order: _rank(space, order))[:_KEPT]
    return [
        shortened(space, order) if space.budget.share < _SHORTENING_SHARE else order
        for order in best
    ]


def _rank(space: SearchSpace, order: Order) -> tuple[int, int]:
    return space.follow(space.root, order).op_count, len(order)


def _run(space: SearchSpace, pipeline: hlograph.Pipeline, inliner: str | None) -> Order:
    """What a reference pipeline comes to, with another way to inline."""
    node, order = space.root, []

    def step(entry: Pass) -> bool:
        nonlocal node
        if entry.name in (_ALL_CALLS, _SINGLE_CALLS):
            if inliner is None:
                return False
            entry = hlograph.passes[inliner]
        number = space.number(entry)
        if number is None:
            return False
        before, node = node, space.step(node, number)
        if node is not before:
            order.append(number)
        return node is not before

    pipeline.run(step)
    return order


class _Useful:
    """Draws passes, those more often that changed something where they were called."""

    def __init__(self, space: SearchSpace, random: np.random.Generator) -> None:
        self._space, self._random = space, random
        self._calls = -1
        self._shares = np.empty(0)

    def draw(self) -> int:
        """A pass."""
        if self._calls < 0 or self._space.budget.calls >= self._calls + 50:
            self._calls = self._space.budget.calls
            called, changed = self._space.uses()
            odds = (changed + 1) / (called + 2)
            self._shares = odds / odds.sum()
        return int(self._random.choice(len(self._shares), p=self._shares))


def _changed(order: Order, useful: _Useful, random: np.random.Generator) -> list[int]:
    """The order with one to three small changes."""
    found = list(order)
    for _ in range(random.integers(1, _MOST_CHANGES + 1)):
        kind = random.integers(4)
        if kind == 0 or not found:
            found.insert(random.integers(len(found) + 1), useful.draw())
            continue
        place = int(random.integers(len(found)))
        taken = found.pop(place)
        if kind == 1:
            found.insert(random.integers(len(found) + 1), taken)
        elif kind == 2:
            found.insert(place, useful.draw())
    return found
