"""Shapes of a module's text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)\})?")


@dataclass(frozen=True)
class ArrayShape:
    """Shape of an array with a known size and an ordinary layout.

    Attributes:
        type: XLA's name of the element type.
        dimensions: Sizes.
        minor_to_major: The dimensions in the order of the layout.
    """

    type: str
    dimensions: tuple[int, ...]
    minor_to_major: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.dimensions)

    @property
    def is_row_major(self) -> bool:
        """True if the last dimension is the minor one."""
        return self.minor_to_major == tuple(reversed(range(len(self.dimensions))))

    @property
    def outer_sizes(self) -> tuple[int, ...]:
        """Sizes in the order of memory, the major dimension first."""
        return tuple(self.dimensions[number] for number in reversed(self.minor_to_major))


def array_shape(text: str) -> ArrayShape | None:
    """Returns a shape from its text; None for tuples, tokens, and layouts with tiles."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        return None
    dimensions = numbers(match[2])
    order = numbers(match[3]) if match[3] is not None else tuple(range(len(dimensions)))[::-1]
    return ArrayShape(match[1], dimensions, order)


def numbers(text: str) -> tuple[int, ...]:
    """Returns the numbers of a text such as ``{1,0}`` or ``1,0``."""
    return tuple(int(part) for part in text.strip("{}").split(",") if part)
