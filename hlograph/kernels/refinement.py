"""Colour refinement: which nodes of many graphs look alike, as far as r edges away.

A network that passes messages for r rounds gives the same vector to any two nodes whose
neighbourhoods of radius r are the same (Xu et al. 2019, arXiv:1810.00826; Morris et al. 2019,
arXiv:1810.02244). Graphs before and after a pass share nearly all neighbourhoods, and the layers
of a deep model share theirs, so over many graphs there are far fewer distinct ones than nodes.
Whoever computes on the distinct ones gets the same numbers for a fraction of the work (exact
compression, Bollen et al. 2023, arXiv:2304.14793).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

_COLOUR_BITS = np.uint64(32)


class RefinedRound(NamedTuple):
    """The colours of one round, by what they are made of.

    Attributes:
        own: int32 ``[C]``, colour of the node itself in the round before.
        offsets: int64 ``[C + 1]``; colour c has the neighbours ``offsets[c]`` to
            ``offsets[c + 1]``.
        source: int32 ``[M]``, colour of a neighbour in the round before.
        label: int32 ``[M]``, label of the edge to it.
    """

    own: NDArray[np.int32]
    offsets: NDArray[np.int64]
    source: NDArray[np.int32]
    label: NDArray[np.int32]


class Refinement:
    """Numbers the distinct neighbourhoods of the nodes of all graphs that are added.

    In round 0 nodes with equal rows have one colour; in round r, nodes that had one colour in
    round r - 1 and whose edges, seen from both ends, are alike in label and in the colour that
    they lead to. Colours are compared by what they are made of, not by a hash alone. They are
    numbered from 0, by round, as they first turn up, so additions never change a number.

    Args:
        rounds: How far to look, in edges.
        columns: Length of a node's row.
        labels: Number of edge labels; an edge of label l has l + labels seen from its source.
    """

    def __init__(self, rounds: int, columns: int, labels: int) -> None:
        self.rounds, self.columns, self.labels = rounds, columns, labels
        self._table = graphs().Refinement(rounds)

    def size(self, number: int) -> int:
        """Number of colours in a round."""
        return self._table.size(number)

    def add(
        self, rows: NDArray[np.float32], links: NDArray[np.int64], labels: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Adds a graph.

        Args:
            rows: float32 ``[N, columns]``; equal if their bits are.
            links: int64 ``[E, 2]``, source and target of each edge.
            labels: int32 ``[E]``, from 0 to ``self.labels`` - 1.

        Returns:
            int32 ``[N]``, colours in the last round.

        Raises:
            ValueError: The arrays do not fit each other, or ``columns``.
            IndexError: An edge leads to a node that is not there.
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
        """Adds all colours of another refinement with as many rounds, columns and labels.

        Returns:
            int32 ``[other.size(rounds)]``: the number here of each of its last colours.
        """
        mine, its = self._described, other._described
        if mine != its:
            raise ValueError(f"expected (rounds, columns, labels) {mine}, got {its}")
        known = self._table.add_rows(self._words(other.rows()))
        for number in range(1, self.rounds + 1):
            known = self._table.add_foreign(number, *other._table.words(number, 0), known)
        return known

    def rows(self, first: int = 0) -> NDArray[np.float32]:
        """Rows of the colours of round 0, float32 ``[size(0) - first, columns]``."""
        _, words = self._table.words(0, first)
        width = _words_a_row(self.columns)
        return words.view(np.float32).reshape(-1, 2 * width)[:, : self.columns]

    def round(self, number: int, first: int = 0) -> RefinedRound:
        """Colours of a round from 1 on, beginning with the colour ``first``."""
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
        """Rows as 64-bit words, the last one filled up with zeros."""
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
