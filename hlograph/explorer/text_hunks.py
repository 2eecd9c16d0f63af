"""The text diff of two states of a module: the lines that changed, and some around them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from hlograph.explorer.instructions import Instructions
from hlograph.explorer.matching import NONE, Matching
from hlograph.explorer.regions import Region

Line = tuple[str, int, int]
"""A sign (``-``, ``+`` or a space), and an instruction's numbers before and after, or ``NONE``."""

_CONTEXT = 2


def hunks_of(
    first: Instructions, second: Instructions, found: Matching, regions: list[Region]
) -> list[tuple[str, list[Line]]]:
    """Returns pieces of the text diff, each with the name of its computation.

    They follow the order of the second state. What the first state alone has stands where it was
    between instructions of both.

    Args:
        first: The state before.
        second: The state after.
        found: Their instructions by partner.
        regions: The changes to show.
    """
    shown = _Shown(found, regions)
    hunks: list[tuple[str, list[Line]]] = []
    for computation, lines in _lines(first, second, found):
        hunks += [(computation, part) for part in _pieces(lines, shown)]
    return hunks


class _Shown:
    """The changes that regions hold."""

    def __init__(self, found: Matching, regions: list[Region]) -> None:
        self._mine = {one for region in regions for one in region.before}
        self._theirs = {one for region in regions for one in region.after}

    def has(self, line: Line) -> bool:
        """Returns True if a line is a change that is to be shown."""
        sign, before, after = line
        return (sign == "-" and before in self._mine) or (sign == "+" and after in self._theirs)


def _lines(
    first: Instructions, second: Instructions, found: Matching
) -> Iterator[tuple[str, list[Line]]]:
    """Yields the lines of each computation of either state that has a change."""
    mine, theirs = _by_computation(first), _by_computation(second)
    for computation in dict.fromkeys([*theirs, *mine]):
        before, after = mine.get(computation, []), theirs.get(computation, [])
        lines = list(_merged(first, second, found, before, after))
        if any(sign != " " for sign, _, _ in lines):
            yield computation, lines


def _merged(
    first: Instructions, second: Instructions, found: Matching, before: list[int], after: list[int]
) -> Iterator[Line]:
    place = {number: index for index, number in enumerate(before)}
    gone = [
        (index, number)
        for index, number in enumerate(before)
        if _moved_to(first, second, found, number)
    ]
    gone.reverse()
    for number in after:
        partner = found.before[number]
        if partner not in place:
            yield "+", NONE, number
            continue
        while gone and gone[-1][0] < place[partner]:
            yield "-", gone.pop()[1], NONE
        if number in found.changed:
            yield "-", partner, NONE
            yield "+", NONE, number
        else:
            yield " ", partner, number
    for _, number in reversed(gone):
        yield "-", number, NONE


def _moved_to(first: Instructions, second: Instructions, found: Matching, number: int) -> bool:
    """Returns True if an instruction is gone, or now in another computation."""
    partner = found.after[number]
    return partner == NONE or second.computations[partner] != first.computations[number]


def _pieces(lines: list[Line], shown: _Shown) -> Iterator[list[Line]]:
    """Yields runs of lines that are near a change."""
    near = [False] * len(lines)
    for index, line in enumerate(lines):
        if shown.has(line):
            for other in range(max(index - _CONTEXT, 0), min(index + _CONTEXT + 1, len(lines))):
                near[other] = True
    piece: list[Line] = []
    for line, kept in zip(lines, near, strict=True):
        if kept:
            piece.append(line)
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _by_computation(state: Instructions) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for number, computation in enumerate(state.computations):
        found[computation].append(number)
    return found
