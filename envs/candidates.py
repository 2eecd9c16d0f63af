"""Chooses the rewrites that are offered as actions, and describes them in arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import rules

CANDIDATE_FEATURES: tuple[str, ...] = (
    "rule",
    "log_added",
    "log_removed",
    "log_flops",
    "log_bytes",
)
"""Features of a candidate. ``rule`` is a number of ``hlograph.rules``; added and removed
instructions are log2(1 + x) / 4, changes of flops and bytes sign(x) * log2(1 + |x|) / 16."""

PREDICTED_FEATURE = "log_nanoseconds"
"""Feature after these, in environments that predict: ``Rewrite.seconds`` in nanoseconds, scaled as
the changes of flops are."""

ROLES: tuple[str, ...] = ("instruction", "other", "gone")
"""Roles of a node in a candidate: the rewrite is applied to it, it is the second instruction of
the pair, or it is removed."""


def chosen(found: Sequence[Rewrite], limit: int, *, predict: bool = False) -> list[Rewrite]:
    """Returns the rewrites that are offered, where more apply than there are actions.

    Rules take turns, so that a rule with many places does not hide the others: first the best
    rewrite of each rule, then the second best of each, and so on. The best rewrites of one rule
    are those that leave the fewest instructions, then the fewest bytes to be read and written,
    then those found first. With predictions, they are those that save the most seconds.

    Args:
        found: Rewrites, as ``Module.rewrites`` lists them.
        limit: Largest number of rewrites to return.
        predict: True to compare rewrites of one rule, and rules, by their predicted seconds.

    Returns:
        The chosen rewrites, in the order in which they were found.
    """
    if len(found) <= limit:
        return list(found)
    turns: list[tuple[int, int]] = []
    taken: dict[str, int] = {}
    worth = [
        (one.seconds if predict else one.op_count, one.bytes_accessed, place)
        for place, one in enumerate(found)
    ]
    for *_, place in sorted(worth):
        turn = taken[found[place].rule] = taken.get(found[place].rule, -1) + 1
        turns.append((turn, place))
    # Sorting is stable: in each turn, what is worth most goes first.
    kept = sorted(place for _, place in sorted(turns, key=lambda pair: pair[0])[:limit])
    return [found[place] for place in kept]


def feature_names(predict: bool) -> tuple[str, ...]:
    """Returns the names of the features, with ``PREDICTED_FEATURE`` if they predict."""
    return (*CANDIDATE_FEATURES, PREDICTED_FEATURE) if predict else CANDIDATE_FEATURES


def features(candidates: Sequence[Rewrite], *, predict: bool = False) -> NDArray[np.float32]:
    """Returns features of candidates, float32 ``[len(candidates), features]``."""
    rows = np.array(
        [
            (rules[c.rule].index, c.added, c.removed, c.flops, c.bytes_accessed)
            + ((c.seconds * 1e9,) if predict else ())
            for c in candidates
        ],
        dtype=np.float64,
    ).reshape(-1, len(feature_names(predict)))
    rows[:, 1:] = np.sign(rows[:, 1:]) * np.log2(1 + np.abs(rows[:, 1:]))
    rows[:, 1:3] /= 4
    rows[:, 3:] /= 16
    return rows.astype(np.float32)


def links(candidates: Sequence[Rewrite], graph: HloGraph) -> NDArray[np.int64]:
    """Returns the nodes that candidates touch.

    Args:
        candidates: The candidates.
        graph: Graph of the module, whose instructions have names.

    Returns:
        int64 ``[L, 3]``: candidate, node, and index of the role in ``ROLES``.
    """
    node_of = {name: node for node, name in enumerate(graph.names()[: -graph.num_computations])}
    found: list[tuple[int, int, int]] = []
    for number, candidate in enumerate(candidates):
        found.append((number, node_of[candidate.instruction], 0))
        if candidate.other is not None:
            found.append((number, node_of[candidate.other], 1))
        found += [(number, node_of[name], 2) for name in candidate.gone]
    return np.array(found, dtype=np.int64).reshape(-1, 3)
