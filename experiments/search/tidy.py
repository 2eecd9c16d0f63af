"""The same result by fewer passes, in one order and under one name: what is good to imitate."""

from contextlib import suppress
from dataclasses import dataclass

import hlograph
from experiments.outcomes.benchmarks import load
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.local import effective, shortened
from experiments.search.space import Node, SearchSpace
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


@dataclass(frozen=True)
class Tidy(Task):
    """Tidies the passes that a search found."""

    benchmark: str
    passes: tuple[str, ...]

    def do(self, worker: RolloutWorker) -> tuple[tuple[str, ...], int]:
        """The tidied passes and their op count; those given if it takes too many calls."""
        space = SearchSpace(
            load(self.benchmark),
            self.benchmark,
            Budget(calls=_TIDY_CALLS),
            quarantine=self.quarantine,
            recorder=worker.recorder,
        )
        numbers = [hlograph.passes.index(name) for name in self.passes]
        with suppress(BudgetSpentError):
            numbers = tidied(space, space.follow(space.root, numbers))
        return tuple(space.passes[number].name for number in numbers), _really(space, numbers)


def tidied(space: SearchSpace, node: Node) -> list[int]:
    """Numbers of passes that leave no more instructions, no more of them, in a settled order.

    Searches find one of many orders that come to the same. Passes that the result does not need
    are left out; neighbours change places where that does no harm and the second comes first in
    `xla-simplify` or, if neither is there, in the registry; and of all passes that lead to the
    same state the first in that order is named.

    Args:
        space: Where the node is; its budget pays for what is tried.
        node: What a search found.
    """
    ranks = _ranks(space)
    actions = node.actions()
    for _ in range(_ROUNDS):
        before = actions
        actions = shortened(space, effective(space, actions)).order
        actions = _renamed(space, _sorted(space, actions, ranks), ranks)
        if actions == before:
            break
    # A state may be come to in two ways, and only the first was gone from there on.
    return actions if _really(space, actions) <= node.op_count else node.actions()


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


def _sorted(space: SearchSpace, actions: list[int], ranks: list[int]) -> list[int]:
    """Sorts neighbours as far as that does no harm, as bubble sort does."""
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


def _effective(space: SearchSpace, actions: list[int], count: int) -> bool:
    """Whether each of the passes changes something, and they leave no more instructions."""
    node = space.root
    for action in actions:
        before, node = node, space.step(node, action)
        if node is before:
            return False
    return node.op_count <= count


def _renamed(space: SearchSpace, actions: list[int], ranks: list[int]) -> list[int]:
    """Names each pass by the first one that leads to the same state."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    node, renamed = space.root, []
    for action in actions:
        after = space.step(node, action)
        renamed.append(next(a for a in order if space.step(node, a) is after))
        node = after
    return renamed


def _really(space: SearchSpace, actions: list[int]) -> int:
    """Op count after the passes, run one by one on a module of their own."""
    module = space.module(space.root).clone()
    for action in actions:
        module.run(space.passes[action])
    return module.op_count
