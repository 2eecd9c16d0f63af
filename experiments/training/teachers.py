"""Teachers of policies: they show what searches found, before reinforcement learning."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from experiments.policies.kind import PolicyKind
from experiments.training.corrections import correct
from experiments.training.decisions import recorded_decisions, show
from experiments.training.demonstrations import demonstrate, recorded_orders
from experiments.training.recorded_steps import RecordedSteps
from experiments.workers.task_runner import TaskRunner
from models.actor_critic import ActorCritic

Recorded = Mapping[str, tuple[str, ...]]
"""Names of the steps to imitate, by benchmark."""


class Teacher(NamedTuple):
    """Functions that show a policy what searches found.

    Attributes:
        noun: Name of what is imitated, in plural.
        recorded: Returns what was recorded about benchmarks; those without a record are left out.
        demonstrate: Returns the experience of following what was recorded.
        correct: Returns what a policy should have done in the states that it leads to.
    """

    noun: str
    recorded: Callable[[Sequence[str]], Recorded]
    demonstrate: Callable[[TaskRunner, PolicyKind, Recorded], RecordedSteps]
    correct: Callable[[TaskRunner, PolicyKind, Recorded, ActorCritic], RecordedSteps]


TEACHERS: dict[Literal["orders", "decisions"], Teacher] = {
    "orders": Teacher("searched orders", recorded_orders, demonstrate, correct),
    "decisions": Teacher("decisions of measured plans", recorded_decisions, show, show),
}
"""Teachers by what they have policies imitate; see ``PolicyKind.imitates``."""
