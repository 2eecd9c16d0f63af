"""The shipped benchmarks: HLO modules of real models, by name.

The corpus lies in ``datasets/`` of the checkout: a manifest and one compressed
HLO text a benchmark. It is opened where it is needed; nothing is read at import.
"""

from __future__ import annotations

import csv
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hlograph.errors import HloError, UnknownNameError
from hlograph.names import unknown

if TYPE_CHECKING:
    from hlograph.module import Module

Split = Literal["train", "test"]

# The corpus is data of the checkout, not of the wheel: HLOGRAPH_CORPUS names
# another folder, or the folder of a checkout when the wheel is installed.
_ENVIRONMENT = "HLOGRAPH_CORPUS"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One module of the corpus.

    Attributes:
        name: ``family/model/variant``.
        family: Model family; no family is in two splits.
        library: Package whose code was lowered.
        library_version: Its version.
        recipe: How the module was made, in one line.
        op_count: Instructions of the module as shipped.
        fingerprint: Its fingerprint.
        split: ``train`` or ``test``.
        path: File with the HLO text.
    """

    name: str
    family: str
    library: str
    library_version: str
    recipe: str
    op_count: int
    fingerprint: str
    split: str
    path: Path

    def load(self) -> Module:
        """Returns the module."""
        from hlograph.module import Module

        return Module.load(self.path)


def root() -> Path:
    """Returns the folder of the corpus: ``$HLOGRAPH_CORPUS`` or ``datasets/`` of the checkout."""
    configured = os.environ.get(_ENVIRONMENT)
    return Path(configured) if configured else Path(__file__).parent.parent / "datasets"


def benchmarks(split: Split | None = None, *, max_op_count: int | None = None) -> list[Benchmark]:
    """Returns the benchmarks, sorted by name.

    Args:
        split: Only those of one split.
        max_op_count: Only those with at most so many instructions.

    Raises:
        HloError: There is no corpus where it is looked for.
    """
    return [
        benchmark
        for benchmark in _manifest(root()).values()
        if (split is None or benchmark.split == split)
        and (max_op_count is None or benchmark.op_count <= max_op_count)
    ]


def benchmark(name: str) -> Benchmark:
    """Returns one benchmark by name.

    Raises:
        UnknownNameError: The corpus has no such benchmark.
    """
    known = _manifest(root())
    if name not in known:
        raise UnknownNameError(unknown("benchmark", name, list(known)))
    return known[name]


def load(name: str) -> Module:
    """Returns the module of a benchmark, by name."""
    return benchmark(name).load()


@functools.cache
def _manifest(folder: Path) -> dict[str, Benchmark]:
    path = folder / "manifest.csv"
    if not path.is_file():
        raise HloError(
            f"no corpus at {folder}: expected {path.name} there. Run from a checkout of hlograph, "
            f"or set {_ENVIRONMENT} to its datasets folder"
        )
    with path.open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    return {row["name"]: _benchmark(row, folder) for row in rows}


def _benchmark(row: dict[str, str], folder: Path) -> Benchmark:
    return Benchmark(
        name=row["name"],
        family=row["family"],
        library=row["library"],
        library_version=row["library_version"],
        recipe=row["recipe"],
        op_count=int(row["op_count"]),
        fingerprint=row["fingerprint"],
        split=row["split"],
        path=folder / row["path"],
    )
