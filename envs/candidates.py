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

ROLES: tuple[str, ...] = ("instruction", "other", "gone")
"""Roles of a node in a candidate: the rewrite is applied to it, it is the second instruction of
the pair, or it is removed."""


def chosen(found: Sequence[Rewrite], limit: int) -> list[Rewrite]:
    """Returns the rewrites that are offered, where more apply than there are actions.

    Rules take turns, so that a rule with many places does not hide the others: first the best
    rewrite of each rule, then the second best of each, and so on. The best rewrites of one rule
    are those that leave the fewest instructions, then the fewest bytes to be read and written,
    then those found first.

    Args:
        found: Rewrites, as ``Module.rewrites`` lists them.
        limit: Largest number of rewrites to return.

    Returns:
        The chosen rewrites, in the order in which they were found.
    """
    if len(found) <= limit:
        return list(found)
    turns: list[tuple[int, int]] = []
    taken: dict[str, int] = {}
    for place in sorted(
        range(len(found)), key=lambda i: (found[i].op_count, found[i].bytes_accessed, i)
    ):
        turn = taken[found[place].rule] = taken.get(found[place].rule, -1) + 1
        turns.append((turn, place))
    # Sorting is stable: in each turn, what leaves the fewest instructions goes first.
    kept = sorted(place for _, place in sorted(turns, key=lambda pair: pair[0])[:limit])
    return [found[place] for place in kept]


def features(candidates: Sequence[Rewrite]) -> NDArray[np.float32]:
    """Returns features of candidates, float32 ``[len(candidates), len(CANDIDATE_FEATURES)]``."""
    rows = np.array(
        [(rules[c.rule].index, c.added, c.removed, c.flops, c.bytes_accessed) for c in candidates],
        dtype=np.float64,
    ).reshape(-1, len(CANDIDATE_FEATURES))
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
