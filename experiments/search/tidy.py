"""The same result by fewer passes, in one order and under one name: what is good to imitate."""

import hlograph
from experiments.search.local import shortened
from experiments.search.space import Node, SearchSpace

_FIRST = tuple(
    dict.fromkeys(
        entry
        for step in hlograph.pipelines["xla-simplify"].steps
        for entry in (step.steps if isinstance(step, hlograph.FixedPoint) else (step,))
    )
)


def tidied(space: SearchSpace, node: Node) -> Node:
    """A state with no more instructions, come to by no more passes in a settled order.

    Searches find one of many orders that come to the same. Passes that the result does not need
    are left out; neighbours change places where that does no harm and the second comes first in
    `xla-simplify` or, if neither is there, in the registry; and of all passes that lead to the
    same state the first in that order is named.

    Args:
        space: Where the node is; its budget pays for what is tried.
        node: What a search found.
    """
    while True:
        before = node.actions()
        node = _renamed(space, _sorted(space, shortened(space, node)))
        if node.actions() == before:
            return node


def _ranks(space: SearchSpace) -> list[int]:
    """Place of each pass in the settled order."""
    first = {entry: place for place, entry in enumerate(_FIRST)}
    order = sorted(
        range(len(space.passes)), key=lambda n: (first.get(space.passes[n], len(first)), n)
    )
    ranks = [0] * len(order)
    for place, number in enumerate(order):
        ranks[number] = place
    return ranks


def _sorted(space: SearchSpace, node: Node) -> Node:
    """Sorts neighbours as far as that does no harm, as bubble sort does."""
    ranks = _ranks(space)
    place = 0
    while place + 1 < node.depth:
        actions = node.actions()
        first, second = actions[place : place + 2]
        if ranks[second] < ranks[first]:
            swapped = [*actions[:place], second, first, *actions[place + 2 :]]
            end = space.follow(space.root, swapped)
            if end.op_count <= node.op_count and end.actions() == swapped:
                node, place = end, max(place - 1, 0)
                continue
        place += 1
    return node


def _renamed(space: SearchSpace, node: Node) -> Node:
    """Names each pass by the first one that leads to the same state."""
    ranks = _ranks(space)
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    here, actions = space.root, []
    for action in node.actions():
        after = space.step(here, action)
        found = next(a for a in order if space.step(here, a) is after)
        actions.append(found)
        here = after
    return node if here is not node else _Named(node, actions)
