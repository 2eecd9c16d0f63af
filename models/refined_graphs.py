"""Stores graphs of states, each distinct neighbourhood once.

The stored graph has every edge once, in the direction of data or control. Attention has
to run both ways (ProGraML, Cummins et al. 2021, arXiv:2003.10536, section 4: backward
edges, and operand positions, each matter), so a node sees its edges from both ends, those
that leave it under a label of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hlograph.graph import weighted_sums
from hlograph.graph.refinement import RefinedRound, Refinement, distinct
from hlograph.graph.weighted_sums import WeightedEntries
from models.encoder import StateStore
from models.graph_view import GraphArrays, GraphView

OPCODE = 1
"""Column of a node's row that has its opcode."""


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
        counts = np.concatenate([counts for _, counts in states])
        return cls(*map(torch.from_numpy, (offsets, place, counts)))

    def entries(self) -> WeightedEntries:
        """Returns the members as arrays, on the CPU."""
        return WeightedEntries(*(column.numpy() for column in self))

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
    """Differentiable torch function of the fused code: no array has a row for each entry."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, members: Members) -> Tensor:
        ctx.entries = members.entries()
        ctx.rows = len(values)
        given = values.detach().contiguous().numpy()
        return torch.from_numpy(weighted_sums.forward(given, ctx.entries, torch.get_num_threads()))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        result = weighted_sums.backward(
            gradient.contiguous().numpy(), ctx.entries, ctx.rows, torch.get_num_threads()
        )
        return torch.from_numpy(result), None


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

    @classmethod
    def of(cls, refined: RefinedRound) -> Round:
        """Returns a round as tensors, which share its memory."""
        return cls(*map(torch.from_numpy, refined))

    def to(self, device: torch.device) -> Round:
        """Returns the same round on another device."""
        return Round(*(column.to(device) for column in self))

    def rows(self) -> Tensor:
        """Returns the target colour of each edge, int64 [M], ascending."""
        rows = torch.arange(len(self.own), device=self.own.device)
        return rows.repeat_interleave(self.offsets.diff(), output_size=len(self.source))


class Block(NamedTuple):
    """Inputs for encoding some states, with each distinct neighbourhood once.

    Attributes:
        rows: float32 [C0, F], distinct nodes.
        rounds: A round for each layer.
        members: Which nodes each state has.
        colours: int64 [C], the last colours, ascending.
        opcodes: float32 [G, schema.opcodes], how many nodes of each opcode a state has.
    """

    rows: Tensor
    rounds: list[Round]
    members: Members
    colours: Tensor
    opcodes: Tensor

    def to(self, device: torch.device) -> Block:
        """Returns the same block on another device."""
        rounds = [part.to(device) for part in self.rounds]
        rows, members = self.rows.to(device), self.members.to(device)
        return Block(rows, rounds, members, self.colours.to(device), self.opcodes.to(device))


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
        self._opcodes = np.empty(0, np.int64)  # by last colour, with room for more

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
        self._set_opcodes(colours, graph.nodes[:, OPCODE])
        self._members.append(self.refinement.counted(colours))
        return colours

    def merge(self, other: RefinedGraphs, numbers: Sequence[int]) -> np.ndarray:
        """Adds graphs of another store; maps its last colours to those here, int32."""
        colours_here = self.refinement.merge(other.refinement)
        self._set_opcodes(colours_here, other._opcodes[: len(colours_here)])
        for number in numbers:
            colours, counts = other._members[number]
            order = np.argsort(colours_here[colours])
            self._members.append((colours_here[colours][order], counts[order]))
        return colours_here

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

    def new_nodes(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns how many distinct nodes each state has that those before it have not, int64."""
        is_seen = np.zeros(self.refinement.size(self.refinement.rounds), bool)
        new = np.empty(len(numbers), int)
        for place, number in enumerate(numbers):
            colours, _ = self._members[number]
            new[place] = len(colours) - np.count_nonzero(is_seen[colours])
            is_seen[colours] = True
        return new

    def members(self, first: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns each state's last colours, int32 ascending, and their counts, from `first` on."""
        return self._members[first:]

    def opcode_counts(self, states: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Counts nodes by opcode, float32 [len(states), schema.opcodes].

        Args:
            states: Last colours and their counts, as from `members`.
        """
        counted = np.empty((len(states), self.view.schema.opcodes), np.float32)
        for row, (colours, counts) in zip(counted, states, strict=True):
            row[:] = np.bincount(self._opcodes[colours], counts, len(row))
        return counted

    def _set_opcodes(self, colours: np.ndarray, opcodes: np.ndarray) -> None:
        """Keeps the opcodes of nodes of some of the last colours."""
        size = self.refinement.size(self.refinement.rounds)
        if size > len(self._opcodes):
            self._opcodes = np.resize(self._opcodes, 2 * size)
        self._opcodes[colours] = opcodes

    def block(self, numbers: Sequence[int], device: torch.device) -> Block:
        """Collects the inputs for encoding some states.

        Args:
            numbers: At least one state.
            device: Where to.
        """
        if not numbers:
            raise ValueError("a batch needs at least one graph, got none")
        states = [self._members[number] for number in numbers]
        refinement, last = self.refinement, self.refinement.rounds
        colours = np.concatenate([colours for colours, _ in states])
        chosen, place = distinct(colours, refinement.size(last))
        rounds: list[Round] = []
        wanted = chosen
        for number in range(last, 0, -1):
            refined, wanted = refinement.select(number, wanted, self._labels)
            rounds.insert(0, Round.of(refined))
        rows = torch.from_numpy(refinement.select_rows(wanted))
        members = Members.of(states, place)
        opcodes = torch.from_numpy(self.opcode_counts(states))
        return Block(rows, rounds, members, torch.from_numpy(chosen).long(), opcodes).to(device)

    def round(self, number: int, first: int = 0) -> Round:
        """Returns a round, from 1 on, with its colours from `first` on and their visible edges.

        Colours are told apart by edges from both ends. Where an encoder sees one end, some of
        them are the same to it: more to compute, but nothing else.
        """
        return Round.of(self.refinement.round(number, first, self._labels))

    @property
    def _labels(self) -> int:
        """Number of edge labels that the encoder sees; those of reverse edges are the highest."""
        return self.view.edge_directions * self.view.schema.edge_labels
