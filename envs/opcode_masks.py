"""Masks of the passes that may act on a module, by the opcodes that it has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hlograph.transforms.registry import Pass, passes

# Sets of opcodes whose masks are kept. The states of an episode have few different ones.
_KEPT = 1024


class OpcodeMasks:
    """Masks of the passes that have something to act on, by the opcodes of a module.

    A pass changes nothing in a module that has none of the opcodes that it acts on
    (``Pass.acts_on``). The action after the passes is stopping, which is always allowed.

    Args:
        entries: The passes, by action number.
    """

    def __init__(self, entries: Sequence[Pass]) -> None:
        acts_on = passes.acts_on[:, [entry.index for entry in entries]] > 0
        self._acts_on = np.hstack([acts_on, np.ones((len(acts_on), 1), bool)])
        self._masks: dict[bytes, NDArray[np.int8]] = {}

    def mask(self, counts: NDArray[np.float32]) -> NDArray[np.int8]:
        """Returns the mask of a module, which must not be written to.

        Args:
            counts: Instructions by opcode, float32 ``[len(OPCODES)]``.

        Returns:
            int8 ``[passes + 1]``; 0 where the module has nothing to act on.
        """
        present = counts.astype(bool)
        key = present.tobytes()
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) == _KEPT:
                self._masks.clear()
            mask = np.asarray(self._acts_on[present].any(axis=0), np.int8)
            self._masks[key] = mask
        return mask
