"""Least op counts that any search has found, kept as data beside the corpus."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hlograph.atomic_write import write_text_atomically

FILE = Path(__file__).parents[1] / "datasets" / "best_known.csv"
_COLUMNS = ("benchmark", "fingerprint", "op_count", "method", "passes")


@dataclass(frozen=True)
class BestKnown:
    """The least op count of a benchmark that is known, and how to come to it."""

    benchmark: str
    fingerprint: str
    """Of the benchmark's module as it is in the corpus."""
    op_count: int
    method: str
    """What found it."""
    passes: tuple[str, ...]
    """Run in this order on the benchmark they lead to the op count."""

    def improves(self, old: "BestKnown | None") -> bool:
        """Whether it is better than what is known, or as good with fewer passes."""
        return old is None or (self.op_count, len(self.passes)) < (old.op_count, len(old.passes))


def read(path: Path = FILE) -> dict[str, BestKnown]:
    """What is known, by benchmark; nothing if there is no such file."""
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
        )
        for row in rows
    }


def write(found: Iterable[BestKnown], path: Path = FILE) -> None:
    """Adds what was found where it is better than what is known, or as good with fewer passes.

    Args:
        found: What a search found.
        path: The file.

    Raises:
        OSError: It cannot be written; what was there before is unchanged.
    """
    known = read(path)
    for new in found:
        if new.improves(known.get(new.benchmark)):
            known[new.benchmark] = new
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for _, best in sorted(known.items()):
        passes = " ".join(best.passes)
        writer.writerow([best.benchmark, best.fingerprint, best.op_count, best.method, passes])
    write_text_atomically(path, lines.getvalue())
    op_counts.cache_clear()


@cache
def op_counts() -> dict[str, int]:
    """Least known op count by benchmark."""
    return {name: best.op_count for name, best in read().items()}
