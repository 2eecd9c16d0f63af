"""Stores graphs of states, each distinct neighbourhood once.

The stored graph has every edge once, in the direction of data or control. Attention has
to run both ways (ProGraML, Cummins et al. 2021, arXiv:2003.10536, section 4: backward
edges, and operand positions, each matter), so a node sees its edges from both ends, those
that leave it under a label of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hlograph.kernels.refinement import Refinement
from models.encoder import StateStore
from models.graph_view import GraphArrays, GraphView


class Round(NamedTuple):
    """One round of message passing, from colours of the round before to those of this one.

    Attributes:
        own: int64 [C], a colour's own place in the round before.
        offsets: int64 [C + 1], where its edges begin and end.
        source: int32 [M], an edge's other end, a place in the round before.
        label: int32 [M], below 2 * schema.edge_labels.
    """

    own: Tensor
    offsets: Tensor
    source: Tensor
    label: Tensor

    def to(self, device: torch.device) -> Round:
        """Returns the same round on another device."""
        return Round(*(column.to(device) for column in self))

    def rows(self) -> Tensor:
        """Returns the target colour of each edge, int64 [M], ascending."""
        rows = torch.arange(len(self.own), device=self.own.device)
        return rows.repeat_interleave(self.offsets.diff(), output_size=len(self.source))

    def labelled_below(self, limit: int) -> Round:
        """Returns the same colours with only the edges whose label is below a limit."""
        is_kept = self.label < limit
        kept = torch.nn.functional.pad(is_kept.cumsum(0), (1, 0))
        return Round(self.own, kept[self.offsets], self.source[is_kept], self.label[is_kept])


class Members(NamedTuple):
    """Number of nodes of each state with each of the last colours.

    Attributes:
        state: int64 [P], ascending.
        place: int64 [P], of a colour among the last ones.
        multiplicity: float32 [P], how many nodes of the state have that colour.
        num_states: Number of states.
    """

    state: Tensor
    place: Tensor
    multiplicity: Tensor
    num_states: int

    def sum(self, values: Tensor) -> Tensor:
        """Sums over the nodes of each state: [C, W] by colour to float32 [num_states, W]."""
        if values.device.type != "cpu":
            rows = self.multiplicity.unsqueeze(1) * values.index_select(0, self.place)
            return values.new_zeros(self.num_states, values.shape[1]).index_add(0, self.state, rows)
        # A row for each pair of state and colour would take most of the update's memory.
        pairs = torch.stack([self.state, self.place])
        shape = (self.num_states, len(values))
        matrix = torch.sparse_coo_tensor(
            pairs, self.multiplicity, shape, is_coalesced=True, check_invariants=False
        )
        return torch.sparse.mm(matrix, values)


class Block(NamedTuple):
    """Inputs for encoding some states, with each distinct neighbourhood once.

    Attributes:
        rows: float32 [C0, F], distinct nodes.
        rounds: A round for each layer.
        members: Which nodes each state has.
        colours: int64 [C], the last colours, ascending.
    """

    rows: Tensor
    rounds: list[Round]
    members: Members
    colours: Tensor


class RefinedGraphs(StateStore):
    """Store of graphs, refined as far as the encoder's layers can distinguish nodes.

    Args:
        view: The parts of graphs that the encoder sees.
        rounds: The encoder's layers of message passing.
    """

    def __init__(self, view: GraphView, rounds: int) -> None:
        self.view = view
        self.refinement = Refinement(rounds, len(view.columns), view.schema.edge_labels)
        self._members: list[tuple[np.ndarray, np.ndarray]] = []
        self._tables: dict[torch.device, Tables] = {}

    def __len__(self) -> int:
        return len(self._members)

    def add(self, items: Sequence[GraphArrays]) -> None:
        """Adds graphs.

        Raises:
            ValueError: A graph's arrays do not fit the schema.
        """
        for graph in items:
            self.add_graph(graph)

    def add_graph(self, graph: GraphArrays) -> np.ndarray:
        """Adds a graph and returns the last colour of each of its nodes, int32 [N].

        Raises:
            ValueError: The graph's arrays do not fit the schema.
        """
        links, labels = self.view.labelled_edges(graph)
        colours = self.refinement.add(self.view.rows(graph), links, labels)
        self._members.append(np.unique(colours, return_counts=True))
        return colours

    def merge(self, other: RefinedGraphs, numbers: Sequence[int]) -> None:
        """Adds graphs of another store."""
        self.merge_graphs(other, numbers)

    def merge_graphs(self, other: RefinedGraphs, numbers: Sequence[int]) -> np.ndarray:
        """Adds graphs of another store; maps its last colours to those here, int32."""
        known = self.refinement.merge(other.refinement)
        for number in numbers:
            colours, counts = other._members[number]
            order = np.argsort(known[colours])
            self._members.append((known[colours][order], counts[order]))
        return known

    def groups(self, numbers: Sequence[int], budget: int) -> list[tuple[list[int], int]]:
        """Splits states into groups that have no more distinct nodes than the budget.

        Memory and time of a graph encoder follow the number of nodes, not of graphs: 64 graphs
        may be 5,000 nodes or 500,000, and 500,000 may be 20,000 distinct ones.
        """
        if budget <= 0:
            raise ValueError(f"the node budget has to be positive, got {budget}")
        groups: list[list[int]] = []
        nodes: list[int] = []
        # The last group that has a colour; -1 for colours that no group has.
        group_of = np.full(self.refinement.size(self.refinement.rounds), -1)
        for number in numbers:
            colours, _ = self._members[number]
            new = np.count_nonzero(group_of[colours] < len(groups) - 1)
            if not groups or nodes[-1] + new > budget:
                groups.append([])
                nodes.append(0)
                new = len(colours)
            group_of[colours] = len(groups) - 1
            groups[-1].append(number)
            nodes[-1] += int(new)
        return list(zip(groups, nodes, strict=True))

    def members(self, first: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns each state's last colours, int32 ascending, and their counts, from `first` on."""
        return self._members[first:]

    def block(self, numbers: Sequence[int], device: torch.device) -> Block:
        """Collects the inputs for encoding some states.

        Args:
            numbers: At least one state.
            device: Where to; the store's tables are moved there once, however often asked.
        """
        if not numbers:
            raise ValueError("a batch needs at least one graph, got none")
        tables = self._tables_on(device)
        members = [self._members[number] for number in numbers]
        lengths = [len(colours) for colours, _ in members]
        colours = torch.from_numpy(np.concatenate([colours for colours, _ in members])).to(device)
        counts = torch.from_numpy(np.concatenate([counts for _, counts in members])).to(device)
        state = torch.arange(len(numbers)).repeat_interleave(torch.tensor(lengths)).to(device)
        chosen, place = _numbered(colours, self.refinement.size(self.refinement.rounds))
        rounds: list[Round] = []
        wanted = chosen
        for number in range(self.refinement.rounds, 0, -1):
            part, wanted = _selected(
                tables.rounds[number - 1], wanted, self.refinement.size(number - 1)
            )
            rounds.insert(0, part)
        return Block(
            tables.rows[wanted],
            rounds,
            Members(state, place[colours], counts.float(), len(numbers)),
            chosen,
        )

    def round(self, number: int, first: int = 0) -> Round:
        """Returns a round, from 1 on, with its colours from `first` on and their visible edges.

        Colours are told apart by edges from both ends. Where an encoder sees one end, some of
        them are the same to it: more to compute, but nothing else.
        """
        part = _round_of(self.refinement, number, first)
        if self.view.edge_directions == 1:
            return part.labelled_below(self.view.schema.edge_labels)
        return part

    def prepare(self, device: torch.device) -> None:
        """Moves the tables to a device."""
        self._tables_on(device)

    def _tables_on(self, device: torch.device) -> Tables:
        known = self._tables.get(device)
        size = [self.refinement.size(number) for number in range(self.refinement.rounds + 1)]
        if known is None or known.size != size:
            known = self._tables[device] = Tables.of(self).to(device)
        return known

    def __getstate__(self) -> Mapping[str, object]:
        return vars(self) | {"_tables": {}}


@dataclass(frozen=True)
class Tables:
    """Holds all colours of a refinement as tensors."""

    rows: Tensor
    """float32 [C0, F]"""
    rounds: list[Round]

    @classmethod
    def of(cls, graphs: RefinedGraphs) -> Tables:
        """Returns the present tables of a store, on the CPU."""
        refinement = graphs.refinement
        return cls(
            torch.from_numpy(refinement.rows()),
            [graphs.round(number) for number in range(1, refinement.rounds + 1)],
        )

    @property
    def size(self) -> list[int]:
        """Number of colours in each round."""
        return [len(self.rows), *(len(part.own) for part in self.rounds)]

    def to(self, device: torch.device) -> Tables:
        """Returns the same tables on another device."""
        return Tables(self.rows.to(device), [part.to(device) for part in self.rounds])


def _round_of(refinement: Refinement, number: int, first: int) -> Round:
    """Returns the colours of a round as tensors, from `first` on."""
    refined = refinement.round(number, first)
    return Round(
        own=torch.from_numpy(refined.own).long(),
        offsets=torch.from_numpy(refined.offsets),
        source=torch.from_numpy(refined.source),
        label=torch.from_numpy(refined.label),
    )


def _numbered(colours: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Returns the distinct colours, ascending, and by colour its index among them."""
    is_there = torch.zeros(size, dtype=torch.bool, device=colours.device)
    is_there[colours.long()] = True
    return is_there.nonzero().squeeze(1), is_there.cumsum(0) - 1


def _selected(table: Round, chosen: Tensor, size_before: int) -> tuple[Round, Tensor]:
    """Selects colours of a round, and the colours of the round before that they need."""
    begin = table.offsets[chosen]
    lengths = table.offsets[chosen + 1] - begin
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    edges = (begin - offsets[:-1]).repeat_interleave(lengths)
    edges += torch.arange(len(edges), device=edges.device)
    own, source = table.own[chosen], table.source[edges]
    wanted, place = _numbered(torch.cat([own, source.long()]), size_before)
    return Round(place[own], offsets, place[source].int(), table.label[edges]), wanted
