"""Experience to imitate, from the order that a reference pipeline takes on the benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from envs.rewards import Reward, resolve_reward
from experiments.evaluate.evaluation import Outcome
from experiments.policies.config import PolicyName
from experiments.policies.kind import PolicyInput, PolicyKind
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.search.guide import NodeView
from experiments.search.space import PassNode
from experiments.search.task import worker_space
from experiments.train.recorded_steps import RecordedSteps, record, returns_of, view_of
from experiments.workers.task_runner import TaskRunner
from experiments.workers.tasks import FollowByPipeline
from experiments.workers.worker import RolloutWorker, Task

IMITATED = "hlograph-simplify"
"""Pipeline whose orders policies imitate."""


def pipeline_orders(runner: TaskRunner, benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the passes of ``IMITATED`` that change each benchmark, up to its least op count.

    Orders of one pipeline have the same passes follow each other everywhere, so that they are
    learned soon. Orders that a search found for each benchmark alone are shorter, and lead to
    policies that leave more (docs/experiments-results.md).

    Args:
        runner: Runs the pipeline.
        benchmarks: Names. Those that the pipeline makes no smaller are left out.
    """

    def task(benchmark: str) -> Task:
        return FollowByPipeline(before=Outcome(benchmark, 0, 0, (), 0), pipeline=IMITATED)

    results = runner.measured(benchmarks, task, "orders to imitate")
    orders = {name: outcome.passes for name, (outcome, _) in results.items()}
    return {name: passes for name, passes in orders.items() if passes}


@dataclass(frozen=True)
class Demonstrate(Task):
    """Follows orders of passes, and records what is to be imitated.

    A policy that plays tries some passes without effect before it finds the right one, and its
    mask shows that. An order to imitate has no such tries. So each state is recorded several times,
    with a random part masked of the passes that a few tries found to change nothing.
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
        node, rows = space.root, []
        for move in view.order(passes):
            views = self._views(view, node, random)
            before, node = node, space.step(node, move)
            if node is not before:
                rewarded = reward(start, view.measure(before), view.measure(node))
                rows.append((views, view.action(move), rewarded))
        end = view.measure(node)
        rewarded = reward(start, end, end._replace(stopped=True))
        return [*rows, (self._views(view, node, random), view.action(None), rewarded)]

    def _views(
        self, view: NodeView, node: PassNode, random: np.random.Generator
    ) -> list[PolicyInput]:
        """Returns views of a state with masked passes that have no effect; in the first, none."""
        acting = [move for move in view.moves if move not in node.idle]
        tried = random.permutation(acting)[: self.tries].tolist()
        idle = [move for move in tried if view.space.step(node, move) is node]
        views = [view.state(node, ())]
        for _ in range(1, self.visits):
            hidden: list[int] = []
            if idle:
                share = random.permutation(idle)[: random.integers(1, len(idle) + 1)]
                hidden = share.tolist()
            views.append(view.state(node, hidden))
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
