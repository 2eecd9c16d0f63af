"""Recorded orders of passes: followed from any state, and tidied for imitation.

A tidied order has fewer passes, in one order, under one name.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import hlograph
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.local import effective, shortened
from experiments.search.space import PassNode, PassSpace
from experiments.search.state_space import Steps, taken
from experiments.search.task import worker_space
from experiments.workers.worker import RolloutWorker, Task

_FIRST = tuple(
    dict.fromkeys(
        entry
        for step in hlograph.pipelines["xla-simplify"].steps
        for entry in (step.steps if isinstance(step, hlograph.FixedPoint) else (step,))
    )
)

_ROUNDS = 5
_TIDY_CALLS = 5_000
_FOLLOWED = 3
"""Times that an order is followed, one after the other."""


@dataclass(frozen=True)
class Continuation:
    """Result of following an order from a state."""

    op_count: int
    """Least op count on the way; that of the state if the order leads to none below it."""
    passes: tuple[int, ...]
    """Numbers of the passes that lead there; each of them changes the module."""


def continuation(space: PassSpace, node: PassNode, order: Sequence[int]) -> Continuation:
    """Follows an order from a state, and again from where it ends as long as that pays.

    Args:
        space: Space of the state; calls count against its budget.
        node: The state.
        order: Numbers of passes.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    best, moves = Continuation(node.op_count, ()), []
    for _ in range(_FOLLOWED):
        before = best
        for action in order:
            after = space.step(node, action)
            if after is node:
                continue
            moves.append(action)
            node = after
            if node.op_count < best.op_count:
                best = Continuation(node.op_count, tuple(moves))
        if best is before:
            break
    return best


def needed(space: PassSpace, node: PassNode, result: Continuation) -> Continuation:
    """Leaves out the first passes of a continuation as long as it leads to no more instructions.

    Args:
        space: Space of the state; calls count against its budget.
        node: State that the continuation begins in.
        result: The continuation.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    while result.passes:
        shorter = continuation(space, node, result.passes[1:])
        if shorter.op_count > result.op_count or len(shorter.passes) >= len(result.passes):
            break
        result = shorter
    return result


@dataclass(frozen=True)
class Tidy(Task):
    """Tidies the passes that a search found on one benchmark."""

    benchmark: str
    passes: tuple[str, ...]

    def do(self, worker: RolloutWorker) -> tuple[tuple[str, ...], int]:
        """Returns tidied passes and their op count; the given passes if it takes too many calls."""
        space = worker_space(self, worker, self.benchmark, Budget(calls=_TIDY_CALLS))
        numbers = [hlograph.passes.index(name) for name in self.passes]
        with suppress(BudgetSpentError):
            numbers = tidied(space, space.follow(space.root, numbers))
        return space.named(numbers), space.fresh_op_count(numbers)


def tidied(space: PassSpace, node: PassNode) -> list[int]:
    """Returns numbers of passes that lead to no more instructions, in a canonical order.

    Searches find one of many equivalent orders. Passes that the result does not need are removed.
    Neighbors are swapped where that does no harm and the second comes first in `xla-simplify` or,
    if neither is there, in the registry. Each pass is replaced by the first in that order that
    leads to the same state.

    Args:
        space: Space of the node; calls count against its budget.
        node: Result of a search.
    """
    ranks = _ranks()
    actions = node.path()
    for _ in range(_ROUNDS):
        before = actions
        actions = taken(space, _needed(space, actions))
        actions = _renamed(space, _sorted(space, actions, ranks), ranks)
        if actions == before:
            break
    # Two paths may lead to a state, and only the first was followed from there on.
    return actions if space.fresh_op_count(actions) <= node.op_count else node.path()


def _needed(space: PassSpace, actions: list[int]) -> Steps[list[int]]:
    """Returns an order without the passes that it does not need."""
    candidate = yield from effective(space, actions)
    return (yield from shortened(space, candidate)).order


def _ranks() -> list[int]:
    """Returns the place of each pass in the canonical order."""
    first = {entry: place for place, entry in enumerate(_FIRST)}
    order = sorted(
        range(len(hlograph.passes)), key=lambda n: (first.get(hlograph.passes[n], len(first)), n)
    )
    ranks = [0] * len(order)
    for place, number in enumerate(order):
        ranks[number] = place
    return ranks


def _sorted(space: PassSpace, actions: list[int], ranks: list[int]) -> list[int]:
    """Sorts by swaps of neighbors, as bubble sort does, as far as that does no harm."""
    count = space.follow(space.root, actions).op_count
    place = 0
    while place + 1 < len(actions):
        first, second = actions[place : place + 2]
        swapped = [*actions[:place], second, first, *actions[place + 2 :]]
        if ranks[second] < ranks[first] and _effective(space, swapped, count):
            actions, place = swapped, max(place - 1, 0)
        else:
            place += 1
    return actions


def _effective(space: PassSpace, actions: list[int], count: int) -> bool:
    """Returns True if each pass changes something and they lead to no more instructions."""
    node = space.root
    for action in actions:
        before, node = node, space.step(node, action)
        if node is before:
            return False
    return node.op_count <= count


def _renamed(space: PassSpace, actions: list[int], ranks: list[int]) -> list[int]:
    """Replaces each pass by the first one that leads to the same state."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    node, renamed = space.root, []
    for action in actions:
        after = space.step(node, action)
        renamed.append(next(a for a in order if space.step(node, a) is after))
        node = after
    return renamed
