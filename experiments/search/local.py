"""Local search: references first, then small changes to the best few orders."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import hlograph
from experiments.search.patience import Patience
from experiments.search.space import Node, SearchSpace
from hlograph.transforms.registry import Pass

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


class Line(NamedTuple):
    """An order of passes, and where it leads: it need not be gone again to know that."""

    end: Node
    order: list[int]
    """Numbers of passes, each of which changes the state that it is called in."""

    @property
    def rank(self) -> tuple[int, int]:
        """Instructions and passes: the less, the better."""
        return self.end.op_count, len(self.order)


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
    patience = Patience(space)
    while True:
        patience.check()
        place = int(random.integers(len(lines)))
        if random.random() < _BEST_SHARE:
            place = min(range(len(lines)), key=lambda n: lines[n].rank)
        line = effective(space, _changed(lines[place].order, useful, random))
        if line.rank <= lines[place].rank:
            lines[place] = line


def effective(space: SearchSpace, actions: Sequence[int]) -> Line:
    """Where an order leads, and the order without what changes nothing on the way."""
    node, order = space.root, []
    for action in actions:
        before, node = node, space.step(node, action)
        if node is not before:
            order.append(action)
    return Line(node, order)


def shortened(space: SearchSpace, line: Line) -> Line:
    """An order that leads to no more instructions, by fewer passes if there is such.

    Half of the passes are left out where that does no harm, then a quarter, down to single ones,
    late ones first (in the manner of ddmin: Zeller and Hildebrandt 2002, "Simplifying and
    Isolating Failure-Inducing Input").
    """
    size = len(line.order) // 2
    while size:
        place = len(line.order) - size
        while place >= 0:
            shorter = effective(space, line.order[:place] + line.order[place + size :])
            if shorter.end.op_count <= line.end.op_count:
                line = shorter
            place = min(place - size, len(line.order) - size)
        size //= 2
    return line


def _starts(space: SearchSpace) -> list[Line]:
    """The best few orders that reference pipelines come to, shortened."""
    lines: list[Line] = []
    for name, inliner in _STARTS:
        if not lines or space.budget.share < _STARTS_SHARE:
            lines.append(_run(space, hlograph.pipelines[name], inliner))
    lines.sort(key=lambda line: line.rank)
    by_end = {line.end: line for line in reversed(lines)}
    best = sorted(by_end.values(), key=lambda line: line.rank)[:_KEPT]
    return [
        shortened(space, line) if space.budget.share < _SHORTENING_SHARE else line for line in best
    ]


def _run(space: SearchSpace, pipeline: hlograph.Pipeline, inliner: str | None) -> Line:
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
    return Line(node, order)


class _Useful:
    """Draws passes, those more often that changed something where they were called."""

    def __init__(self, space: SearchSpace, random: np.random.Generator) -> None:
        self._space, self._random = space, random
        self._calls = -1
        self._upto = np.empty(0)

    def draw(self) -> int:
        """A pass."""
        if self._calls < 0 or self._space.budget.calls >= self._calls + 50:
            self._calls = self._space.budget.calls
            called, changed = self._space.uses()
            odds = (changed + 1) / (called + 2)
            self._upto = np.cumsum(odds)
        # A choice by shares checks them each time, which takes as long as all else of a try.
        place = self._upto.searchsorted(self._random.random() * self._upto[-1], side="right")
        return min(int(place), len(self._upto) - 1)


def _changed(order: Sequence[int], useful: _Useful, random: np.random.Generator) -> list[int]:
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
