"""Least op counts that any search has found, kept as data beside the corpus."""

import csv
import fcntl
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hlograph import corpus
from hlograph.storage.atomic_write import write_text_atomically

FILE = Path(__file__).parents[2] / "datasets" / "best_known.csv"
COMPARED = ("equal", "close")
"""Verdicts on results that compute what the original does; see ``hlograph.execution``."""
_NOT_COMPARED = "not compared"
_COLUMNS = ("benchmark", "fingerprint", "op_count", "method", "verdict", "passes")


@dataclass(frozen=True)
class BestKnown:
    """The least known op count of a benchmark, with the passes that lead to it.

    The passes were run on a fresh module, gave the op count, and the result passed XLA's
    verifier.
    """

    benchmark: str
    fingerprint: str
    """Fingerprint of the benchmark's module at the time of the search."""
    op_count: int
    method: str
    """Name of the search or policy that found it."""
    passes: tuple[str, ...]
    """Passes that lead from the benchmark to the op count, in order."""
    verdict: str = _NOT_COMPARED
    """Comparison of its outputs with the original's: equal, close, not comparable, not compared."""

    @property
    def compared(self) -> bool:
        """True if its result was compared with the original, or this was tried."""
        return self.verdict != _NOT_COMPARED

    def improves(self, old: "BestKnown | None") -> bool:
        """Returns True if it has fewer instructions, fewer passes, or is the first compared.

        An entry of another module by the same name is always replaced.
        """
        if old is None or old.fingerprint != self.fingerprint:
            return True
        return self._rank() < old._rank()

    def _rank(self) -> tuple[int, int, bool]:
        return self.op_count, len(self.passes), not self.compared


def read(path: Path = FILE) -> dict[str, BestKnown]:
    """Returns all rows, by benchmark; none if there is no such file.

    Use ``current`` for results: rows may belong to modules that the corpus no longer has.
    """
    if not path.exists():
        return {}
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    return {
        row["benchmark"]: BestKnown(
            row["benchmark"],
            row["fingerprint"],
            int(row["op_count"]),
            row["method"],
            tuple(row["passes"].split()),
            row.get("verdict") or _NOT_COMPARED,
        )
        for row in rows
    }


def current(path: Path = FILE) -> dict[str, BestKnown]:
    """Returns the entries of the corpus's present benchmarks, by name."""
    fingerprints = {benchmark.name: benchmark.fingerprint for benchmark in corpus.load()}
    return {n: b for n, b in read(path).items() if b.fingerprint == fingerprints.get(n)}


def write(new: Iterable[BestKnown], path: Path = FILE) -> None:
    """Adds entries that improve the known ones. Other processes may write at the same time.

    Args:
        new: Results of a search on the corpus's present benchmarks.
        path: The file.

    Raises:
        OSError: It cannot be written; what was there before is unchanged.
    """
    with _held(path.parent):
        entries = read(path)
        for entry in new:
            if entry.improves(entries.get(entry.benchmark)):
                entries[entry.benchmark] = entry
        write_text_atomically(path, _text(entries))
    op_counts.cache_clear()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Locks a folder among all processes that use this function."""
    folder.mkdir(parents=True, exist_ok=True)
    # The folder is locked, since each write replaces the file.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _text(entries: dict[str, BestKnown]) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for _, best in sorted(entries.items()):
        row = vars(best) | {"passes": " ".join(best.passes)}
        writer.writerow([row[column] for column in _COLUMNS])
    return lines.getvalue()


@cache
def op_counts() -> dict[str, int]:
    """Returns the least known op count of the corpus's present benchmarks, by name.

    All entries count: each was verified, even if it could not be compared with its original.
    """
    return {name: best.op_count for name, best in current().items()}


def known_of(names: Iterable[str]) -> dict[str, int]:
    """Returns the least known op count of those benchmarks that have one."""
    counts = op_counts()
    return {name: counts[name] for name in names if name in counts}
