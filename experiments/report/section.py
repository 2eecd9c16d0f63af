"""What a report is made of, whatever it is written as."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

TO = NOTHING = "\N{EN DASH}"
"""Between the ends of a range; in an empty cell."""


@dataclass(frozen=True)
class Number:
    """A cell that is shown as text and sorted by a value."""

    value: float
    text: str


Cell = str | int | Number | None
"""None is nothing to say: undefined, or not measured."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column says what a row is of."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    """Whether it is so long that readers open it first."""

    def __post_init__(self) -> None:
        """Refuses rows of another length than the headings."""
        for row in self.rows:
            if len(row) != len(self.headings):
                raise ValueError(f"expected {len(self.headings)} cells, got {len(row)}: {row}")


@dataclass(frozen=True)
class Picture:
    """A picture and what it shows, for those who do not see it."""

    name: str
    """Unique in its chapter; part of the name of its file."""
    alt: str
    png: bytes
    width: int
    """Pixels at 100 %."""


@dataclass(frozen=True)
class Section:
    """A part of a chapter: text, then the picture, then the table."""

    title: str
    text: Sequence[str] = ()
    """Paragraphs."""
    picture: Picture | None = None
    table: Table | None = None


@dataclass(frozen=True)
class Chapter:
    """All that is shown of one study."""

    key: str
    """Unique in a report; the beginning of the names of its files."""
    title: str
    made: Sequence[tuple[str, str]]
    """What it was made with: command, seeds, commit, machine."""
    notes: Sequence[str]
    sections: Sequence[Section]


def ratio(value: float) -> Number | None:
    """A ratio with three decimals; None of nan."""
    return None if math.isnan(value) else Number(value, f"{value:.3f}")


def percent(value: float) -> Number | None:
    """A share from 0 to 1 in per cent; None of nan."""
    return None if math.isnan(value) else Number(value, f"{100 * value:.0f} %")


def plain(value: float) -> Number | None:
    """A number with three digits or all those before the point; None of nan."""
    if math.isnan(value):
        return None
    return Number(value, f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}")


def interval(value: float, bounds: tuple[float, float]) -> Number | None:
    """A ratio with its interval in brackets; None of nan."""
    if math.isnan(value):
        return None
    low, high = bounds
    return Number(value, f"{value:.3f} ({low:.3f}{TO}{high:.3f})")


def mean_over_seeds(values: Sequence[float]) -> Number | None:
    """As ``over_seeds``, of numbers of any size, without their spread."""
    defined = [value for value in values if not math.isnan(value)]
    return plain(math.fsum(defined) / len(defined)) if defined else None


def over_seeds(values: Sequence[float], decimals: int = 3) -> Number | None:
    """Mean over seeds, with the least and the greatest of them; None if none is defined."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return None
    mean = math.fsum(defined) / len(defined)
    text = f"{mean:.{decimals}f}"
    if len(defined) > 1:
        text += f" ({min(defined):.{decimals}f}{TO}{max(defined):.{decimals}f})"
    return Number(mean, text)


def share_over_seeds(values: Sequence[float]) -> Number | None:
    """As ``over_seeds``, of shares from 0 to 1, in per cent."""
    found = over_seeds([100 * value for value in values], decimals=0)
    return found and Number(found.value, f"{found.text} %")
