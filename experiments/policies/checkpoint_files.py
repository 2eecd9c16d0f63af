"""The checkpoint files of one policy: the newest, and the one before in case it is damaged."""

import os
import uuid
from pathlib import Path

from tqdm import tqdm

from experiments.policies.checkpoint import Checkpoint
from hlograph.errors import DamagedFileError

CHECKPOINT = "checkpoint.pt"
PREVIOUS = "checkpoint.previous.pt"
DAMAGED = "checkpoint.damaged.pt"


class CheckpointFiles:
    """Saves and finds checkpoints in a folder.

    Args:
        folder: Folder of the policy's training.
    """

    def __init__(self, folder: Path) -> None:
        self._newest, self._previous = folder / CHECKPOINT, folder / PREVIOUS
        self._damaged = folder / DAMAGED

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint; the one before stays beside it.

        At every moment there is a complete file under the newest's name.

        Raises:
            OSError: It cannot be written; what was there before is unchanged.
        """
        if self._newest.exists():
            link = self._previous.with_name(f".{PREVIOUS}.{uuid.uuid4().hex}.tmp")
            os.link(self._newest, link)
            link.replace(self._previous)
        checkpoint.save(self._newest)

    def load(self) -> Checkpoint | None:
        """Reads the newest checkpoint that is whole; None where there is none at all.

        A damaged one is set aside, so that the next save does not put it in the place of the
        good one.

        Raises:
            DamagedFileError: The newest is damaged, and there is no good one before it.
        """
        if not self._newest.exists():
            return Checkpoint.load(self._previous) if self._previous.exists() else None
        try:
            return Checkpoint.load(self._newest)
        except DamagedFileError as error:
            try:
                checkpoint = Checkpoint.load(self._previous)
            except (DamagedFileError, OSError):
                raise error from None
            self._newest.replace(self._damaged)
            tqdm.write(f"{error}; going on from {self._previous}, {checkpoint.steps} steps")
            return checkpoint
