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
"""Verdicts on results that were run beside the original; see ``hlograph.execution.equivalence``."""
_NOT_COMPARED = "not compared"
_COLUMNS = ("benchmark", "fingerprint", "op_count", "method", "verdict", "passes")


@dataclass(frozen=True)
class BestKnown:
    """The least op count of a benchmark that is known, and how to come to it.

    Its passes were run on a fresh module, led to the op count, and XLA's verifier took what they
    left.
    """

    benchmark: str
    fingerprint: str
    """Of the benchmark's module as the search found it."""
    op_count: int
    method: str
    """What found it."""
    passes: tuple[str, ...]
    """Run in this order on the benchmark they lead to the op count."""
    verdict: str = _NOT_COMPARED
    """How its outputs compare with the original's: equal, close, not comparable, not compared."""

    @property
    def compared(self) -> bool:
        """Whether anybody has run its result beside the original, or tried to."""
        return self.verdict != _NOT_COMPARED

    def improves(self, old: "BestKnown | None") -> bool:
        """Whether it is better than what is known, as good with fewer passes, or first compared.

        What is known of another module by the same name says nothing of this one.
        """
        if old is None or old.fingerprint != self.fingerprint:
            return True
        return self._rank() < old._rank()

    def _rank(self) -> tuple[int, int, bool]:
        return self.op_count, len(self.passes), not self.compared


def read(path: Path = FILE) -> dict[str, BestKnown]:
    """All rows, by benchmark; nothing if there is no such file.

    Results are to be taken from ``current``: rows may be of modules that the corpus has no more.
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
    """What is known of the corpus's benchmarks as they are now, by name."""
    fingerprints = {benchmark.name: benchmark.fingerprint for benchmark in corpus.load()}
    return {n: b for n, b in read(path).items() if b.fingerprint == fingerprints.get(n)}


def write(found: Iterable[BestKnown], path: Path = FILE) -> None:
    """Adds what was found where it improves what is known; other processes may do so meanwhile.

    Args:
        found: What a search found on the corpus's benchmarks as they are now.
        path: The file.

    Raises:
        OSError: It cannot be written; what was there before is unchanged.
    """
    with _held(path.parent):
        known = read(path)
        for new in found:
            if new.improves(known.get(new.benchmark)):
                known[new.benchmark] = new
        write_text_atomically(path, _text(known))
    op_counts.cache_clear()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keeps a folder for itself among all processes that ask for it so."""
    folder.mkdir(parents=True, exist_ok=True)
    # Of the folder, for the file is another one after each write.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _text(known: dict[str, BestKnown]) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for _, best in sorted(known.items()):
        row = vars(best) | {"passes": " ".join(best.passes)}
        writer.writerow([row[column] for column in _COLUMNS])
    return lines.getvalue()


@cache
def op_counts() -> dict[str, int]:
    """Least known op count of the corpus's benchmarks as they are now, by name.

    All count: each was verified, whether or not it could be run beside its original.
    """
    return {name: best.op_count for name, best in current().items()}
