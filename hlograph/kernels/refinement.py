"""Colour refinement: finds the nodes of many graphs whose neighbourhoods of radius r are equal.

A network that passes messages for r rounds computes the same vector for any two nodes whose
neighbourhoods of radius r are equal (Xu et al. 2019, arXiv:1810.00826; Morris et al. 2019,
arXiv:1810.02244). Graphs before and after a pass have nearly the same neighbourhoods, and so have
the layers of a deep model. Many graphs thus have far fewer distinct neighbourhoods than nodes. A
computation on the distinct ones gives the same numbers with a fraction of the work (exact
compression, Bollen et al. 2023, arXiv:2304.14793).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

_COLOUR_BITS = np.uint64(32)


class RefinedRound(NamedTuple):
    """Definitions of the colours of one round by colours of the round before.

    Attributes:
        own: int32 ``[C]``, colour of the node itself in the round before.
        offsets: int64 ``[C + 1]``; colour c has the neighbours ``offsets[c]`` to
            ``offsets[c + 1]``.
        source: int32 ``[M]``, colour of a neighbour in the round before.
        label: int32 ``[M]``, label of the edge to the neighbour.
    """

    own: NDArray[np.int32]
    offsets: NDArray[np.int64]
    source: NDArray[np.int32]
    label: NDArray[np.int32]


class Refinement:
    """Numbers the distinct neighbourhoods of the nodes of all graphs that are added.

    In round 0, nodes with equal rows have the same colour. In round r, two nodes have the same
    colour if they had the same one in round r - 1 and if their edges, incoming and outgoing, have
    equal labels and neighbours of equal colours. Colours are compared by their definitions, not
    only by a hash. In each round they are numbered from 0 in the order of their first occurrence,
    so adding graphs never changes a number.

    Args:
        rounds: Number of rounds, which is the radius of the neighbourhoods in edges.
        columns: Length of a node's row.
        labels: Number of edge labels. Seen from its source, an edge with label l has the label
            l + labels.
    """

    def __init__(self, rounds: int, columns: int, labels: int) -> None:
        self.rounds, self.columns, self.labels = rounds, columns, labels
        self._table = graphs().Refinement(rounds)

    def size(self, number: int) -> int:
        """Returns the number of colours in a round."""
        return self._table.size(number)

    def add(
        self, rows: NDArray[np.float32], links: NDArray[np.int64], labels: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Adds a graph.

        Args:
            rows: float32 ``[N, columns]``; rows are equal if their bits are.
            links: int64 ``[E, 2]``, source and target of each edge.
            labels: int32 ``[E]``, from 0 to ``self.labels`` - 1.

        Returns:
            int32 ``[N]``, colours in the last round.

        Raises:
            ValueError: The shapes of the arrays do not match, or a label is out of range.
            IndexError: An edge has a node number that is out of range.
        """
        if rows.ndim != 2 or rows.shape[1] != self.columns:
            raise ValueError(f"expected rows of {self.columns} columns, got {rows.shape}")
        if len(labels) and not 0 <= labels.min() <= labels.max() < self.labels:
            raise ValueError(
                f"expected labels from 0 to {self.labels - 1}, got {labels.min()} to {labels.max()}"
            )
        return self._table.add(
            self._words(rows),
            np.ascontiguousarray(links, dtype=np.int64),
            np.ascontiguousarray(labels, dtype=np.int32),
            self.labels,
        )

    def merge(self, other: Refinement) -> NDArray[np.int32]:
        """Adds all colours of another refinement with the same rounds, columns and labels.

        Returns:
            int32 ``[other.size(rounds)]``: the number in this refinement of each colour that the
            other one has in the last round.

        Raises:
            ValueError: The other refinement has other rounds, columns or labels.
        """
        mine, its = self._described, other._described
        if mine != its:
            raise ValueError(f"expected (rounds, columns, labels) {mine}, got {its}")
        known = self._table.add_rows(self._words(other.rows()))
        for number in range(1, self.rounds + 1):
            known = self._table.add_foreign(number, *other._table.words(number, 0), known)
        return known

    def rows(self, first: int = 0) -> NDArray[np.float32]:
        """Returns the rows of the colours of round 0, float32 ``[size(0) - first, columns]``."""
        _, words = self._table.words(0, first)
        width = _words_a_row(self.columns)
        return words.view(np.float32).reshape(-1, 2 * width)[:, : self.columns]

    def round(self, number: int, first: int = 0) -> RefinedRound:
        """Returns the colours of a round from 1 on, starting with colour ``first``."""
        offsets, words = self._table.words(number, first)
        is_edge = np.ones(len(words), dtype=bool)
        is_edge[offsets[:-1]] = False
        edges = words[is_edge]
        return RefinedRound(
            own=words[offsets[:-1]].astype(np.int32),
            offsets=offsets - np.arange(len(offsets)),
            source=edges.astype(np.uint32).view(np.int32),
            label=(edges >> _COLOUR_BITS).astype(np.int32),
        )

    @property
    def _described(self) -> tuple[int, int, int]:
        return self.rounds, self.columns, self.labels

    def _words(self, rows: NDArray[np.float32]) -> NDArray[np.uint64]:
        """Returns rows as 64-bit words, padded with zeros."""
        padded = np.zeros((len(rows), 2 * _words_a_row(self.columns)), dtype=np.float32)
        padded[:, : self.columns] = rows
        return padded.view(np.uint64)

    def __getstate__(self) -> dict[str, Any]:
        table = self._table
        return {
            "described": self._described,
            "words": [table.words(number, 0) for number in range(self.rounds + 1)],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rounds, self.columns, self.labels = state["described"]
        self._table = graphs().Refinement(self.rounds)
        (_, rows), *rounds = state["words"]
        known = self._table.add_rows(rows.reshape(-1, _words_a_row(self.columns)))
        for number, (offsets, words) in enumerate(rounds, start=1):
            known = self._table.add_foreign(number, offsets, words, known)


def _words_a_row(columns: int) -> int:
    return (columns + 1) // 2
