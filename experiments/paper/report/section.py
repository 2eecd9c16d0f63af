"""Parts of a report, apart from the format that it is written in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

TO = NOTHING = "\N{EN DASH}"
"""Dash between the ends of a range, and in an empty cell."""


@dataclass(frozen=True)
class Number:
    """A cell with a value and the text that shows it."""

    value: float
    text: str


Cell = str | int | Number | None
"""Content of a table's cell; None is undefined or not measured."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column names the row."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    """True for a long table that is folded until a reader opens it."""

    def __post_init__(self) -> None:
        """Raises ValueError if a row has another length than the headings."""
        for row in self.rows:
            if len(row) != len(self.headings):
                raise ValueError(f"expected {len(self.headings)} cells, got {len(row)}: {row}")


@dataclass(frozen=True)
class Picture:
    """A picture and its description."""

    name: str
    """Name that is unique in its chapter; part of the name of its file."""
    alt: str
    png: bytes


@dataclass(frozen=True)
class Section:
    """A part of a chapter: text, then the picture, then the table."""

    title: str
    text: Sequence[str] = ()
    """Paragraphs."""
    picture: Picture | None = None
    table: Table | None = None


@dataclass(frozen=True)
class Summary:
    """The answer of a study to its question."""

    sentences: Sequence[str] = ()
    """The answer in at most three sentences; the first one stands in the index."""
    table: Table | None = None


@dataclass(frozen=True)
class Chapter:
    """The page of one study."""

    key: str
    """Name that is unique in a report; the beginning of the names of its files."""
    title: str
    question: str
    summary: Summary
    made: Sequence[tuple[str, str]]
    """Command, seeds, commit and machine of the study, each with its name."""
    notes: Sequence[str]
    sections: Sequence[Section]


def ratio(value: float) -> Number | None:
    """Returns a ratio with three decimals, or None for nan."""
    return None if math.isnan(value) else Number(value, f"{value:.3f}")


def percent(value: float) -> Number | None:
    """Returns a share from 0 to 1 in per cent, or None for nan."""
    return None if math.isnan(value) else Number(value, f"{100 * value:.0f} %")


def plain(value: float) -> Number | None:
    """Returns a number with three digits, or all before the point; None for nan."""
    if math.isnan(value):
        return None
    return Number(value, f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}")


def interval(value: float, bounds: tuple[float, float]) -> Number | None:
    """Returns a ratio with its interval in brackets, or None for nan."""
    if math.isnan(value):
        return None
    low, high = bounds
    return Number(value, f"{value:.3f} ({low:.3f}{TO}{high:.3f})")


def mean_over_seeds(values: Sequence[float]) -> Number | None:
    """Returns the mean over seeds of numbers of any size, or None if none is defined."""
    defined = [value for value in values if not math.isnan(value)]
    return plain(math.fsum(defined) / len(defined)) if defined else None


def over_seeds(values: Sequence[float], decimals: int = 3) -> Number | None:
    """Returns the mean over seeds with the least and the greatest, or None if none is defined."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return None
    mean = math.fsum(defined) / len(defined)
    text = f"{mean:.{decimals}f}"
    if len(defined) > 1:
        text += f" ({min(defined):.{decimals}f}{TO}{max(defined):.{decimals}f})"
    return Number(mean, text)


def share_over_seeds(values: Sequence[float]) -> Number | None:
    """Returns the same as ``over_seeds`` for shares from 0 to 1, in per cent."""
    found = over_seeds([100 * value for value in values], decimals=0)
    return found and Number(found.value, f"{found.text} %")
