"""Local search: references first, then small changes to the best order so far."""

from collections.abc import Sequence

import numpy as np

import hlograph
from experiments.search.space import Node, SearchSpace
from hlograph.registry import Pass

_STARTS = ("xla-simplify", "xla-cpu-unexpanded", "xla-cpu")
_INLINER = ("call-inliner", "call-inliner:single-call-site")
_MOST_CHANGES = 3
_KEPT = 3
"""Starts that are shortened."""
_RESTART_SHARE = 0.1
"""Of the tries, those that begin with a start's order instead of the best."""


def local_search(space: SearchSpace, random: np.random.Generator) -> None:
    """Searches until the budget is spent.

    The reference pipelines are run first, with both ways to inline and without inlining, and
    the best few of these orders are shortened. Then the best order is changed in one to three
    places (a pass inserted, left out, moved, replaced by another), and kept where that is as
    good: equal changes are let through, so that it wanders. Passes that change nothing drop out
    of an order by themselves.

    Args:
        space: Where to search.
        random: Draws the changes.
    """
    ends = [
        _run(space, hlograph.pipelines[name], inliner)
        for name in _STARTS
        for inliner in (*_INLINER, None)
    ]
    ends.sort(key=lambda node: (node.op_count, node.depth))
    starts = [shortened(space, node).actions() for node in list(dict.fromkeys(ends))[:_KEPT]]
    current = space.best.actions()
    while True:
        begin = current
        if random.random() < _RESTART_SHARE:
            begin = starts[random.integers(len(starts))]
        end = space.follow(space.root, _changed(begin, len(space.passes), random))
        best = space.follow(space.root, current)
        if (end.op_count, end.depth) <= (best.op_count, best.depth):
            current = end.actions()


def shortened(space: SearchSpace, node: Node) -> Node:
    """A state with no more instructions, after fewer passes.

    Half of the passes are left out where that does no harm, then a quarter, down to single ones,
    late ones first (in the manner of ddmin: Zeller and Hildebrandt 2002, "Simplifying and
    Isolating Failure-Inducing Input").
    """
    size = node.depth // 2
    while size:
        place = node.depth - size
        while place >= 0:
            actions = node.actions()
            end = space.follow(space.root, actions[:place] + actions[place + size :])
            if end.op_count <= node.op_count and end.depth < node.depth:
                node = end
            place = min(place - size, node.depth - size)
        size //= 2
    return node


def _run(space: SearchSpace, pipeline: hlograph.Pipeline, inliner: str | None) -> Node:
    """Where a reference pipeline leads, with another way to inline."""
    node = space.root

    def step(entry: Pass) -> bool:
        nonlocal node
        if entry.name in _INLINER:
            if inliner is None:
                return False
            entry = hlograph.passes[inliner]
        number = space.number(entry)
        if number is None:
            return False
        before, node = node, space.step(node, number)
        return node is not before

    pipeline.run(step)
    return node


def _changed(actions: Sequence[int], passes: int, random: np.random.Generator) -> list[int]:
    """The order with one to three small changes."""
    found = list(actions)
    for _ in range(random.integers(1, _MOST_CHANGES + 1)):
        kind = random.integers(4)
        if kind == 0 or not found:
            found.insert(random.integers(len(found) + 1), int(random.integers(passes)))
            continue
        place = int(random.integers(len(found)))
        taken = found.pop(place)
        if kind == 1:
            found.insert(random.integers(len(found) + 1), taken)
        elif kind == 2:
            found.insert(place, int(random.integers(passes)))
    return found
