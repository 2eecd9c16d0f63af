"""Observations of modules, and their spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hlograph.decisions.process import ActionTable
from hlograph.errors import UnknownNameError
from hlograph.graph.features import EDGE_FEATURES, NODE_FEATURES, GraphFeatures
from hlograph.graph.vocabulary import OPCODES

ObservationKind = Literal["graph", "op_counts"]

# Above 2**24 a float32 no longer counts by ones.
_MAX_COUNT = float(2**24)
# Categories go to about 140, operand positions to the largest tuple.
_MAX_FEATURE = 1e6

SeenGraph = tuple[spaces.GraphInstance, NDArray[np.float32]]
"""A graph, and instructions by opcode."""


class Observation(Protocol):
    """Interface that turns a module into an observation."""

    @property
    def space(self) -> spaces.Space[Any]:
        """The space that observations belong to."""
        ...

    def observe(self, graph: Callable[[], GraphFeatures], counts: NDArray[np.float32]) -> Any:
        """Returns the part that depends on the module only, to be kept while it does not change.

        Args:
            graph: Returns the module's graph as arrays, such as ``Module.features``.
            counts: Instructions by opcode, float32 ``[len(OPCODES)]``.
        """
        ...

    def compose(self, seen: Any, mask: NDArray[np.int8], *, share: bool) -> Any:
        """Returns the observation: the part of the module, and the action mask.

        Args:
            seen: Result of ``observe``.
            mask: Action mask, copied where it is part of the observation.
            share: True to return the arrays of ``seen`` instead of copies.
        """
        ...


def _counts_space() -> spaces.Box:
    return spaces.Box(0.0, _MAX_COUNT, (len(OPCODES),), np.float32)


class OpCountsObservation:
    """Observation of the paper: instructions by opcode, float32 ``[len(OPCODES)]``."""

    def __init__(self, num_actions: int) -> None:
        self.space = _counts_space()

    def observe(
        self, graph: Callable[[], GraphFeatures], counts: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Returns the counts."""
        del graph
        return counts

    def compose(
        self, seen: NDArray[np.float32], mask: NDArray[np.int8], *, share: bool
    ) -> NDArray[np.float32]:
        """Returns the counts. The mask is in info only."""
        return seen if share else seen.copy()


class GraphObservation:
    """Observation of the typed graph, the op counts and the action mask.

    It is a dict of ``graph`` (nodes float32 ``[N, len(NODE_FEATURES)]``, edges float32
    ``[E, len(EDGE_FEATURES)]``, edge_links int64 ``[E, 2]`` as source and target),
    ``op_counts`` (float32 ``[len(OPCODES)]``) and ``action_mask`` (int8
    ``[num_actions]``).
    """

    def __init__(self, num_actions: int) -> None:
        self.space = spaces.Dict(
            {
                "graph": spaces.Graph(
                    node_space=spaces.Box(
                        -_MAX_FEATURE, _MAX_FEATURE, (len(NODE_FEATURES),), np.float32
                    ),
                    edge_space=spaces.Box(
                        -_MAX_FEATURE, _MAX_FEATURE, (len(EDGE_FEATURES),), np.float32
                    ),
                ),
                "op_counts": _counts_space(),
                "action_mask": spaces.MultiBinary(num_actions),
            }
        )

    def observe(self, graph: Callable[[], GraphFeatures], counts: NDArray[np.float32]) -> SeenGraph:
        """Returns graph and counts."""
        nodes, edges, links = graph()
        return spaces.GraphInstance(nodes=nodes, edges=edges, edge_links=links), counts

    def compose(
        self,
        seen: SeenGraph,
        mask: NDArray[np.int8],
        *,
        share: bool,
    ) -> dict[str, Any]:
        """Returns the dict."""
        graph, counts = seen
        if not share:
            graph = spaces.GraphInstance(*(np.array(part, order="K") for part in graph))
            counts = counts.copy()
        return {"graph": graph, "op_counts": counts, "action_mask": mask.copy()}


OBSERVATIONS: dict[str, type[GraphObservation] | type[OpCountsObservation]] = {
    "graph": GraphObservation,
    "op_counts": OpCountsObservation,
}
"""Kinds of observation, by name."""


def observation_of_kind(kind: ObservationKind, num_actions: int) -> Observation:
    """Returns an observation.

    Args:
        kind: A name of ``OBSERVATIONS``.
        num_actions: Length of the action mask.

    Raises:
        UnknownNameError: There is no such kind.
    """
    if kind not in OBSERVATIONS:
        raise UnknownNameError.of("observation", kind, OBSERVATIONS)
    return OBSERVATIONS[kind](num_actions)


_MAX_NODES = 2**40
_MAX_ACTION_FEATURE = 1e3  # numbers of rules and kinds; logarithms stay below 70


class ActionsObservation:
    """Observation of the graph and of the actions that its state offers, with the nodes they touch.

    It is a dict of what ``GraphObservation`` shows, and of ``candidates`` (float32 ``[limit,
    width]``, 0 in the rows without an action) and ``candidate_links`` (int64 ``[L, 3]``: action,
    node of the graph, and index of the role). Source: the meta-graph of X-RLflow.

    Args:
        limit: Largest number of actions of a state, without stopping.
        width: Number of features of an action.
    """

    def __init__(self, limit: int, width: int) -> None:
        self._limit = limit
        self.space = spaces.Dict(
            {
                **GraphObservation(limit + 1).space.spaces,
                "candidates": spaces.Box(
                    -_MAX_ACTION_FEATURE, _MAX_ACTION_FEATURE, (limit, width), np.float32
                ),
                "candidate_links": spaces.Sequence(
                    spaces.Box(0, _MAX_NODES, (3,), np.int64), stack=True
                ),
            }
        )

    def compose(
        self, table: ActionTable, counts: NDArray[np.float32], mask: NDArray[np.int8]
    ) -> dict[str, Any]:
        """Returns the dict.

        Args:
            table: The graph and the actions; its arrays become part of the observation.
            counts: Instructions by opcode, float32 ``[len(OPCODES)]``; copied.
            mask: int8 ``[limit + 1]``; copied.
        """
        nodes, edges, links = table.graph
        rows = np.zeros((self._limit, table.features.shape[1]), np.float32)
        rows[: len(table.features)] = table.features
        return {
            "graph": spaces.GraphInstance(nodes=nodes, edges=edges, edge_links=links),
            "op_counts": counts.copy(),
            "action_mask": mask.copy(),
            "candidates": rows,
            "candidate_links": table.links,
        }
