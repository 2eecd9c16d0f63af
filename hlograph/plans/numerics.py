"""The classes of a plan's results."""

from typing import Literal, get_args

Numerics = Literal["exact", "close", "fast"]
"""Class of a plan's results.

``exact``: every bit is that of the default. ``close``: results differ by rounding only, within the
tolerance of ``hlograph.execution.equivalence.judgement``. ``fast``: flags for fast math are
allowed, with which infinities and NaNs may differ.
"""

NUMERICS: tuple[Numerics, ...] = get_args(Numerics)
"""The classes, from strict to loose."""


def looser(first: Numerics, second: Numerics) -> Numerics:
    """Returns the looser of two classes."""
    return first if NUMERICS.index(first) >= NUMERICS.index(second) else second
