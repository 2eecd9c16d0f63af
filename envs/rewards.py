"""Rewards of the pass-ordering environment, each a small object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hlograph.errors import UnknownNameError
from hlograph.names import unknown


class ModuleState(NamedTuple):
    """What a reward sees of a module.

    Attributes:
        op_count: Instructions in all computations.
    """

    op_count: int


class Reward(Protocol):
    """Maps one step to a number."""

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the reward of one step.

        Args:
            start: The benchmark as the episode began.
            before: The module before the step.
            after: The module after it.
        """
        ...


@dataclass(frozen=True, slots=True)
class OpCountDrop:
    """Drop of the op count, in percent of the start: 100 (before - after) / start.

    The difference of a potential: an episode's rewards sum to its total
    reduction, whatever the order. Source: the reward of X-RLflow, on op counts.

    Attributes:
        scale: Reward for removing everything.
    """

    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step."""
        return self.scale * (before.op_count - after.op_count) / start.op_count


@dataclass(frozen=True, slots=True)
class OpCount:
    """Negative op count after each step, in units of the start: -after / start.

    Source: "Target-independent XLA optimization using Reinforcement Learning",
    which scales the negative count; here by the start, so that graphs of all
    sizes weigh the same.

    Attributes:
        scale: Reward of a step that leaves the start's op count, negated.
    """

    scale: float = 1.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the negative count after a step."""
        return -self.scale * after.op_count / start.op_count


REWARDS: dict[str, type[OpCountDrop] | type[OpCount]] = {
    "op-count-drop": OpCountDrop,
    "op-count": OpCount,
}
"""Rewards by name, with their default scale."""


def resolve_reward(reward: str | Reward) -> Reward:
    """Returns the reward of that name, or the object itself.

    Raises:
        UnknownNameError: There is no reward of that name.
    """
    if not isinstance(reward, str):
        return reward
    if reward not in REWARDS:
        raise UnknownNameError(unknown("reward", reward, REWARDS))
    return REWARDS[reward]()
