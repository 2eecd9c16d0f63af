"""The corpus in ``datasets/`` of the checkout: its manifest, sets and splits."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from hlograph.corpus.benchmark_set import Benchmark, BenchmarkSet
from hlograph.errors import HloError, UnknownNameError
from hlograph.storage.locations import Location, absolute, as_location, join, read_bytes

if TYPE_CHECKING:
    import pandas as pd

CorpusSet = Literal["gpt2-train", "diverse", "speed"]
"""Name of a set of the corpus."""

Split = Literal["train", "validation", "test-seen", "test-unseen", "test"]
"""Name of a split of the corpus."""

SETS: tuple[CorpusSet, ...] = get_args(CorpusSet)
"""The sets. ``gpt2-train`` has training steps of GPT-2 (in ``test-unseen``, of similar models),
``diverse`` has other small programs. ``speed`` has programs of realistic size, for measuring how
fast they run; it is selected by its name only."""

SPLITS: tuple[Split, ...] = get_args(Split)
"""The splits. ``test-unseen`` has whole families that are in no other split. ``validation`` and
``test-seen`` have configurations of families that are in ``train``. The set ``speed`` has the
splits ``train``, ``validation`` and ``test``, which have whole families. No structure is in two
splits of a set."""

# The corpus is part of the checkout, not of the wheel. HLOGRAPH_CORPUS is the path of another
# folder, such as that of a checkout if the wheel is installed, or a URL that all machines read.
_ENVIRONMENT = "HLOGRAPH_CORPUS"
_CHECKED_OUT = Path(__file__).parents[2] / "datasets"
_SPEED_FOLDER = "speed"
_SPEED_SPLITS: tuple[Split, ...] = ("train", "validation", "test")
_SMALL_SPLITS: tuple[Split, ...] = ("train", "validation", "test-seen", "test-unseen")
_COUNTS = ("op_count", "op_count_xla_cpu", "op_count_xla_dump", "op_count_xla_simplify")


def root() -> Location:
    """Returns the folder of the corpus: ``$HLOGRAPH_CORPUS``, or ``datasets/`` of the checkout.

    The variable holds a path, or a URL that fsspec reads.
    """
    configured = os.environ.get(_ENVIRONMENT)
    return absolute(as_location(configured) if configured else _CHECKED_OUT)


def load(
    set: CorpusSet | None = None,
    split: Split | Sequence[Split] | None = None,
    *,
    max_op_count: int | None = None,
) -> BenchmarkSet:
    """Returns benchmarks of the corpus sorted by name. Only the manifest is read.

    Args:
        set: ``gpt2-train``, ``diverse`` or ``speed``; None selects the first two.
        split: One split or several; None selects all.
        max_op_count: Largest number of instructions; None is no limit.

    Raises:
        UnknownNameError: There is no such set, or the set has no such split.
        HloError: There is no corpus at its location.
    """
    if set is not None and set not in SETS:
        raise UnknownNameError.of("set", set, SETS)
    existing = _SPEED_SPLITS if set == "speed" else _SMALL_SPLITS
    splits = existing if split is None else (split,) if isinstance(split, str) else tuple(split)
    for name in splits:
        if name not in existing:
            raise UnknownNameError.of("split", name, existing)
    return BenchmarkSet(
        benchmark
        for benchmark in _manifest(_speed_folder() if set == "speed" else root())
        if (set is None or benchmark.set == set)
        and benchmark.split in splits
        and (max_op_count is None or benchmark.op_count <= max_op_count)
    )


def benchmark(name: str) -> Benchmark:
    """Returns one benchmark of the corpus by name, of any set.

    The set ``speed`` is looked through last.

    Raises:
        UnknownNameError: The corpus has no such benchmark.
        HloError: There is no corpus at its location.
    """
    small = _manifest(root())
    if name not in small:
        with contextlib.suppress(HloError):  # This corpus may lack the set, or the name.
            return _manifest(_speed_folder())[name]
    return small[name]


def manifest() -> pd.DataFrame:
    """Returns the sets that ``load`` selects by default, one row for each benchmark.

    The columns are those of ``BenchmarkSet.manifest``.

    Raises:
        HloError: There is no corpus at its location.
    """
    return _manifest(root()).manifest()


def _speed_folder() -> Location:
    return join(root(), _SPEED_FOLDER)


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
            f"{path} is not a manifest of this version of hlograph ({error!r}). Use the corpus and "
            "the library of the same checkout"
        ) from error


def _benchmark(row: dict[str, str], folder: Location) -> Benchmark:
    counts = {column: int(row.pop(column)) for column in _COUNTS}
    source = join(folder, f"hlo/{row['name']}.hlo.zst")
    return Benchmark(**row, **counts, source=source)  # pyright: ignore[reportArgumentType]
