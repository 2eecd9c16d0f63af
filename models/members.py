"""Sums over the nodes of graphs that share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hlograph.graph import weighted_sums
from hlograph.graph.weighted_sums import WeightedEntries


class Members(NamedTuple):
    """Number of nodes of each state with each of the last colours.

    Attributes:
        offsets: int64 [G + 1]; state g has the entries `offsets[g]` to `offsets[g + 1]`.
        place: int32 [P], of a colour among the last ones.
        multiplicity: float32 [P], how many nodes of the state have that colour.
    """

    offsets: Tensor
    place: Tensor
    multiplicity: Tensor

    @classmethod
    def of(cls, states: Sequence[tuple[np.ndarray, np.ndarray]], place: np.ndarray) -> Members:
        """Returns members of states that are given by their colours and the counts of these.

        Args:
            states: The states.
            place: int32 [P], places of all their colours.
        """
        offsets = np.cumsum([0, *(len(colours) for colours, _ in states)])
        counts = np.concatenate([counts for _, counts in states]).astype(np.float32)
        return cls(*map(torch.from_numpy, (offsets, place, counts)))

    def to(self, device: torch.device) -> Members:
        """Returns the same members on another device."""
        return Members(*(column.to(device) for column in self))

    def sum(self, values: Tensor) -> Tensor:
        """Sums over the nodes of each state: [C, W] by colour to float32 [G, W]."""
        if values.device.type == "cpu":
            return _Sums.apply(values, self)
        return self.gathered_sum(values)

    def gathered_sum(self, values: Tensor) -> Tensor:
        """Sums as `sum` does, on any device and with a row for each entry."""
        count = len(self.offsets) - 1
        state = torch.arange(count, device=values.device)
        state = state.repeat_interleave(self.offsets.diff(), output_size=len(self.place))
        rows = self.multiplicity.unsqueeze(1) * values.index_select(0, self.place)
        return values.new_zeros(count, values.shape[1]).index_add(0, state, rows)


class _Sums(torch.autograd.Function):
    """Differentiable torch function of the kernels: no array has a row for each entry."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, members: Members) -> Tensor:
        ctx.entries = WeightedEntries(*(column.numpy() for column in members))
        ctx.rows = len(values)
        given = values.detach().contiguous().numpy()
        return torch.from_numpy(weighted_sums.forward(given, ctx.entries, torch.get_num_threads()))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        found = weighted_sums.backward(
            gradient.contiguous().numpy(), ctx.entries, ctx.rows, torch.get_num_threads()
        )
        return torch.from_numpy(found), None
