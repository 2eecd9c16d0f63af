"""Colour refinement: finds the nodes of many graphs whose neighbourhoods of radius r are equal.

A network that passes messages for r rounds computes the same vector for any two nodes whose
neighbourhoods of radius r are equal (Xu et al. 2019, arXiv:1810.00826; Morris et al. 2019,
arXiv:1810.02244). Graphs before and after a pass have nearly the same neighbourhoods, and so have
the layers of a deep model. Many graphs thus have far fewer distinct neighbourhoods than nodes. A
computation on the distinct ones gives the same numbers with a fraction of the work (exact
compression, Bollen et al. 2023, arXiv:2304.14793).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

if TYPE_CHECKING:
    from hlograph import _graphs

_Words = tuple[NDArray[np.int64], NDArray[np.uint64]]  # offsets, and the words between them


class RefinedRound(NamedTuple):
    """Definitions of the colours of one round by colours of the round before.

    Attributes:
        own: int64 ``[C]``, colour of the node itself in the round before.
        offsets: int64 ``[C + 1]``; colour c has the neighbours ``offsets[c]`` to
            ``offsets[c + 1]``.
        source: int32 ``[M]``, colour of a neighbour in the round before.
        label: int32 ``[M]``, label of the edge to the neighbour.
    """

    own: NDArray[np.int64]
    offsets: NDArray[np.int64]
    source: NDArray[np.int32]
    label: NDArray[np.int32]


class Refinement:
    """Numbers the distinct neighbourhoods of the nodes of all graphs that are added.

    In round 0, nodes with equal rows have the same colour. In round r, two nodes have the same
    colour if they had the same one in round r - 1 and if their edges, incoming and outgoing, have
    equal labels and neighbours of equal colours. Colours are compared by their definitions, not
    only by a hash. In each round they are numbered from 0 in the order of their first occurrence,
    so adding graphs never changes a number. Not for several threads at a time: graphs are added
    without a lock.

    Args:
        rounds: Number of rounds, which is the radius of the neighbourhoods in edges.
        columns: Length of a node's row.
        labels: Number of edge labels. Seen from its source, an edge with label l has the label
            l + labels.
    """

    def __init__(self, rounds: int, columns: int, labels: int) -> None:
        self.rounds, self.columns, self.labels = rounds, columns, labels
        self._table = graphs().Refinement(rounds)
        self._words: Sequence[_Words] | None = None  # what the table is still to be made of

    @property
    def table(self) -> _graphs.Refinement:
        """The table of the extension."""
        words = self._words
        if words is not None:
            table = graphs().Refinement(self.rounds)
            self._add_words(table, words)
            self._table, self._words = table, None
        return self._table

    def size(self, number: int) -> int:
        """Returns the number of colours in a round."""
        return self.table.size(number)

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
        return self.table.add(
            np.ascontiguousarray(rows, dtype=np.float32),
            np.asarray(links, dtype=np.int64),
            np.ascontiguousarray(labels, dtype=np.int32),
            self.labels,
        )

    def counted(self, colours: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Returns the distinct ones of a graph's colours in the last round, and their counts.

        Args:
            colours: Result of ``add``.

        Returns:
            int32, ascending, and float32 of the same length.

        Raises:
            IndexError: There is no such colour.
        """
        return self.table.count(colours)

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
        return self._add_words(self.table, other._all_words())

    def rows(self, first: int = 0) -> NDArray[np.float32]:
        """Returns the rows of the colours of round 0, float32 ``[size(0) - first, columns]``."""
        _, words = self.table.words(0, first)
        width = _words_a_row(self.columns)
        return words.view(np.float32).reshape(-1, 2 * width)[:, : self.columns]

    def round(self, number: int, first: int = 0, labels: int | None = None) -> RefinedRound:
        """Returns the colours of a round from 1 on, starting with colour ``first``.

        Args:
            number: The round.
            first: The first colour.
            labels: Edges with this label or a higher one are left out; None keeps all edges.
        """
        return RefinedRound(*self.table.round(number, first, self._limit(labels)))

    def select(
        self, number: int, chosen: NDArray[np.int32], labels: int | None = None
    ) -> tuple[RefinedRound, NDArray[np.int32]]:
        """Returns some colours of a round from 1 on, and what they are made of.

        Args:
            number: The round.
            chosen: int32 ``[C]``, the colours.
            labels: As for ``round``.

        Returns:
            The colours, whose ``own`` and ``source`` are places in the second result: the colours
            of the round before that they are made of, int32, ascending.

        Raises:
            IndexError: There is no such colour.
        """
        refined, before = self.table.select(number, chosen, self._limit(labels))
        return RefinedRound(*refined), before

    def select_rows(self, chosen: NDArray[np.int32]) -> NDArray[np.float32]:
        """Returns the rows of some colours of round 0, float32 ``[len(chosen), columns]``.

        Raises:
            IndexError: There is no such colour.
        """
        words = self.table.select_rows(chosen, _words_a_row(self.columns))
        return words.view(np.float32)[:, : self.columns]

    def _limit(self, labels: int | None) -> int:
        return 2 * self.labels if labels is None else labels

    def _all_words(self) -> Sequence[_Words]:
        """Returns what defines the colours of each round."""
        words = self._words
        if words is not None:
            return words
        return [self._table.words(number, 0) for number in range(self.rounds + 1)]

    def _add_words(self, table: _graphs.Refinement, words: Sequence[_Words]) -> NDArray[np.int32]:
        """Adds colours to a table; returns their numbers there in the last round."""
        (_, rows), *rounds = words
        numbers = table.add_rows(rows.reshape(-1, _words_a_row(self.columns)))
        for number, (offsets, each) in enumerate(rounds, start=1):
            numbers = table.add_foreign(number, offsets, each, numbers)
        return numbers

    @property
    def _described(self) -> tuple[int, int, int]:
        return self.rounds, self.columns, self.labels

    def __getstate__(self) -> dict[str, Any]:
        return {"described": self._described, "words": self._all_words()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # What comes from a worker is merged, and most of it needs no table for that.
        self.rounds, self.columns, self.labels = state["described"]
        self._table, self._words = graphs().Refinement(self.rounds), state["words"]


def _words_a_row(columns: int) -> int:
    return (columns + 1) // 2


def distinct(numbers: NDArray[np.int32], limit: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns the distinct ones of numbers below a limit, and the place of each among them.

    The same as ``numpy.unique`` with ``return_inverse``, in linear time.

    Args:
        numbers: int32 ``[N]``, from 0 to ``limit`` - 1.
        limit: The limit.

    Returns:
        int32, ascending; int32 ``[N]``.

    Raises:
        IndexError: A number is negative, or not below the limit.
    """
    return graphs().distinct(numbers, limit)
