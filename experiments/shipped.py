"""The checkpoints that come with the project, by name."""

from pathlib import Path

from hlograph.errors import UnknownNameError
from hlograph.locations import Location, as_location, is_file, is_url

FOLDER = Path(__file__).parents[1] / "models" / "shipped"
KINDS = {"gnn": "gnn", "op_counts": "op-counts"}
"""By learner, what the names of its policies begin with."""
_ENDING = ".checkpoint"


def file_name(learner: str, seed: int) -> str:
    """Name of the file of a learner's policy, of a training with some seed."""
    return f"{KINDS[learner]}-seed{seed}{_ENDING}"


def available(folder: Path = FOLDER) -> dict[str, Path]:
    """All checkpoints that are there, by name, such as ``gnn-seed0``."""
    return {path.name.removesuffix(_ENDING): path for path in sorted(folder.glob(f"*{_ENDING}"))}


def one_of_each(folder: Path = FOLDER) -> dict[str, Path]:
    """The first checkpoint of each kind, by the kind's name."""
    known = available(folder)
    kinds = {
        kind: [path for name, path in known.items() if name.startswith(f"{kind}-seed")]
        for kind in KINDS.values()
    }
    return {kind: paths[0] for kind, paths in kinds.items() if paths}


def checkpoint_location(given: str, folder: Path = FOLDER) -> Location:
    """Where a checkpoint is.

    Args:
        given: Path or URL of one, or the name of one that comes with the project, in full or
            the kind's.
        folder: Where these are.

    Raises:
        UnknownNameError: It is none of them.
    """
    known = available(folder) | one_of_each(folder)
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
