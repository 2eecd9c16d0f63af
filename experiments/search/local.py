"""Local search: reference pipelines first, then small changes to the best few orders."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import hlograph
from experiments.search.budget import Patience
from experiments.search.space import PassNode, PassSpace
from experiments.search.state_space import Steps, step

_ALL_CALLS, _SINGLE_CALLS = "call-inliner", "call-inliner:single-call-site"
_OWN = "its own"
_STARTS: tuple[tuple[str, str | None], ...] = (
    ("hlograph-simplify", _OWN),
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
"""Pipelines to begin with, and the pass that inlines in each: None does not inline, and ``_OWN``
keeps the pipeline's own."""
_STARTS_SHARE, _SHORTENING_SHARE = 0.35, 0.5
"""Shares of the budget after which no further start is tried, and none is shortened."""
_MOST_CHANGES = 3
_KEPT = 3
"""Starts that are shortened, then changed."""
_BEST_SHARE = 0.6
"""Share of the tries that change the best order; the others change any of them."""


class Candidate(NamedTuple):
    """Order of passes, with the state that it leads to."""

    end: PassNode
    order: list[int]
    """Numbers of passes, each of which changes the state that it is called in."""

    @property
    def rank(self) -> tuple[int, int]:
        """Returns op count and number of passes; less is better."""
        return self.end.op_count, len(self.order)


def local_search(space: PassSpace, random: np.random.Generator) -> Steps[None]:
    """Searches until the budget is spent.

    hlograph-simplify is run first, then the other reference pipelines, these with each inliner and
    without inlining, and the best few of these orders are shortened, all within half of the budget.
    Then one of them, most often the best, is changed in one to three places (a pass inserted,
    removed, moved or replaced), and the changed order replaces it if it is at least as good. Passes
    that change nothing are removed from an order. Passes that have changed something are drawn more
    often.
    """
    candidates = yield from _starts(space)
    sampler = _PassSampler(space, random)
    patience = Patience(space)
    while True:
        patience.check()
        place = int(random.integers(len(candidates)))
        if random.random() < _BEST_SHARE:
            place = min(range(len(candidates)), key=lambda n: candidates[n].rank)
        order = _changed(candidates[place].order, sampler, random)
        candidate = yield from effective(space, order)
        if candidate.rank <= candidates[place].rank:
            candidates[place] = candidate


def effective(space: PassSpace, actions: Sequence[int]) -> Steps[Candidate]:
    """Follows an order, and removes the passes that change nothing from it."""
    node, order = space.root, []
    for action in actions:
        before, node = node, (yield from step(node, action))
        if node is not before:
            order.append(action)
    return Candidate(node, order)


def shortened(space: PassSpace, candidate: Candidate) -> Steps[Candidate]:
    """Removes passes from an order as long as it leads to no more instructions.

    Half of the passes are removed where that does no harm, then a quarter, down to single ones,
    late ones first (in the manner of ddmin: Zeller and Hildebrandt 2002, "Simplifying and
    Isolating Failure-Inducing Input").
    """
    size = len(candidate.order) // 2
    while size:
        place = len(candidate.order) - size
        while place >= 0:
            order = candidate.order[:place] + candidate.order[place + size :]
            shorter = yield from effective(space, order)
            if shorter.end.op_count <= candidate.end.op_count:
                candidate = shorter
            place = min(place - size, len(candidate.order) - size)
        size //= 2
    return candidate


def _starts(space: PassSpace) -> Steps[list[Candidate]]:
    """Runs the reference pipelines, and returns the best few of their orders, shortened."""
    candidates: list[Candidate] = []
    for name, inliner in _STARTS:
        if not candidates or space.budget.share < _STARTS_SHARE:
            candidates.append((yield from _run(space, hlograph.pipelines[name], inliner)))
    candidates.sort(key=lambda candidate: candidate.rank)
    by_end = {candidate.end: candidate for candidate in reversed(candidates)}
    best = sorted(by_end.values(), key=lambda candidate: candidate.rank)[:_KEPT]
    for number, candidate in enumerate(best):
        if space.budget.share < _SHORTENING_SHARE:
            best[number] = yield from shortened(space, candidate)
    return best


def _run(space: PassSpace, pipeline: hlograph.Pipeline, inliner: str | None) -> Steps[Candidate]:
    """Runs a reference pipeline with another pass that inlines; see ``_STARTS``."""
    node, order = space.root, list[int]()
    calls, changed = pipeline.calls(), None
    while (entry := calls.send(changed)) is not None:
        if inliner != _OWN and entry.name in (_ALL_CALLS, _SINGLE_CALLS):
            if inliner is None:
                changed = False
                continue
            entry = hlograph.passes[inliner]
        before, node = node, (yield from step(node, entry.index))
        changed = node is not before
        if changed:
            order.append(entry.index)
    return Candidate(node, order)


class _PassSampler:
    """Draws passes; passes that changed something where they were called more often."""

    def __init__(self, space: PassSpace, random: np.random.Generator) -> None:
        self._space, self._random = space, random
        self._calls = -1
        self._cumulative = np.empty(0)

    def draw(self) -> int:
        """Returns the number of a pass."""
        if self._calls < 0 or self._space.budget.calls >= self._calls + 50:
            self._calls = self._space.budget.calls
            called, changed = self._space.uses()
            odds = (changed + 1) / (called + 2)
            self._cumulative = np.cumsum(odds)
        # Generator.choice checks its probabilities, which takes as long as the rest of a try.
        drawn = self._random.random() * self._cumulative[-1]
        place = self._cumulative.searchsorted(drawn, side="right")
        return min(int(place), len(self._cumulative) - 1)


def _changed(order: Sequence[int], sampler: _PassSampler, random: np.random.Generator) -> list[int]:
    """Returns the order with one to three small changes."""
    changed = list(order)
    for _ in range(random.integers(1, _MOST_CHANGES + 1)):
        kind = random.integers(4)
        if kind == 0 or not changed:
            changed.insert(random.integers(len(changed) + 1), sampler.draw())
            continue
        place = int(random.integers(len(changed)))
        taken = changed.pop(place)
        if kind == 1:
            changed.insert(random.integers(len(changed) + 1), taken)
        elif kind == 2:
            changed.insert(place, sampler.draw())
    return changed
