"""Chooses the rewrites that are offered as actions, and describes them in arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import rules
from hlograph.transforms.sweeping import Sweep, sweeps_of

Candidate = Rewrite | Sweep
"""The rewrite or sweep that an action of ``RewriteEnv`` applies."""

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

PLACES_FEATURE = "log_places"
"""Feature after these, in environments with sweeps: the number of places, log2(1 + x) / 4."""

ROLES: tuple[str, ...] = ("instruction", "other", "gone")
"""Roles of a node in a candidate: the rewrite is applied to it, it is the second instruction of
the pair, or it is removed."""


def offered(
    found: Sequence[Rewrite],
    limit: int,
    *,
    predict: bool = False,
    sweeps: bool = False,
    excluded: Collection[str] = (),
) -> list[Candidate]:
    """Returns what a state offers: rewrites, then sweeps.

    Args:
        found: Rewrites, as ``Module.rewrites`` lists them.
        limit: Largest number of candidates to return.
        predict: See ``chosen``.
        sweeps: True to offer the sweeps of two places or more (``sweeps_of``), at most as many as
            half of the limit, those of the most places.
        excluded: Places that are not offered, nor sweeps that have them.

    Returns:
        The candidates; each kind in the order in which the rewrites were found.
    """
    allowed = [one for one in found if one.place not in excluded]
    if not sweeps:
        return list(chosen(allowed, limit, predict=predict))

    def may_run(sweep: Sweep) -> bool:
        return not any(one.place in excluded for one in (sweep, *sweep.rewrites))

    every = list(filter(may_run, sweeps_of(found)))
    most = set(sorted(every, key=lambda one: -len(one.rewrites))[: limit // 2])
    taken = [one for one in every if one in most]
    return [*chosen(allowed, limit - len(taken), predict=predict), *taken]


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


def feature_names(predict: bool, sweeps: bool = False) -> tuple[str, ...]:
    """Returns the names of the features.

    Args:
        predict: True if ``PREDICTED_FEATURE`` is among them.
        sweeps: True if ``PLACES_FEATURE`` is among them.
    """
    more = ((PREDICTED_FEATURE, predict), (PLACES_FEATURE, sweeps))
    return (*CANDIDATE_FEATURES, *(name for name, used in more if used))


def features(
    candidates: Sequence[Candidate], *, predict: bool = False, sweeps: bool = False
) -> NDArray[np.float32]:
    """Returns features of candidates, float32 ``[len(candidates), features]``."""
    rows = np.array(
        [
            (rules[c.rule].index, c.added, c.removed, c.flops, c.bytes_accessed)
            + ((c.seconds * 1e9,) if predict else ())
            + ((len(rewrites_of(c)),) if sweeps else ())
            for c in candidates
        ],
        dtype=np.float64,
    ).reshape(-1, len(feature_names(predict, sweeps)))
    rows[:, 1:] = np.sign(rows[:, 1:]) * np.log2(1 + np.abs(rows[:, 1:]))
    rows[:, 1:3] /= 4
    rows[:, 3 : 6 if predict else 5] /= 16
    if sweeps:
        rows[:, -1] /= 4
    return rows.astype(np.float32)


def rewrites_of(candidate: Candidate) -> tuple[Rewrite, ...]:
    """Returns the rewrites that a candidate makes, if each still applies at its turn."""
    return candidate.rewrites if isinstance(candidate, Sweep) else (candidate,)


def links(candidates: Sequence[Candidate], graph: HloGraph) -> NDArray[np.int64]:
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
        for one in rewrites_of(candidate):
            found.append((number, node_of[one.instruction], 0))
            if one.other is not None:
                found.append((number, node_of[one.other], 1))
            found += [(number, node_of[name], 2) for name in one.gone]
    return np.array(found, dtype=np.int64).reshape(-1, 3)
