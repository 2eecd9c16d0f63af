"""Remembers which passes change nothing in which state."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray


class NoOpTable:
    """Masks of the actions not yet known to be no-ops, by module fingerprint.

    Passes are deterministic, so what was learned once about a state holds for
    every episode. Bounded: the states longest unused are forgotten.
    """

    def __init__(self, num_actions: int, capacity: int = 100_000) -> None:
        """Makes an empty table.

        Args:
            num_actions: Length of a mask.
            capacity: States to remember, at ``num_actions`` plus about 200 bytes each.
        """
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1 state, got {capacity}")
        self._num_actions = num_actions
        self._capacity = capacity
        self._masks: OrderedDict[str, NDArray[np.int8]] = OrderedDict()

    def mask(self, fingerprint: str) -> NDArray[np.int8]:
        """Returns a copy of the mask of a state.

        Args:
            fingerprint: The state.

        Returns:
            int8 ``[num_actions]``; 0 where the action is known to change nothing.
        """
        known = self._masks.get(fingerprint)
        if known is None:
            return np.ones(self._num_actions, dtype=np.int8)
        self._masks.move_to_end(fingerprint)
        return known.copy()

    def add(self, fingerprint: str, action: int) -> None:
        """Records that an action changes nothing in a state."""
        known = self._masks.get(fingerprint)
        if known is None:
            known = self._masks[fingerprint] = np.ones(self._num_actions, dtype=np.int8)
            if len(self._masks) > self._capacity:
                self._masks.popitem(last=False)
        known[action] = 0

    def __len__(self) -> int:
        return len(self._masks)
