"""Experience to imitate, from orders of passes on the benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import hlograph
from envs.rewards import Reward, resolve_reward
from experiments.policies.config import PolicyName
from experiments.policies.kind import PolicyInput, PolicyKind
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.search.guide import NodeView
from experiments.search.space import PassNode
from experiments.search.task import worker_space
from experiments.train.recorded_steps import RecordedSteps, record, returns_of, view_of
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker, Task


@dataclass(frozen=True)
class Demonstrate(Task):
    """Follows orders of passes, and records what is to be imitated.

    A policy that plays tries some passes without effect before it finds the right one, and its
    mask shows that. An order to imitate has no such tries. So each state is recorded several times,
    with a random part masked of the passes that a few tries found to change nothing.

    Where a pass acts on opcodes that the module has, it is imitated though it changes nothing. What
    the policy learns then depends on the mask, and which calls are in vain it learns afterwards to
    predict. Otherwise it forgets passes that seldom change what they act on, as conditionals.
    """

    kind: PolicyName
    orders: Mapping[str, tuple[str, ...]]
    """Passes to imitate, by benchmark; those that the policy does not know are left out."""
    seed: int
    visits: int = 4
    """Times that a state is recorded."""
    tries: int = 6
    """Number of random passes tried in each state."""

    def do(self, worker: RolloutWorker) -> RecordedSteps:
        """Follows all of the orders.

        Raises:
            TypeError: The kind of policy does not order passes.
        """
        kind = worker.kind(self.kind)
        if not isinstance(kind, PassOrderingKind):
            raise TypeError(f"expected a policy that orders passes, got {self.kind}")
        recorded = RecordedSteps(kind.make_policy().encoder.store())
        reward = resolve_reward(kind.reward)
        for episode, (benchmark, passes) in enumerate(self.orders.items()):
            view = view_of(kind, worker_space(self, worker, benchmark))
            seed = np.random.SeedSequence([self.seed, *benchmark.encode()])
            rows = self._rows(view, reward, passes, np.random.default_rng(seed))
            returns = returns_of([rewarded for _, _, rewarded in rows], kind.ppo)
            for (states, action, _), returned in reversed(list(zip(rows, returns, strict=True))):
                recorded.add(states, action, returned, episode)
        return recorded

    def _rows(
        self, view: NodeView, reward: Reward, passes: Sequence[str], random: np.random.Generator
    ) -> list[tuple[list[PolicyInput], int, float]]:
        """Returns views, action and reward of each decision; the last one is to stop."""
        space = view.space
        start = view.measure(space.root)
        node, tried, rows = space.root, list[int](), []
        for move in view.order(passes):
            before, node = node, space.step(node, move)
            changed = node is not before
            is_shown = hlograph.passes[move].acts_on and move not in (*node.idle, *tried)
            if changed or is_shown:
                views = self._views(view, before, move, tried, random)
                rewarded = reward(start, view.measure(before), view.measure(node))
                rows.append((views, view.action(move), rewarded))
                tried = [] if changed else [*tried, move]
        end = view.measure(node)
        rewarded = reward(start, end, end._replace(stopped=True))
        return [*rows, (self._views(view, node, None, tried, random), view.action(None), rewarded)]

    def _views(
        self,
        view: NodeView,
        node: PassNode,
        shown: int | None,
        tried: list[int],
        random: np.random.Generator,
    ) -> list[PolicyInput]:
        """Returns views of a state with masked passes that have no effect.

        Args:
            view: The view.
            node: The state.
            shown: The pass to imitate there, which is never masked; None is to stop.
            tried: Passes that are masked in all views; in the first no others are.
            random: Draws the others.
        """
        acting = [move for move in view.moves if move not in (*node.idle, *tried, shown)]
        drawn = random.permutation(acting)[: self.tries].tolist()
        idle = [move for move in drawn if view.space.step(node, move) is node]
        views = [view.state(node, tried)]
        for _ in range(1, self.visits):
            hidden: list[int] = []
            if idle:
                share = random.permutation(idle)[: random.integers(1, len(idle) + 1)]
                hidden = share.tolist()
            views.append(view.state(node, [*tried, *hidden]))
        return views


def demonstrate(
    runner: TaskRunner, kind: PolicyKind, orders: Mapping[str, tuple[str, ...]]
) -> RecordedSteps:
    """Records the experience of following pass orders, in the runner's workers.

    Args:
        runner: Runs the tasks.
        kind: Kind of the policy that is to imitate them; its seed is that of the passes that are
            tried beside them.
        orders: By benchmark, the passes to imitate.
    """
    return record(
        runner,
        orders,
        lambda some: Demonstrate(kind=kind.name, orders=some, seed=kind.config.seed),
        f"demonstrations for {kind.name}",
    )
