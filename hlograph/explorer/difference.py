"""Finds what one step changed in a module: regions of a graph before and after, and a text diff."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hlograph.explorer.matching import NONE, Instructions, Matching, match
from hlograph.explorer.regions import Region, regions_of

Line = tuple[str, int, int]
"""A sign (``-``, ``+`` or a space), and an instruction's numbers before and after, or ``NONE``."""

_CONTEXT = 2


def hunks_of(
    first: Instructions, second: Instructions, matching: Matching, regions: list[Region]
) -> list[tuple[str, list[Line]]]:
    """Returns pieces of the text diff, each with the name of its computation.

    They follow the order of the second state. What the first state alone has stands where it was
    between instructions of both.

    Args:
        first: The state before.
        second: The state after.
        matching: Their instructions by partner.
        regions: The changes to show.
    """
    mine = {number for region in regions for number in region.before}
    theirs = {number for region in regions for number in region.after}

    def is_shown(line: Line) -> bool:
        sign, before, after = line
        return (sign == "-" and before in mine) or (sign == "+" and after in theirs)

    hunks: list[tuple[str, list[Line]]] = []
    for computation, lines in _lines(first, second, matching):
        hunks += [(computation, part) for part in _pieces(lines, is_shown)]
    return hunks


def _lines(
    first: Instructions, second: Instructions, matching: Matching
) -> Iterator[tuple[str, list[Line]]]:
    """Yields the lines of each computation of either state that has a change."""
    mine, theirs = _by_computation(first), _by_computation(second)
    for computation in dict.fromkeys([*theirs, *mine]):
        before, after = mine.get(computation, []), theirs.get(computation, [])
        lines = list(_merged(first, second, matching, before, after))
        if any(sign != " " for sign, _, _ in lines):
            yield computation, lines


def _merged(
    first: Instructions,
    second: Instructions,
    matching: Matching,
    before: list[int],
    after: list[int],
) -> Iterator[Line]:
    place = {number: index for index, number in enumerate(before)}
    gone = [
        (index, number)
        for index, number in enumerate(before)
        if _moved_to(first, second, matching, number)
    ]
    gone.reverse()
    for number in after:
        partner = matching.before[number]
        if partner not in place:
            yield "+", NONE, number
            continue
        while gone and gone[-1][0] < place[partner]:
            yield "-", gone.pop()[1], NONE
        if number in matching.changed:
            yield "-", partner, NONE
            yield "+", NONE, number
        else:
            yield " ", partner, number
    for _, number in reversed(gone):
        yield "-", number, NONE


def _moved_to(first: Instructions, second: Instructions, matching: Matching, number: int) -> bool:
    """Returns True if an instruction is gone, or now in another computation."""
    partner = matching.after[number]
    return partner == NONE or second.computations[partner] != first.computations[number]


def _pieces(lines: list[Line], is_shown: Callable[[Line], bool]) -> Iterator[list[Line]]:
    """Yields runs of lines that are near a change."""
    near = [False] * len(lines)
    for index, line in enumerate(lines):
        if is_shown(line):
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
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, computation in enumerate(state.computations):
        numbers[computation].append(number)
    return numbers


MOST_CHANGES = 600
"""Largest number of added, removed and changed instructions that one difference describes."""

_LONGEST = 400  # characters of a line; constants may have megabytes


@dataclass(frozen=True)
class ModuleDifference:
    """Holds what is different between two states of a module.

    Attributes:
        added: Number of instructions that only the second state has.
        removed: Number of instructions that only the first state has.
        modified: Number of instructions with other operands, another shape or other attributes.
        renamed: Number of instructions that have another name, or are in another computation.
        content: The instructions that differ and those around them, as JSON; see
            ``difference_of``.
    """

    added: int
    removed: int
    modified: int
    renamed: int
    content: dict[str, Any]

    def counts(self) -> dict[str, int]:
        """Returns the four numbers by name."""
        names = ("added", "removed", "modified", "renamed")
        return {name: getattr(self, name) for name in names}


def difference_of(first: Instructions, second: Instructions) -> ModuleDifference:
    """Compares two states of a module.

    The content has the keys ``before`` and ``after``: tables of instructions, each a dict with
    ``name``, ``computation``, ``opcode``, ``line``, ``mark`` (``added``, ``removed``, ``changed``,
    ``renamed`` or empty), ``match`` (its partner's number in the other table, or -1) and
    ``operands`` (numbers in the same table, as far as they are in it). ``regions`` are groups of
    such numbers that hang together. ``hunks`` are pieces of the text diff, whose lines are
    ``[sign, number before, number after]``. ``left_out`` counts changes that are not described,
    where there are more than ``MOST_CHANGES``.

    Args:
        first: The state before.
        second: The state after.
    """
    matching = match(first, second)
    added, removed, changed = matching.added, matching.removed, sorted(matching.changed)
    regions = regions_of(first, second, matching, MOST_CHANGES)
    hunks = hunks_of(first, second, matching, regions)
    tables = _Tables(first, second, matching, regions, hunks)
    described = sum(region.changes for region in regions)
    content = {
        "before": tables.before,
        "after": tables.after,
        "regions": [tables.region(region) for region in regions],
        "hunks": [tables.hunk(computation, lines) for computation, lines in hunks],
        "left_out": len(added) + len(removed) + len(changed) - described,
    }
    return ModuleDifference(len(added), len(removed), len(changed), len(matching.renamed), content)


class _Tables:
    """The instructions that a difference describes, numbered anew."""

    def __init__(
        self,
        first: Instructions,
        second: Instructions,
        matching: Matching,
        regions: list[Region],
        hunks: list[tuple[str, list[tuple[str, int, int]]]],
    ) -> None:
        lines = [line for _, several in hunks for line in several]
        mine = {number for region in regions for number in region.before}
        mine |= {before for _, before, _ in lines if before != NONE}
        theirs = {number for region in regions for number in region.after}
        theirs |= {after for _, _, after in lines if after != NONE}
        self._mine = {number: place for place, number in enumerate(sorted(mine))}
        self._theirs = {number: place for place, number in enumerate(sorted(theirs))}
        self.before = [
            _row(first, number, self._mine)
            | {
                "mark": _mark_before(matching, number),
                "match": self._theirs.get(matching.after[number], NONE),
            }
            for number in self._mine
        ]
        self.after = [
            _row(second, number, self._theirs)
            | {
                "mark": _mark_after(matching, number),
                "match": self._mine.get(matching.before[number], NONE),
            }
            for number in self._theirs
        ]

    def region(self, region: Region) -> dict[str, Any]:
        """Returns a region as JSON."""
        before = [self._mine[number] for number in region.before]
        after = [self._theirs[number] for number in region.after]
        computations = Counter(
            [self.before[number]["computation"] for number in before]
            + [self.after[number]["computation"] for number in after]
        )
        return {
            "computation": computations.most_common(1)[0][0],
            "changes": region.changes,
            "before": before,
            "after": after,
        }

    def hunk(self, computation: str, lines: list[tuple[str, int, int]]) -> dict[str, Any]:
        """Returns a piece of the text diff as JSON."""
        return {
            "computation": computation,
            "lines": [
                [sign, self._mine.get(before, NONE), self._theirs.get(after, NONE)]
                for sign, before, after in lines
            ],
        }


def row(state: Instructions, number: int) -> dict[str, Any]:
    """Returns an instruction as JSON, without its operands."""
    line = str(state.texts[number])
    return {
        "name": state.names[number],
        "computation": state.computations[number],
        "opcode": state.opcodes[number],
        "line": line if len(line) <= _LONGEST else line[:_LONGEST] + "...",
    }


def _row(state: Instructions, number: int, places: dict[int, int]) -> dict[str, Any]:
    operands = [places[operand] for operand in state.operands_of(number) if operand in places]
    return row(state, number) | {"operands": operands}


def _mark_before(matching: Matching, number: int) -> str:
    return (
        "removed"
        if matching.after[number] == NONE
        else _mark_after(matching, matching.after[number])
    )


def _mark_after(matching: Matching, number: int) -> str:
    if matching.before[number] == NONE:
        return "added"
    if number in matching.changed:
        return "changed"
    return "renamed" if number in matching.renamed else ""
