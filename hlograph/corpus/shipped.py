"""The corpus in ``datasets/`` of the checkout: its manifest, sets and splits."""

from __future__ import annotations

import csv
import functools
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from hlograph.corpus.benchmark_set import BenchmarkSet
from hlograph.corpus.record import Benchmark
from hlograph.errors import HloError, UnknownNameError
from hlograph.names import unknown
from hlograph.storage.locations import Location, absolute, as_location, join, read_bytes

if TYPE_CHECKING:
    import pandas as pd

Set = Literal["gpt2-train", "diverse"]
Split = Literal["train", "validation", "test-seen", "test-unseen"]

SETS: tuple[str, ...] = get_args(Set)
"""``gpt2-train``: training steps of GPT-2 (in ``test-unseen``, of models akin to it); ``diverse``:
everything else."""

SPLITS: tuple[str, ...] = get_args(Split)
"""``test-unseen`` holds whole families that are in no other split; ``validation`` and ``test-seen``
hold configurations of families that are in ``train``. No structure is in two splits."""

# The corpus is data of the checkout, not of the wheel: HLOGRAPH_CORPUS names another folder,
# the folder of a checkout when the wheel is installed, or a URL that all machines can read.
_ENVIRONMENT = "HLOGRAPH_CORPUS"
_CHECKED_OUT = Path(__file__).parents[2] / "datasets"
_COUNTS = ("op_count", "op_count_xla_cpu", "op_count_xla_dump", "op_count_xla_simplify")


def root() -> Location:
    """Returns the corpus's folder: ``$HLOGRAPH_CORPUS``, or ``datasets/`` of the checkout.

    The variable holds a path, or a URL that fsspec reads.
    """
    configured = os.environ.get(_ENVIRONMENT)
    return absolute(as_location(configured) if configured else _CHECKED_OUT)


def load(
    set: Set | None = None,
    split: Split | Sequence[Split] | None = None,
    *,
    max_op_count: int | None = None,
) -> BenchmarkSet:
    """Returns benchmarks of the corpus, sorted by name; reads the manifest alone.

    Args:
        set: ``gpt2-train`` or ``diverse``; None is both.
        split: One split or several; None is all.
        max_op_count: Only those with at most so many instructions.

    Raises:
        UnknownNameError: There is no such set or split.
        HloError: There is no corpus where it is looked for.
    """
    if set is not None and set not in SETS:
        raise UnknownNameError(unknown("set", set, SETS))
    splits = SPLITS if split is None else (split,) if isinstance(split, str) else tuple(split)
    for name in splits:
        if name not in SPLITS:
            raise UnknownNameError(unknown("split", name, SPLITS))
    return BenchmarkSet(
        benchmark
        for benchmark in _manifest(root())
        if (set is None or benchmark.set == set)
        and benchmark.split in splits
        and (max_op_count is None or benchmark.op_count <= max_op_count)
    )


def benchmark(name: str) -> Benchmark:
    """Returns one benchmark of the corpus by name.

    Raises:
        UnknownNameError: The corpus has no such benchmark.
        HloError: There is no corpus where it is looked for.
    """
    return _manifest(root())[name]


def manifest() -> pd.DataFrame:
    """Returns the corpus as a table, one row a benchmark (see ``BenchmarkSet.manifest``).

    Raises:
        HloError: There is no corpus where it is looked for.
    """
    return _manifest(root()).manifest()


@functools.cache
def _manifest(folder: Location) -> BenchmarkSet:
    path = join(folder, "manifest.csv")
    try:
        text = read_bytes(path).decode()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise HloError(
            f"no corpus at {folder}: expected manifest.csv there. Run from a checkout of hlograph, "
            f"or set {_ENVIRONMENT} to its datasets folder, or the URL of a copy of it"
        ) from error
    rows = sorted(csv.DictReader(io.StringIO(text, newline="")), key=lambda row: row["name"])
    try:
        return BenchmarkSet(_benchmark(row, folder) for row in rows)
    except (TypeError, KeyError, ValueError) as error:
        raise HloError(
            f"{path} is not a manifest of this version of hlograph ({error!r}): take both from one "
            "checkout"
        ) from error


def _benchmark(row: dict[str, str], folder: Location) -> Benchmark:
    counts = {column: int(row.pop(column)) for column in _COUNTS}
    source = join(folder, f"hlo/{row['name']}.hlo.zst")
    return Benchmark(**row, **counts, source=source)  # pyright: ignore[reportArgumentType]
