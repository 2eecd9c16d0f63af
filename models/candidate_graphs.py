"""Stores graphs of states together with the candidates that are offered in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.graph_view import GraphArrays, GraphView
from models.refined_graphs import RefinedGraphs


class GraphAndCandidates(NamedTuple):
    """State of a rewriting environment.

    Attributes:
        graph: The graph.
        features: float32 [K, F], of each candidate; the first column is the number of its rule.
        links: int64 [L, 3], candidate, node of the graph, and role.
    """

    graph: GraphArrays
    features: np.ndarray
    links: np.ndarray


class Candidates(NamedTuple):
    """Candidates of several states, concatenated.

    Attributes:
        state: int64 [P], place of its state among those asked for, ascending.
        slot: int64 [P], number among the candidates of its state.
        features: float32 [P, F].
        linked: int64 [L], candidate that a link is of, a place in the rows above.
        colour: int64 [L], last colour of the node that it leads to.
        role: int64 [L].
    """

    state: Tensor
    slot: Tensor
    features: Tensor
    linked: Tensor
    colour: Tensor
    role: Tensor

    def to(self, device: torch.device) -> Candidates:
        """Returns the same candidates on another device."""
        return Candidates(*(column.to(device) for column in self))


class CandidateGraphs(RefinedGraphs):
    """Store of graphs that also holds the candidates of each.

    Args:
        view: The parts of graphs that the encoder sees.
        rounds: The encoder's layers of message passing.
    """

    def __init__(self, view: GraphView, rounds: int) -> None:
        super().__init__(view, rounds)
        self._features: list[np.ndarray] = []
        self._links: list[np.ndarray] = []

    def add(self, items: Sequence[GraphAndCandidates]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Adds states.

        Raises:
            ValueError: A graph's arrays do not fit the schema.
        """
        for item in items:
            colours = self.add_graph(item.graph)
            links = item.links.copy()
            links[:, 1] = colours[links[:, 1]]
            self._features.append(item.features)
            self._links.append(links)

    def merge(self, other: RefinedGraphs, numbers: Sequence[int]) -> None:
        """Adds states of another store of its kind."""
        assert isinstance(other, CandidateGraphs)
        known = self.merge_graphs(other, numbers)
        for number in numbers:
            links = other._links[number].copy()
            links[:, 1] = known[links[:, 1]]
            self._features.append(other._features[number])
            self._links.append(links)

    def candidates(self, numbers: Sequence[int]) -> Candidates:
        """Returns the candidates of some states, on the CPU."""
        features = [self._features[number] for number in numbers]
        sizes = np.array([len(rows) for rows in features])
        first = np.cumsum(sizes) - sizes
        links = [self._links[number] for number in numbers]
        lengths = [len(rows) for rows in links]
        all_links = torch.from_numpy(np.concatenate(links))
        state, slot = slots_of(features)
        return Candidates(
            state=state,
            slot=slot,
            features=torch.from_numpy(np.concatenate(features)),
            linked=all_links[:, 0] + torch.from_numpy(np.repeat(first, lengths)),
            colour=all_links[:, 1].contiguous(),
            role=all_links[:, 2],
        )


def slots_of(features: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Returns the places of candidates that are concatenated state by state.

    Args:
        features: The rows of the candidates of each state.

    Returns:
        int64 [P], number of its state; int64 [P], number among the candidates of its state.
    """
    sizes = np.array([len(rows) for rows in features])
    first = np.cumsum(sizes) - sizes
    state = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))
    return state, torch.from_numpy(np.arange(sizes.sum()) - np.repeat(first, sizes))
