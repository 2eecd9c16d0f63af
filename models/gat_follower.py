"""Encodes graphs one after the other, and of each only what no graph before it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from models.encoder import Follower
from models.refined_graphs import RefinedGraphs

if TYPE_CHECKING:
    from models.gat import GATEncoder


class GATFollower(Follower):
    """Keeps the vectors of all colours of all rounds.

    A pass touches a few instructions, so a state after it has few neighbourhoods that the
    state before it did not have.
    """

    def __init__(self, encoder: GATEncoder, states: RefinedGraphs) -> None:
        super().__init__(encoder, states)
        self._gat, self._graphs = encoder, states
        self._nodes = [_Rows() for _ in range(len(encoder.layers) + 1)]
        self._sources = [_Rows() for _ in encoder.layers]
        self._summands = _Rows()

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Vectors of the states added since the last call: float32 [G, width]."""
        self.follow_colours()
        pooling = self._gat.pooling
        sums = [
            torch.from_numpy(counts).float() @ self._summands.all[torch.from_numpy(colours).long()]
            for colours, counts in self._graphs.members(self._done)
        ]
        self._done += len(sums)
        return pooling.finish(torch.stack(sums))

    @property
    def nodes(self) -> Tensor:
        """Vectors of nodes by their last colour, as far as they were followed; not to be kept."""
        return self._nodes[-1].all

    def follow_colours(self) -> None:
        """Round by round, the vectors of new colours."""
        refinement, gat = self._graphs.refinement, self._gat
        labels = gat.edge_labels()
        rows = torch.from_numpy(refinement.rows(len(self._nodes[0])))
        new = self._nodes[0].extend(gat.embed(rows))
        for number, layer in enumerate(gat.blocks()):
            before, sources = self._nodes[number], self._sources[number]
            sources.extend(layer.sources(new))
            part = self._graphs.round(number + 1, len(self._nodes[number + 1]))
            after = layer.onward(before.all, sources.all, part, labels)
            new = self._nodes[number + 1].extend(after)
        self._summands.extend(gat.pooling.summands(new))


class _Rows:
    """A matrix that grows by rows, seldom copied."""

    def __init__(self) -> None:
        self._buffer: Tensor | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def all(self) -> Tensor:
        """All rows, not to be kept."""
        assert self._buffer is not None
        return self._buffer[: self._length]

    def extend(self, rows: Tensor) -> Tensor:
        """Appends rows; returns them."""
        length = self._length + len(rows)
        if self._buffer is None:
            self._buffer = rows.clone()
        elif length > len(self._buffer):
            grown = rows.new_empty(max(length, 2 * len(self._buffer)), rows.shape[1])
            grown[: self._length] = self.all
            self._buffer = grown
        self._buffer[self._length : length] = rows
        self._length = length
        return rows
