"""Reads the scalars of TensorBoard's event files, with TensorBoard's own reader."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from hlograph.errors import MissingExtraError

Curve = list[tuple[int, float]]
"""Steps and values of a scalar, in the order in which they were written."""

PATTERN = "events.out.tfevents.*"
"""Names of event files."""


def tensorboard_without_tensorflow() -> None:
    """Makes tensorboard work on event files without importing TensorFlow.

    The engine's libraries come in TensorFlow's wheel, and tensorboard imports that package
    when it finds it (8 s, 250 MB). A module of this name tells it to use its own stand-in.
    """
    name = "tensorboard.compat.notf"
    sys.modules.setdefault(name, ModuleType(name))


def scalars(folder: Path) -> Mapping[str, Curve]:
    """Returns the scalars in the event files of a folder, by tag. Folders in it are not read.

    Where a run was continued, what it wrote after the state that it went on from is left out.

    Args:
        folder: The folder.

    Raises:
        MissingExtraError: TensorBoard is not installed.
    """
    if not any(folder.glob(PATTERN)):
        return {}
    MissingExtraError.check("learn", "tensorboard")
    tensorboard_without_tensorflow()
    from tensorboard.backend.event_processing import event_accumulator

    # All scalars, and nothing of the rest, which takes most of the memory.
    kinds = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 1)
    guidance = kinds | {event_accumulator.SCALARS: 0}
    events = event_accumulator.EventAccumulator(str(folder), size_guidance=guidance).Reload()
    tags = events.Tags()[event_accumulator.SCALARS]
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags}
