"""Shows progress within a group of measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
DELAY_S = 10.0
"""Seconds after which a group shows a bar of its own."""


def tracked(items: Sequence[Item], unit: str = "size") -> Iterable[Item]:
    """Iterates over the parts of a group, behind a bar that appears after ten seconds.

    Args:
        items: Parts of the group, such as the sizes of modules.
        unit: Name of a part.
    """
    return tqdm(items, unit=unit, delay=DELAY_S, leave=False, disable=None, dynamic_ncols=True)
