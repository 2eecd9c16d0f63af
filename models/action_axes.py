"""Parameters that have an entry for each action that a policy knows by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class ActionAxis(NamedTuple):
    """Axis of a parameter along which entries stand for actions.

    Attributes:
        axis: Number of the axis.
        first: Index of the first action; the others follow. Entries before them and after them
            mean something else.
    """

    axis: int = 0
    first: int = 0


RULE_AXES = {"encoder.rule.weight": ActionAxis()}
"""Axes along which parameters of pointer policies have an entry for each rule or kind."""


class ChosenActions:
    """Chooses the entries of some actions, in parameters and in what Adam keeps of them.

    Args:
        axes: Axes of actions, by name of the parameter.
        before: Names of the actions, in the order of the entries.
        after: Names of those to choose, in their new order.

    Raises:
        ValueError: A name is not among those before.
    """

    def __init__(
        self, axes: Mapping[str, ActionAxis], before: Sequence[str], after: Sequence[str]
    ) -> None:
        self._axes, self._count = axes, len(before)
        self._kept = [before.index(name) for name in after]

    def parameters(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns parameters with the entries of the chosen actions only.

        Args:
            values: The parameters, by name.

        Raises:
            IndexError: A parameter has fewer entries than there are actions.
        """
        return {name: self._chosen(name, value) for name, value in values.items()}

    def moments(self, adam: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Returns the state of Adam with the moments of the chosen actions only.

        Args:
            adam: Its state, as ``state_dict`` returns it.
            names: Names of its parameters, in their order.

        Raises:
            IndexError: A moment has fewer entries than there are actions.
        """
        before: Mapping[int, Mapping[str, Any]] = adam["state"]
        state = {
            number: {
                key: self._chosen(names[number], value) if key.startswith("exp_avg") else value
                for key, value in kept.items()
            }
            for number, kept in before.items()
        }
        return {**adam, "state": state}

    def _chosen(self, name: str, value: Tensor) -> Tensor:
        if name not in self._axes:
            return value
        axis, first = self._axes[name]
        chosen = [first + number for number in self._kept]
        after = range(first + self._count, value.shape[axis])
        return value.index_select(axis, torch.tensor([*range(first), *chosen, *after]))
