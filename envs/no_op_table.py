"""Table of the passes that change nothing in a state, of which action masks are made."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

# Memory of a state: the key, the number, and the dictionary's links.
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
        state_bytes = _STATE_BYTES + num_actions // 7  # a Python int holds 30 bits in 4 bytes
        if max_bytes < state_bytes:
            raise ValueError(
                f"expected at least {state_bytes} bytes, the size of one state, got {max_bytes}"
            )
        self._num_actions = num_actions
        self._capacity = max_bytes // state_bytes
        # Numbers whose bit i is set if action i is a no-op: a bit is set far more often than a mask
        # is asked for.
        self._no_ops: OrderedDict[str, int] = OrderedDict()

    def mask(self, fingerprint: str) -> NDArray[np.int8]:
        """Returns a new copy of the mask of a state.

        Args:
            fingerprint: Fingerprint of the state.

        Returns:
            int8 ``[num_actions]``; 0 where the action is known to change nothing.
        """
        return self.masked(np.ones(self._num_actions, np.int8), fingerprint)

    def masked(self, mask: NDArray[np.int8], fingerprint: str) -> NDArray[np.int8]:
        """Returns a copy of a mask that is 0, too, where an action is known to change nothing.

        Args:
            mask: int8 ``[num_actions]``.
            fingerprint: Fingerprint of the state.
        """
        no_ops = self._no_ops.get(fingerprint)
        if no_ops is None:
            return mask.copy()
        self._no_ops.move_to_end(fingerprint)
        packed = np.frombuffer(no_ops.to_bytes(-(-self._num_actions // 8), "little"), np.uint8)
        bits = np.unpackbits(packed, count=self._num_actions, bitorder="little")
        return np.where(bits, np.int8(0), mask)

    def add(self, fingerprint: str, action: int) -> None:
        """Records that an action changes nothing in a state."""
        no_ops = self._no_ops
        no_ops[fingerprint] = no_ops.get(fingerprint, 0) | 1 << action
        no_ops.move_to_end(fingerprint)
        if len(no_ops) > self._capacity:
            no_ops.popitem(last=False)

    def copy(self) -> NoOpTable:
        """Returns a copy; what either of the two learns later is unknown to the other."""
        copy = object.__new__(NoOpTable)
        copy.__dict__.update(self.__dict__)
        copy._no_ops = self._no_ops.copy()
        return copy

    def __len__(self) -> int:
        """Returns the number of states."""
        return len(self._no_ops)
