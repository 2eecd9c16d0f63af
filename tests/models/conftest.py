"""Small graphs for the tests of the models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from models.graph_view import GraphSchema

# Tensors of the tests are tiny, and test workers share the cores.
torch.set_num_threads(1)

SCHEMA = GraphSchema(
    node_types=3,
    opcodes=6,
    element_types=4,
    edge_types=2,
    node_features=5,
    neighbour_features=frozenset({1, 4}),
)


@dataclass
class ArrayGraph:
    """A graph as plain arrays, in the shapes of `models.graph_view.GraphArrays`."""

    nodes: np.ndarray
    edges: np.ndarray | None
    edge_links: np.ndarray | None


@pytest.fixture
def schema() -> GraphSchema:
    """The vocabularies of the graphs of `random_graph`."""
    return SCHEMA


@pytest.fixture
def random_graph() -> Callable[..., ArrayGraph]:
    """A function that makes a graph of given size from a seed."""

    def make(nodes: int, edges: int, seed: int) -> ArrayGraph:
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, (SCHEMA.node_types, SCHEMA.opcodes, SCHEMA.element_types), (nodes, 3))
        features = rng.normal(size=(nodes, SCHEMA.node_features))
        columns = rng.integers(0, (SCHEMA.edge_types, 20), (edges, 2))
        return ArrayGraph(
            nodes=np.concatenate([ids, features], axis=1).astype(np.float32),
            edges=columns.astype(np.float32),
            edge_links=rng.integers(0, nodes, (edges, 2)),
        )

    return make


@pytest.fixture
def opcode_graph() -> Callable[..., ArrayGraph]:
    """A function that makes a graph of opcodes and links; operand positions count up."""

    def make(opcodes: Sequence[int], links: Sequence[tuple[int, int]]) -> ArrayGraph:
        nodes = np.zeros((len(opcodes), 3 + SCHEMA.node_features), np.float32)
        nodes[:, 1] = opcodes
        seen: dict[int, int] = {}
        edges = np.zeros((len(links), 2), np.float32)
        for row, (_, target) in enumerate(links):
            edges[row, 1] = seen.get(target, 0)
            seen[target] = seen.get(target, 0) + 1
        return ArrayGraph(nodes, edges, np.array(links, np.int64).reshape(-1, 2))

    return make
