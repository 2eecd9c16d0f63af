"""Files that XLA writes with ``--xla_dump_to``: what they are, and which of them hold a module."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hlograph.storage.locations import as_location

_DUMPED = re.compile(r"module_\d+\..+")
_BEFORE = re.compile(r"(.+)\.before_optimizations\.(?:txt|hlo|hlo\.pb|pb)(?:\.gz|\.zst)?")
_AFTER = re.compile(r"(.+?)\.(?:\w+_)?after_optimizations\.(?:txt|hlo|hlo\.pb|pb)(?:\.gz|\.zst)?")

# By how they begin; each is what XLA:CPU or XLA:GPU writes beside a module.
_KINDS = {
    "a buffer assignment": r"BufferAssignment:",
    "the values of a buffer assignment": r"Total bytes used: .*\s+Used values:",
    "the live ranges of buffers": r"HloLiveRange",
    "a report of memory usage": r"Memory Space: |Total bytes: |\s*cumulative_size; ",
    "LLVM IR": r"; ModuleID = |source_filename = |target datalayout = |define \w+ .*@",
    "debug options of XLA": r"xla_\w+: ",
    "a thunk sequence": r"(?:Thunk sequence|ThunkSequence|\d+: k[A-Z]\w+\b|\w*Thunk\b)",
    "PTX": r"(?://[^\n]*\n)+\s*\.version |\.version ",
    "assembly": r"\s*\.(?:text|file|section|intel_syntax)\b",
    "flags of a program": r"--\w+=",
}
_PATTERNS = {kind: re.compile(pattern.encode()) for kind, pattern in _KINDS.items()}


def kind_of(text: bytes) -> str:
    """Returns what a text of a dump is, if it is no module; empty if that is not known."""
    text = text.lstrip()
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.match(text)), "")


def first_module_of(path: str | os.PathLike[str]) -> str | None:
    """Returns the file with the module that a file of a dump is about.

    Args:
        path: The file of the dump, such as ``module_0001.jit_f.cpu_after_optimizations.txt``.

    Returns:
        The file beside it with the module before optimizations, or else with that after them; None
        if there is none or if the name is not one of a dump.
    """
    location = as_location(path)
    if not isinstance(location, Path) or not _DUMPED.fullmatch(location.name):
        return None
    number = location.name.split(".")[0]
    try:
        names = sorted(file.name for file in location.parent.glob(f"{number}.*"))
    except OSError:
        return None
    for pattern in (_BEFORE, _AFTER):
        for name in reversed(names):  # text before a proto
            match = pattern.fullmatch(name)
            if match and name != location.name and location.name.startswith(f"{match[1]}."):
                return str(location.parent / name)
    return None
