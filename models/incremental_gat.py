"""Encodes graphs one after the other, and of each only nodes that no graph before it had."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from models.blocks import GraphBlock
from models.encoder import Encoder, IncrementalEncoder
from models.members import Members
from models.pooling import Pooling
from models.refined_graphs import RefinedGraphs


class LayeredEncoder(Encoder):
    """Base class of graph encoders that run layer by layer: embedding, blocks, pooling."""

    pooling: Pooling

    @abstractmethod
    def embed(self, rows: Tensor) -> Tensor:
        """Embeds nodes before the first layer: [N, columns of the view] to [N, width]."""

    @abstractmethod
    def edge_labels(self) -> Tensor:
        """Embeds edge labels, float32 [labels, edge_width]."""

    @abstractmethod
    def blocks(self) -> Iterator[GraphBlock]:
        """Yields the layers."""


class IncrementalGATEncoder(IncrementalEncoder):
    """Incremental encoder that keeps the vectors of all colours of all rounds.

    A pass changes a few instructions, so the state after it has few neighbourhoods that the state
    before it did not have.
    """

    def __init__(self, encoder: LayeredEncoder, states: RefinedGraphs) -> None:
        super().__init__(encoder, states)
        self._gat, self._graphs = encoder, states
        self._sources = [_Rows() for _ in encoder.blocks()]
        self._nodes = [_Rows() for _ in range(len(self._sources) + 1)]
        self._summands = _Rows()
        with torch.inference_mode():
            self._labels = encoder.edge_labels()

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Encodes the states added since the last call, float32 [G, width]."""
        self._encode_new_colours()
        states = self._graphs.members(self._done)
        self._done += len(states)
        members = Members.of(states, np.concatenate([colours for colours, _ in states]))
        return self._gat.pooling.finish(members.sum(self._summands.all))

    @property
    def nodes(self) -> Tensor:
        """Vectors of encoded nodes by their last colour; valid until the next call."""
        return self._nodes[-1].all

    def _encode_new_colours(self) -> None:
        """Encodes new colours, round by round."""
        refinement, gat = self._graphs.refinement, self._gat
        rows = torch.from_numpy(refinement.rows(len(self._nodes[0])))
        new = self._nodes[0].extend(gat.embed(rows))
        for number, layer in enumerate(gat.blocks()):
            before, sources = self._nodes[number], self._sources[number]
            sources.extend(layer.sources(new))
            part = self._graphs.round(number + 1, len(self._nodes[number + 1]))
            after = layer.onward(before.all, sources.all, part, self._labels)
            new = self._nodes[number + 1].extend(after)
        self._summands.extend(gat.pooling.summands(new))


class _Rows:
    """Matrix that grows by rows in amortised constant time."""

    def __init__(self) -> None:
        self._buffer: Tensor | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def all(self) -> Tensor:
        """All rows; valid until the next `extend`."""
        assert self._buffer is not None
        return self._buffer[: self._length]

    def extend(self, rows: Tensor) -> Tensor:
        """Appends rows and returns them."""
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
