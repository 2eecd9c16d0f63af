"""Corrects a policy in the states that it leads to itself, before reinforcement learning.

A policy that imitates orders of passes has never seen the states that its own mistakes lead to.
Here it plays, and each state is recorded with the pass that the recorded order would need there
(DAgger: Ross, Gordon and Bagnell 2011, "A Reduction of Imitation Learning and Structured Prediction
to No-Regret Online Learning").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import hlograph
from envs.rewards import needs_costs, resolve_reward
from experiments.outcomes.benchmarks import load
from experiments.policies.kind import PolicyKind
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.search.budget import Budget
from experiments.search.continuation import continuation, needed
from experiments.search.guide import STOP, Guide, TrainedPolicy
from experiments.search.node_view import NodeView
from experiments.search.space import PassNode, PassSpace
from experiments.training.recorded_steps import RecordedSteps
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import RolloutWorker, Task
from models.actor_critic import ActorCritic

_NO_LIMIT = 1 << 30  # pass calls: episodes and orders have an end


@dataclass(frozen=True)
class Correct(Task):
    """Plays a policy greedily, and records what it should have done in each state."""

    policy: TrainedPolicy
    orders: Mapping[str, tuple[str, ...]]
    """Passes to follow, by benchmark."""

    def do(self, worker: RolloutWorker) -> RecordedSteps:
        """Plays one episode on each benchmark.

        Raises:
            ValueError: The policy does not order passes.
        """
        kind, network = self.policy.build()
        if not isinstance(kind, PassOrderingKind):
            raise ValueError(f"expected a policy that orders passes, got {self.policy.kind}")
        recorded = RecordedSteps(network.encoder.store())
        for episode, (benchmark, passes) in enumerate(self.orders.items()):
            space = PassSpace(
                load(benchmark),
                benchmark,
                Budget(calls=_NO_LIMIT),
                quarantine=self.quarantine,
                recorder=worker.recorder,
            )
            # All of the episode comes first: what is tried afterwards would add to the masks.
            visits = _visits(space, Guide(space, self.policy))
            order = [hlograph.passes.index(name) for name in passes]
            self._record(recorded, kind, space, visits, order, episode)
        return recorded

    def _record(
        self,
        recorded: RecordedSteps,
        kind: PassOrderingKind,
        space: PassSpace,
        visits: Mapping[PassNode, Sequence[Sequence[int]]],
        order: Sequence[int],
        episode: int,
    ) -> None:
        """Adds each visit with the first pass that is needed there, or with stopping."""
        reward, ppo = resolve_reward(kind.reward), kind.ppo
        costs = kind.config.value_costs
        view = NodeView(space, kind.observation, costs=costs, measure_costs=needs_costs(reward))
        start = view.measure(space.root)
        for node, masks in visits.items():
            left = needed(space, node, continuation(space, node, order)).passes
            path = [node]
            for action in left:
                path.append(space.step(path[-1], action))
            measured = [view.measure(each) for each in path]
            returned = ppo.reward_scale * reward(
                start, measured[-1], measured[-1]._replace(stopped=True)
            )
            for before, after in reversed(list(pairwise(measured))):
                rewarded = ppo.reward_scale * reward(start, before, after)
                returned = rewarded + ppo.gamma * returned
            states = [view.state(node, masked) for masked in masks]
            recorded.add(states, left[0] if left else STOP, returned, episode)


def _visits(space: PassSpace, guide: Guide) -> dict[PassNode, list[list[int]]]:
    """Plays an episode; returns the passes known to change nothing at each decision, by state."""
    visits: dict[PassNode, list[list[int]]] = {}
    node = space.root
    for _ in range(guide.horizon):
        masked = [action for action, child in node.children.items() if child is node]
        visits.setdefault(node, []).append(masked)
        action = guide.greedy(node)
        if action == STOP:
            break
        node = space.step(node, action)
    return visits


def correct(
    runner: TaskRunner,
    kind: PolicyKind,
    policy: ActorCritic,
    orders: Mapping[str, tuple[str, ...]],
) -> RecordedSteps:
    """Records what a policy should have done where it went, in the runner's workers.

    Args:
        runner: Runs the tasks.
        kind: Kind of the policy.
        policy: The policy.
        orders: By benchmark, the passes to follow.
    """
    trained = TrainedPolicy(kind.name, kind.config, parameters_of(policy))
    names, size = list(orders), runner.config.envs_per_task
    tasks = [
        Correct(trained, {name: orders[name] for name in names[begin : begin + size]})
        for begin in range(0, len(names), size)
    ]
    what = f"corrections for {kind.name}"
    return RecordedSteps.joined(runner.run(tasks, what, progress=what))
