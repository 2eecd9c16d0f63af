"""Chooses the graphs that are shipped: a family has a share of the repository's size.

The sources offer more than a repository should hold. `python datasets/shipping.py`, after
`build_corpus.py --all`, names in `not_shipped.txt` what goes beyond the shares; the next
`build_corpus.py` passes over it and removes its files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from manifest import ROOT, Row, path_of, read_manifest
from splits import fraction

from hlograph.storage.atomic_write import write_text_atomically

NOT_SHIPPED = ROOT / "not_shipped.txt"

SHARE = 260_000
"""Bytes of compressed modules that a family may have."""

LARGER_SHARES = {"gpt2": 2_500_000}
"""Families whose share is larger."""

ALWAYS = frozenset({"gpt2/l2-h64/train-adamw-b2-s32", "gpt2/l75-h16-a2/train-adamw-b1-s8"})
"""Graphs that are shipped in any case: one that examples name, and the largest."""


def read_not_shipped(path: Path = NOT_SHIPPED) -> list[str]:
    """Returns the names of the graphs that are not shipped."""
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def beyond_shares(rows: Iterable[Row], size: Callable[[str], int]) -> list[str]:
    """Returns the names of the graphs that go beyond their families' shares, sorted.

    A family's graphs are taken in an order that a hash of their names gives, those whose structure
    was taken before last; a graph that no longer fits is passed over, and smaller ones follow.

    Args:
        rows: The manifest of all graphs.
        size: Bytes of a graph's file, by its name.
    """
    families: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: fraction(row.name)):
        families[row.family].append(row)
    passed_over = []
    for family, members in families.items():
        left = LARGER_SHARES.get(family, SHARE)
        for row in novel_first(members):
            cost = size(row.name)
            if row.name in ALWAYS or cost <= left:
                left -= cost
            else:
                passed_over.append(row.name)
    return sorted(passed_over)


def novel_first(rows: list[Row]) -> list[Row]:
    """Returns the rows with those last whose structure another one before them has."""
    seen: set[str] = set()
    novel, repeated = [], []
    for row in rows:
        (repeated if row.structure in seen else novel).append(row)
        seen.add(row.structure)
    return novel + repeated


def main() -> None:
    """Writes `not_shipped.txt`."""
    rows = read_manifest()
    names = beyond_shares(rows, lambda name: (ROOT / path_of(name)).stat().st_size)
    names = sorted({*names, *read_not_shipped()} - ALWAYS)
    write_text_atomically(NOT_SHIPPED, "".join(f"{name}\n" for name in names))
    print(f"{len(names)} graphs in {NOT_SHIPPED.name}")


if __name__ == "__main__":
    main()
