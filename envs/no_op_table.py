"""Remembers which passes change nothing in which state."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

# What a state takes beside its mask: the array's header, the key, and the dictionary's links.
_STATE_BYTES = 400


class NoOpTable:
    """Masks of the actions not yet known to be no-ops, by module fingerprint.

    Passes are deterministic, so what was learned once about a state holds for
    every episode. Bounded: the states longest unused are forgotten. What need not be run again,
    whatever masks show, is in ``KnownNoOps``.
    """

    def __init__(self, num_actions: int, max_bytes: int = 32 << 20) -> None:
        """Makes an empty table.

        Args:
            num_actions: Length of a mask.
            max_bytes: Memory that the table may take, at least one state's.
        """
        if max_bytes < num_actions + _STATE_BYTES:
            raise ValueError(
                f"expected at least {num_actions + _STATE_BYTES} bytes, the size of one state, "
                f"got {max_bytes}"
            )
        self._num_actions = num_actions
        self._capacity = max_bytes // (num_actions + _STATE_BYTES)
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
