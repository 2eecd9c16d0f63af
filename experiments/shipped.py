"""The checkpoints that come with the project, by name."""

from pathlib import Path

from hlograph.errors import UnknownNameError
from hlograph.locations import Location, as_location, is_file, is_url

FOLDER = Path(__file__).parents[1] / "models" / "shipped"
SHIPPED = {"gnn": "gnn.checkpoint", "op-counts": "op_counts.checkpoint"}
"""Name of a policy, and of its file in ``FOLDER``."""


def available(folder: Path = FOLDER) -> dict[str, Path]:
    """The checkpoints that are there, by name."""
    return {name: folder / file for name, file in SHIPPED.items() if (folder / file).is_file()}


def checkpoint_location(given: str, folder: Path = FOLDER) -> Location:
    """Where a checkpoint is.

    Args:
        given: Path or URL of one, or the name of one that comes with the project.
        folder: Where these are.

    Raises:
        UnknownNameError: It is none of them.
    """
    known = available(folder)
    if given in known:
        return known[given]
    location = as_location(given)
    if is_url(location) or is_file(location):
        return location
    names = ", ".join(known) or "none here"
    raise UnknownNameError(
        f"expected the path or URL of a checkpoint, or the name of one that comes with the "
        f"project ({names}), got {given!r}"
    )
