"""Chooses the decisions of tuning that are offered as actions, and describes them in arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from envs.settings import listed
from hlograph.errors import UnknownNameError
from hlograph.graph.hlo_graph import HloGraph
from hlograph.tuning.offers import Offer, offer_kinds

OFFER_FEATURES: tuple[str, ...] = ("kind", "share", "log_places", "saved")
"""Features of an offer. ``kind`` is the number of its kind in ``kind_numbers``; ``share`` is the
share of the predicted time that it is about; places are log2(1 + x) / 4; ``saved`` is the predicted
log ratio of rules, from -4 to 4."""

ROLES: tuple[str, ...] = ("touched",)
"""Role of a node in an offer: the decision is about it."""

_MOST_SAVED = 4.0


def kind_numbers(kinds: Sequence[str] | str | None = None) -> dict[str, int]:
    """Returns the numbers of kinds of offers.

    Args:
        kinds: Names of the kinds, in the order of their numbers, or one; None is ``offer_kinds()``.

    Raises:
        UnknownNameError: A name is not in ``offer_kinds()``.
    """
    known = offer_kinds()
    several = known if kinds is None else listed(kinds)
    for kind in several:
        if kind not in known:
            raise UnknownNameError.of("kind of decision", kind, known)
    return {kind: number for number, kind in enumerate(several)}


def chosen(found: Sequence[Offer], limit: int) -> list[Offer]:
    """Returns the offers about the most of the time, where there are more than actions.

    Rules and flags come first: there are few of them, and they are about the whole program.

    Args:
        found: All offers of a state.
        limit: Largest number of offers to return.

    Returns:
        The chosen offers, in the order in which they were found.
    """
    if len(found) <= limit:
        return list(found)

    def worth(place: int) -> tuple[bool, float]:
        offer = found[place]
        return bool(offer.knob) and not offer.knob.startswith("flags "), -offer.share

    return [found[place] for place in sorted(sorted(range(len(found)), key=worth)[:limit])]


def features(offered: Sequence[Offer], numbers: Mapping[str, int]) -> NDArray[np.float32]:
    """Returns features of offers.

    Args:
        offered: The offers.
        numbers: Numbers of their kinds.

    Returns:
        float32 ``[len(offered), len(OFFER_FEATURES)]``.
    """
    rows = [
        (numbers[one.kind], one.share, math.log2(1 + one.places) / 4, _log_ratio(one.saved))
        for one in offered
    ]
    return np.array(rows, np.float32).reshape(-1, len(OFFER_FEATURES))


def _log_ratio(saved: float) -> float:
    """Returns the logarithm of the time before over that after, of a share that is saved."""
    left = max(1.0 - saved, math.exp(-_MOST_SAVED))
    return max(-math.log(left), -_MOST_SAVED)


def links(offered: Sequence[Offer], graph: HloGraph) -> NDArray[np.int64]:
    """Returns the nodes that offers are about.

    Args:
        offered: The offers.
        graph: Graph of the optimized module, whose instructions have names.

    Returns:
        int64 ``[L, 3]``: offer, node, and index of the role in ``ROLES``.
    """
    node_of = {name: node for node, name in enumerate(graph.names()[: -graph.num_computations])}
    found = [
        (number, node_of[name], 0)
        for number, offer in enumerate(offered)
        for name in offer.touched
        if name in node_of  # an earlier decision may have taken it away
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)
