"""The checkpoints that come with the project, by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hlograph.errors import UnknownNameError
from hlograph.storage.locations import Location, as_location, is_file, is_url

FOLDER = Path(__file__).parents[2] / "models" / "shipped"
_KINDS = {
    ("gnn", "log-drop", 0.02, None): "gnn",
    ("op_counts", "log-drop", 0.02, None): "op-counts",
    ("rewrites", "log-drop", None, None): "rewrites",
    ("rewrites", "log-drop", None, True): "sweeps",
    ("rewrites", "cost-drop", None, None): "rewrites-cost",
    ("tuning", None, 0.2, None): "tuning",
    ("tuning_counts", None, 0.2, None): "tuning-op-counts",
}
KINDS = tuple(_KINDS.values())
"""First parts of the names of policies."""
ORDERING = ("gnn", "op-counts")
"""Kinds whose policies order passes."""
_ENDING = ".checkpoint"


def kind_of(policy: str, settings: Mapping[str, Any]) -> str:
    """Returns the first part of the name of a policy.

    Args:
        policy: Name of its ``PolicyKind``.
        settings: Settings of its training. Another reward, another price of calls, and sweeps
            give another name.

    Raises:
        ValueError: No such policy comes with the project.
    """
    sweeps = settings.get("sweeps") or None
    kind = _KINDS.get((policy, settings.get("reward"), settings.get("call_cost"), sweeps))
    if kind is None:
        raise ValueError(
            f"expected a policy that was trained as {', '.join(KINDS)}, got {policy} with reward "
            f"{settings.get('reward')}, call_cost {settings.get('call_cost')}, sweeps {sweeps}"
        )
    return kind


def file_name(kind: str, seed: int) -> str:
    """Returns the name of the file of a policy."""
    return f"{kind}-seed{seed}{_ENDING}"


def available(folder: Path = FOLDER, kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """Returns the checkpoints of some kinds, by name, such as ``gnn-seed0``."""
    paths = (path for kind in kinds for path in sorted(folder.glob(f"{kind}-seed*{_ENDING}")))
    return {path.name.removesuffix(_ENDING): path for path in paths}


def one_of_each(folder: Path = FOLDER, kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """Returns the first checkpoint of each kind, by the kind's name."""
    of_kind = {kind: list(available(folder, [kind]).values()) for kind in kinds}
    return {kind: paths[0] for kind, paths in of_kind.items() if paths}


def checkpoint_location(given: str, folder: Path = FOLDER) -> Location:
    """Returns the location of a checkpoint.

    Args:
        given: Path or URL, or the name of a policy that comes with the project, with or without
            its seed.
        folder: Folder of these policies.

    Raises:
        UnknownNameError: There is no such checkpoint.
    """
    by_name = available(folder) | one_of_each(folder)
    if given in by_name:
        return by_name[given]
    location = as_location(given)
    if is_url(location) or is_file(location):
        return location
    names = ", ".join(by_name) or "none here"
    raise UnknownNameError(
        f"expected the path or URL of a checkpoint, or the name of one that comes with the "
        f"project ({names}), got {given!r}"
    )
