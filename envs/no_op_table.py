"""Table of the passes that change nothing in a state, of which action masks are made."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

# Memory of a state beside its mask: the array's header, the key, and the dictionary's links.
_STATE_BYTES = 400


class NoOpTable:
    """Masks of the actions that are not known to be no-ops, by module fingerprint.

    Passes are deterministic, so what was learned once about a state holds for every episode. The
    table is bounded: the states longest unused are forgotten. ``KnownNoOps`` is another table,
    which saves time and does not show in masks.

    Args:
        num_actions: Length of a mask.
        max_bytes: Memory that the table may take; at least that of one state.
    """

    def __init__(self, num_actions: int, max_bytes: int = 32 << 20) -> None:
        if max_bytes < num_actions + _STATE_BYTES:
            raise ValueError(
                f"expected at least {num_actions + _STATE_BYTES} bytes, the size of one state, "
                f"got {max_bytes}"
            )
        self._num_actions = num_actions
        self._capacity = max_bytes // (num_actions + _STATE_BYTES)
        # Arrays are replaced, never written to: copies of the table share them.
        self._masks: OrderedDict[str, NDArray[np.int8]] = OrderedDict()

    def mask(self, fingerprint: str) -> NDArray[np.int8]:
        """Returns a new copy of the mask of a state.

        Args:
            fingerprint: Fingerprint of the state.

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
        mask = self.mask(fingerprint)
        mask[action] = 0
        self._masks[fingerprint] = mask
        if len(self._masks) > self._capacity:
            self._masks.popitem(last=False)

    def copy(self) -> NoOpTable:
        """Returns a copy; what either of the two learns later is unknown to the other."""
        copy = object.__new__(NoOpTable)
        copy.__dict__.update(self.__dict__)
        copy._masks = self._masks.copy()
        return copy

    def __len__(self) -> int:
        """Returns the number of states."""
        return len(self._masks)
