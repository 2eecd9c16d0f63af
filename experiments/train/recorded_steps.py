"""Decisions to imitate, while they are recorded."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from envs.rewards import needs_costs, resolve_reward
from experiments.policies.kind import PolicyInput, PolicyKind
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.search.guide import NodeView
from experiments.search.space import PassSpace
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import Task
from models.actor_critic import ActorCritic
from models.cloning import Demonstrations
from models.config import PPOConfig
from models.encoder import StateStore


@dataclass
class RecordedSteps:
    """Decisions while they are recorded, one row for each."""

    states: StateStore
    keys: list[Hashable] = field(default_factory=list)
    """Identity of each state."""
    numbers: list[int] = field(default_factory=list)
    """Number of the state of each row."""
    episodes: list[int] = field(default_factory=list)
    """Number of the order that each row belongs to."""
    contexts: list[np.ndarray] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)

    def add(
        self, states: Sequence[PolicyInput], action: int, returned: float, episode: int
    ) -> None:
        """Adds several views of one state, which differ in the passes that are masked."""
        self.add_rows([(state, action, returned) for state in states], episode)

    def add_rows(self, rows: Sequence[tuple[PolicyInput, int, float]], episode: int) -> None:
        """Adds rows of one state.

        Args:
            rows: For each a view of the state, an action that is right there, and the discounted
                sum of the scaled rewards from there on.
            episode: Number of the order that they belong to.

        Raises:
            ValueError: An action is masked in its view: no policy could take it, and one that
                learns to would have a loss without bounds.
        """
        masked = [action for state, action, _ in rows if not state.mask[action]]
        if masked:
            raise ValueError(f"expected actions that can be taken, got masked ones: {masked}")
        first, *_ = rows[0]
        self.states.add([first.item])
        self.keys.append(first.key)
        for state, action, returned in rows:
            self.numbers.append(len(self.keys) - 1)
            self.episodes.append(episode)
            self.contexts.append(state.context)
            self.masks.append(state.mask)
            self.actions.append(action)
            self.returns.append(returned)

    def extend(self, other: "RecordedSteps") -> None:
        """Adds the rows of another part."""
        first, orders = len(self.keys), len(set(self.episodes))
        self.states.merge(other.states, range(len(other.keys)))
        self.keys += other.keys
        self.numbers += [first + number for number in other.numbers]
        self.episodes += [orders + episode for episode in other.episodes]
        for name in ("contexts", "masks", "actions", "returns"):
            getattr(self, name).extend(getattr(other, name))

    def demonstrations(self) -> Demonstrations:
        """Returns all rows as tensors."""
        return Demonstrations(
            states=self.states,
            state=torch.tensor(self.numbers),
            episode=torch.tensor(self.episodes),
            context=torch.from_numpy(np.stack(self.contexts)),
            mask=torch.from_numpy(np.stack(self.masks)),
            action=torch.tensor(self.actions),
            returns=torch.tensor(self.returns, dtype=torch.float32),
        )


Recorded = Mapping[str, tuple[str, ...]]
"""Names of the steps to imitate, by benchmark."""


class Teacher(NamedTuple):
    """Functions that show a policy what to do, before reinforcement learning.

    Attributes:
        noun: Name of what is imitated, in plural.
        recorded: Returns what there is to imitate on benchmarks; those without are left out.
        demonstrate: Returns the experience of following what was recorded.
        correct: Returns what a policy should have done in the states that it leads to.
    """

    noun: str
    recorded: Callable[[TaskRunner, Sequence[str]], Recorded]
    demonstrate: Callable[[TaskRunner, PolicyKind, Recorded], RecordedSteps]
    correct: Callable[[TaskRunner, PolicyKind, Recorded, ActorCritic], RecordedSteps]


TEACHERS = {
    "orders": "experiments.train.corrections:ORDERS",
    "decisions": "experiments.train.decisions:DECISIONS",
}
"""Teachers, as module and name, by what they have policies imitate; see ``PolicyKind.imitates``.
Each is imported when a policy needs it."""


def returns_of(rewards: Sequence[float], ppo: PPOConfig) -> list[float]:
    """Returns the discounted sum of the scaled rewards from each decision on."""
    returned, returns = 0.0, []
    for reward in reversed(rewards):
        returned = ppo.reward_scale * reward + ppo.gamma * returned
        returns.append(returned)
    return returns[::-1]


def view_of(kind: PassOrderingKind, space: PassSpace) -> NodeView:
    """Returns a view of a space as a policy sees it while it learns, with what its reward needs."""
    return NodeView(
        space,
        kind.action_names,
        kind.observation,
        costs=kind.config.value_costs,
        measure_costs=needs_costs(resolve_reward(kind.reward)),
    )


def record(
    runner: TaskRunner,
    orders: Mapping[str, tuple[str, ...]],
    make_task: Callable[[Mapping[str, tuple[str, ...]]], Task],
    what: str,
) -> RecordedSteps:
    """Records decisions on benchmarks, in the runner's workers.

    Args:
        runner: Runs the tasks.
        orders: By benchmark, the recorded passes.
        make_task: Makes the task that returns the ``RecordedSteps`` of some of the orders.
        what: Description for the progress bar.
    """
    names, size = list(orders), runner.config.envs_per_task
    tasks = [
        make_task({name: orders[name] for name in names[begin : begin + size]})
        for begin in range(0, len(names), size)
    ]
    first, *others = runner.run(tasks, what, progress=what)
    for other in others:
        first.extend(other)
    return first
