"""Puts HLO text of jaxlib's XLA into words that an older XLA reads."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

# As in `mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x','y':(1)2}`.
_MESH_GROUPS = re.compile(
    r"replica_groups=mesh\[(?P<axes>[^\]]*)\]"
    r"(?:, device_ids=\((?P<devices>[^{}]*)\))?"
    r" \{(?P<grouped>[^{}]*)\}"
)
_AXIS = re.compile(r"(?P<name>'[^']*')=(?P<size>\d+)")
_GROUPED = re.compile(r"(?P<name>'[^']*')(?::\((?P<before>\d+)\)(?P<size>\d+))?")
_IOTA = re.compile(r"\[(?P<shape>[\d,]+)\](?:T\((?P<order>[\d,]+)\))?")
_UNREAD_GROUPS = re.compile(r"replica_groups=(?![{\[])\S*")
# Where an instruction was traced; a module of the corpus says nothing of it.
_SOURCE_TABLES = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ .*\n)*\n*", re.MULTILINE
)
_METADATA = re.compile(r", metadata=\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*\}")


def older_text(text: str) -> str:
    """Returns HLO text of jaxlib's XLA in words of an older one, without source locations.

    Raises:
        ValueError: Replica groups are written in a way that is not known here.
    """
    text = _METADATA.sub("", _SOURCE_TABLES.sub("", text))
    text = _MESH_GROUPS.sub(lambda match: f"replica_groups={_listed(_groups(match))}", text)
    if unread := _UNREAD_GROUPS.search(text):
        raise ValueError(f"Unknown form of replica groups: {unread.group()}")
    return text


def _groups(match: re.Match[str]) -> np.ndarray:
    """Returns the groups of devices, one a row, that replica groups over a mesh stand for."""
    axes = {axis["name"]: int(axis["size"]) for axis in _AXIS.finditer(match["axes"])}
    devices = _device_ids(match["devices"], tuple(axes.values()))
    # An axis that is grouped in part is split: what comes before the part, the part, what follows.
    parts: dict[str, set[int]] = {name: {1, size} for name, size in axes.items()}
    grouped: list[tuple[str, int, int]] = []
    for axis in _GROUPED.finditer(match["grouped"]):
        before = int(axis["before"] or 1)
        after = before * int(axis["size"]) if axis["size"] else axes[axis["name"]]
        parts[axis["name"]] |= {before, after}
        grouped.append((axis["name"], before, after))
    split: list[tuple[str, int, int]] = []
    for name in axes:
        bounds = sorted(parts[name])
        # An axis of size 1 has one bound only; it stays, as an axis of size 1.
        split += [(name, *pair) for pair in pairwise(bounds)] or [(name, 1, 1)]
    devices = devices.reshape([after // before for _, before, after in split])
    inside = [
        index
        for name, before, after in grouped
        for index, part in enumerate(split)
        if part[0] == name and before <= part[1] and part[2] <= after
    ]
    outside = [index for index in range(len(split)) if index not in inside]
    size = int(np.prod([devices.shape[index] for index in inside], dtype=int))
    return devices.transpose(outside + inside).reshape(-1, size)


def _device_ids(text: str | None, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the devices of a mesh; no text means row-major order."""
    count = int(np.prod(shape, dtype=int))
    if not text:
        return np.arange(count).reshape(shape)
    if iota := _IOTA.fullmatch(text):
        devices = np.arange(count).reshape(_integers(iota["shape"]))
        return devices.transpose(_integers(iota["order"]) if iota["order"] else None).reshape(shape)
    return np.array(_integers(text)).reshape(shape)


def _integers(text: str) -> list[int]:
    """Returns the integers of a comma-separated list."""
    return [int(part) for part in text.split(",")]


def _listed(groups: np.ndarray) -> str:
    """Returns groups as an explicit list."""
    return "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in groups.tolist()) + "}"
