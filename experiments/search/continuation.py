"""Follows a recorded order of passes from any state of its benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.search.space import PassNode, PassSpace

_ROUNDS = 3
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
    best, taken = Continuation(node.op_count, ()), []
    for _ in range(_ROUNDS):
        before = best
        for action in order:
            after = space.step(node, action)
            if after is node:
                continue
            taken.append(action)
            node = after
            if node.op_count < best.op_count:
                best = Continuation(node.op_count, tuple(taken))
        if best is before:
            break
    return best


def needed(space: PassSpace, node: PassNode, found: Continuation) -> Continuation:
    """Leaves out the first passes of a continuation as long as it leads to no more instructions.

    Args:
        space: Space of the state; calls count against its budget.
        node: State that the continuation begins in.
        found: The continuation.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    while found.passes:
        shorter = continuation(space, node, found.passes[1:])
        if shorter.op_count > found.op_count or len(shorter.passes) >= len(found.passes):
            break
        found = shorter
    return found
