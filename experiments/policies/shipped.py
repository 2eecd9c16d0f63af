"""The checkpoints that come with the project, by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hlograph.errors import UnknownNameError
from hlograph.storage.locations import Location, as_location, is_file, is_url

FOLDER = Path(__file__).parents[2] / "models" / "shipped"
_KINDS = {
    ("gnn", "log-drop", 0.02): "gnn",
    ("gnn", "log-drop", 0.1): "gnn-brief",
    ("op_counts", "log-drop", 0.02): "op-counts",
    ("rewrites", "log-drop", None): "rewrites",
    ("rewrites", "cost-drop", None): "rewrites-cost",
}
KINDS = tuple(_KINDS.values())
"""What names of policies begin with."""
ORDERING = ("gnn", "op-counts")
"""Kinds whose policies order passes."""
_ENDING = ".checkpoint"


def kind_of(learner: str, settings: Mapping[str, Any]) -> str:
    """What the name of a policy begins with.

    Args:
        learner: What learned.
        settings: Of its training: another reward, or another price of calls, is another kind.

    Raises:
        ValueError: None such comes with the project.
    """
    found = _KINDS.get((learner, settings.get("reward"), settings.get("call_cost")))
    if found is None:
        raise ValueError(
            f"expected a policy that was trained as {', '.join(KINDS)}, got {learner} with reward "
            f"{settings.get('reward')}, call_cost {settings.get('call_cost')}"
        )
    return found


def file_name(kind: str, seed: int) -> str:
    """Name of the file of a policy of some kind, of a training with some seed."""
    return f"{kind}-seed{seed}{_ENDING}"


def available(folder: Path = FOLDER, kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """All checkpoints of some kinds that are there, by name, such as ``gnn-seed0``."""
    paths = (path for kind in kinds for path in sorted(folder.glob(f"{kind}-seed*{_ENDING}")))
    return {path.name.removesuffix(_ENDING): path for path in paths}


def one_of_each(folder: Path = FOLDER, kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """The first checkpoint of each kind that is there, by the kind's name."""
    of_kind = {kind: list(available(folder, [kind]).values()) for kind in kinds}
    return {kind: paths[0] for kind, paths in of_kind.items() if paths}


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
