"""Explains how an episode of a policy falls short of the best order of passes that is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import hlograph
from experiments.search.guide import Guide, TrainedPolicy
from experiments.search.orders import continuation, needed
from experiments.search.space import PassSpace
from experiments.search.task import worker_space
from experiments.workers.worker import RolloutWorker, Task


@dataclass(frozen=True)
class Turn:
    """A pass of an episode after which fewer instructions could be removed than before it."""

    step: int
    """Number of the step, from 1."""
    name: str
    """Name of the pass."""
    cost: int
    """Instructions by which the recorded order leaves more after the pass than before it."""


@dataclass(frozen=True)
class Shortfall:
    """A greedy episode of a policy beside the best order of passes that is known."""

    benchmark: str
    start: int
    """Instructions of the unchanged benchmark."""
    op_count: int
    """Instructions of the best state of the episode."""
    best_known: int
    """Least number of instructions that is known."""
    continued: int
    """Instructions that are left if the recorded order follows the episode."""
    calls: int
    """Pass calls of the episode."""
    stopped: bool
    """True if the policy stopped; False if the episode reached its horizon."""
    missing: tuple[str, ...]
    """Passes of the recorded order that still change something, up to the least count."""
    masked: tuple[str, ...]
    """Passes among these that the mask hid in the last state."""
    turn: Turn | None
    """The step that cost most; None if no step cost anything."""

    @property
    def ended_early(self) -> int:
        """Instructions that the recorded order still removes after the episode."""
        return self.op_count - self.continued

    @property
    def ratio(self) -> float:
        """Best known op count relative to that of the episode; 1 if the episode is as good."""
        return self.best_known / self.op_count


@dataclass(frozen=True)
class Explain(Task):
    """Plays one greedy episode, and follows the recorded order from each of its states."""

    benchmark: str
    policy: TrainedPolicy
    best_known: int
    order: tuple[str, ...]
    """Passes that lead to the best known op count."""

    def do(self, worker: RolloutWorker) -> Shortfall:
        """Returns the explanation.

        Raises:
            ValueError: The policy does not order passes.
        """
        space = worker_space(self, worker, self.benchmark)
        decisions = list(Guide(space, self.policy).decisions(space.root))
        path = [node for node, _ in decisions]
        moves = [move for _, move in decisions if move is not None]
        stopped = len(moves) < len(decisions)
        if not stopped:
            path.append(space.step(path[-1], moves[-1]))
        # As in the episode: the recorded order would add to the masks.
        hidden = {*path[-1].no_ops()}
        order = [hlograph.passes.index(name) for name in self.order]
        continued = [continuation(space, node, order) for node in path]
        missing = needed(space, path[-1], continued[-1]).passes
        best = min(node.op_count for node in path)
        return Shortfall(
            benchmark=self.benchmark,
            start=space.root.op_count,
            op_count=best,
            best_known=min(self.best_known, best),
            continued=min(continued[-1].op_count, best),
            calls=len(moves),
            stopped=stopped,
            missing=space.named(missing),
            masked=space.named(move for move in dict.fromkeys(missing) if move in hidden),
            turn=_worst_turn(space, moves, [each.op_count for each in continued]),
        )


def _worst_turn(space: PassSpace, moves: Sequence[int], counts: Sequence[int]) -> Turn | None:
    """Returns the step after which the recorded order leaves most more than before it."""
    costs = [after - before for before, after in pairwise(counts)]
    if not costs or max(costs) <= 0:
        return None
    step = costs.index(max(costs))
    (name,) = space.named([moves[step]])
    return Turn(step + 1, name, costs[step])
