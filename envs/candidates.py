"""The rewrites that a module's state offers, as actions and as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.transforms.rewriting import Rewrite, rules

CANDIDATE_FEATURES: tuple[str, ...] = (
    "rule",
    "log_added",
    "log_removed",
    "log_flops",
    "log_bytes",
)
"""Columns of what is observed of a candidate. ``rule`` is a number of ``hlograph.rules``; added
and removed instructions are log2(1 + x) / 4, changes of flops and bytes
sign(x) * log2(1 + |x|) / 16."""

ROLES: tuple[str, ...] = ("instruction", "other", "gone")
"""How a candidate is tied to a node of the graph: it is applied there, the node is the second of
the pair, or is removed."""


def chosen(found: Sequence[Rewrite], limit: int) -> list[Rewrite]:
    """Those of the rewrites that are offered where there are more than actions.

    Every rule has its turn, so that none with many places hides the others: first the best of each
    rule, then the second best of each, and so on. Of one rule those are best that leave the fewest
    instructions, then the fewest bytes to be read and written, then those found first.

    Args:
        found: Rewrites, as ``Module.rewrites`` lists them.
        limit: How many are offered at most.

    Returns:
        Them, in the order in which they were found.
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
    """What is observed of candidates: float32 ``[len(candidates), len(CANDIDATE_FEATURES)]``."""
    rows = np.array(
        [(rules[c.rule].index, c.added, c.removed, c.flops, c.bytes_accessed) for c in candidates],
        dtype=np.float64,
    ).reshape(-1, len(CANDIDATE_FEATURES))
    rows[:, 1:] = np.sign(rows[:, 1:]) * np.log2(1 + np.abs(rows[:, 1:]))
    rows[:, 1:3] /= 4
    rows[:, 3:] /= 16
    return rows.astype(np.float32)


def links(candidates: Sequence[Rewrite], graph: HloGraph) -> NDArray[np.int64]:
    """How candidates are tied to the graph.

    Args:
        candidates: The candidates.
        graph: The graph of the module, whose instructions have names.

    Returns:
        int64 ``[L, 3]``: candidate, node, number of the role in ``ROLES``.
    """
    node_of = {name: node for node, name in enumerate(graph.names()[: -graph.num_computations])}
    found: list[tuple[int, int, int]] = []
    for number, candidate in enumerate(candidates):
        found.append((number, node_of[candidate.instruction], 0))
        if candidate.other is not None:
            found.append((number, node_of[candidate.other], 1))
        found += [(number, node_of[name], 2) for name in candidate.gone]
    return np.array(found, dtype=np.int64).reshape(-1, 3)
