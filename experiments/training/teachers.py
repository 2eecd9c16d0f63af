"""What policies of each kind imitate before reinforcement learning."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from experiments.policies.kind import PolicyKind
from experiments.training.corrections import correct
from experiments.training.decisions import recorded_decisions, show
from experiments.training.demonstrations import demonstrate, recorded_orders
from experiments.training.recorded_steps import RecordedSteps
from experiments.workers.task_runner import TaskRunner
from models.actor_critic import ActorCritic

Recorded = Mapping[str, tuple[str, ...]]
"""Names of the steps to imitate, by benchmark."""


class Teacher(ABC):
    """Shows a policy what searches found."""

    noun: ClassVar[str]
    """What is imitated, in plural."""

    @abstractmethod
    def recorded(self, benchmarks: Sequence[str]) -> Recorded:
        """Returns what was recorded about benchmarks; those without a record are left out."""

    @abstractmethod
    def demonstrate(
        self, runner: TaskRunner, kind: PolicyKind, recorded: Recorded
    ) -> RecordedSteps:
        """Returns the experience of following what was recorded."""

    @abstractmethod
    def correct(
        self, runner: TaskRunner, kind: PolicyKind, policy: ActorCritic, recorded: Recorded
    ) -> RecordedSteps:
        """Returns what a policy should have done in the states that it leads to."""


class _Orders(Teacher):
    noun = "searched orders"

    def recorded(self, benchmarks: Sequence[str]) -> Recorded:
        return recorded_orders(benchmarks)

    def demonstrate(
        self, runner: TaskRunner, kind: PolicyKind, recorded: Recorded
    ) -> RecordedSteps:
        return demonstrate(runner, kind.name, recorded, kind.config.seed)

    def correct(
        self, runner: TaskRunner, kind: PolicyKind, policy: ActorCritic, recorded: Recorded
    ) -> RecordedSteps:
        return correct(runner, kind, policy, recorded)


class _Decisions(Teacher):
    noun = "decisions of measured plans"

    def recorded(self, benchmarks: Sequence[str]) -> Recorded:
        return recorded_decisions(benchmarks)

    def demonstrate(
        self, runner: TaskRunner, kind: PolicyKind, recorded: Recorded
    ) -> RecordedSteps:
        return show(runner, kind, recorded)

    def correct(
        self, runner: TaskRunner, kind: PolicyKind, policy: ActorCritic, recorded: Recorded
    ) -> RecordedSteps:
        return show(runner, kind, recorded, policy)


def teacher_of(kind: PolicyKind) -> Teacher | None:
    """Returns the teacher of a kind of policy; None if it imitates nothing."""
    match kind.imitates:
        case "orders":
            return _Orders()
        case "decisions":
            return _Decisions()
        case None:
            return None
