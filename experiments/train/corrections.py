"""Corrects a policy in the states that it leads to itself, before reinforcement learning.

A policy that imitates orders of passes has never seen the states that its own mistakes lead to.
Here it plays, and each state is recorded with the pass that the imitated order would need there
(DAgger: Ross, Gordon and Bagnell 2011, "A Reduction of Imitation Learning and Structured Prediction
to No-Regret Online Learning").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from envs.rewards import Reward, resolve_reward
from experiments.policies.kind import PolicyKind
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.search.guide import Guide, NodeView, TrainedPolicy
from experiments.search.orders import continuation, needed
from experiments.search.space import PassNode, PassSpace
from experiments.search.task import worker_space
from experiments.train.demonstrations import demonstrate
from experiments.train.imitated_orders import IMITATED, pipeline_orders
from experiments.train.recorded_steps import RecordedSteps, Teacher, record, returns_of, view_of
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import RolloutWorker, Task
from models.actor_critic import ActorCritic


@dataclass(frozen=True)
class Correct(Task):
    """Plays a policy greedily, and records what it should have done in each state."""

    policy: TrainedPolicy
    orders: Mapping[str, tuple[str, ...]]
    """Passes to follow, by benchmark; those that the policy does not know are left out."""

    def do(self, worker: RolloutWorker) -> RecordedSteps:
        """Plays one episode on each benchmark.

        Raises:
            ValueError: The policy does not order passes.
        """
        kind, network = self.policy.build()
        if not isinstance(kind, PassOrderingKind):
            raise ValueError(f"expected a policy that orders passes, got {self.policy.kind}")
        recorded = RecordedSteps(network.encoder.store())
        reward = resolve_reward(kind.reward)
        for episode, (benchmark, passes) in enumerate(self.orders.items()):
            space = worker_space(self, worker, benchmark)
            # All of the episode comes first: what is tried afterwards would add to the masks.
            visits = _visits(space, Guide(space, self.policy))
            view = view_of(kind, space)
            order = view.order(passes)
            for node, masks in visits.items():
                passes_needed = needed(space, node, continuation(space, node, order)).passes
                returned, *_ = returns_of(_rewards(view, reward, node, passes_needed), kind.ppo)
                states = [view.state(node, masked) for masked in masks]
                action = view.action(passes_needed[0] if passes_needed else None)
                recorded.add(states, action, returned, episode)
        return recorded


def _visits(space: PassSpace, guide: Guide) -> dict[PassNode, list[list[int]]]:
    """Plays an episode; returns the passes known to change nothing at each decision, by state."""
    visits: dict[PassNode, list[list[int]]] = {}
    for node, _ in guide.decisions(space.root):
        visits.setdefault(node, []).append(node.no_ops())
    return visits


def _rewards(view: NodeView, reward: Reward, node: PassNode, moves: Sequence[int]) -> list[float]:
    """Returns the rewards of passes from a state on, and of stopping after them."""
    path = [node]
    for move in moves:
        path.append(view.space.step(path[-1], move))
    start, *states = (view.measure(each) for each in (view.space.root, *path))
    ends = (states[-1], states[-1]._replace(stopped=True))
    return [reward(start, before, after) for before, after in (*pairwise(states), ends)]


def correct(
    runner: TaskRunner,
    kind: PolicyKind,
    orders: Mapping[str, tuple[str, ...]],
    policy: ActorCritic,
) -> RecordedSteps:
    """Records what a policy should have done where it went, in the runner's workers.

    Args:
        runner: Runs the tasks.
        kind: Kind of the policy.
        orders: By benchmark, the passes to follow.
        policy: The policy.
    """
    trained = TrainedPolicy(kind.name, kind.config, parameters_of(policy))
    return record(
        runner, orders, lambda some: Correct(trained, some), f"corrections for {kind.name}"
    )


ORDERS = Teacher(
    f"the orders of {IMITATED} and its variants", pipeline_orders, demonstrate, correct
)
"""Shows the orders of a reference pipeline and of its variants."""
