"""Places, splits and sizes of the sets that `build_corpus.py` builds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import speed_splits
import splits
from manifest import ROOT, Row


class Build(NamedTuple):
    """One build of `build_corpus.py`.

    Attributes:
        folder: Folder of the manifest, of the modules and of `sources/`.
        package: Package of the sources, as this folder's scripts import it.
        smallest: Instructions that a module must have.
        assign: Returns rows with their sets and splits.
        check_family: Raises an error if graphs of a family cannot be taken.
    """

    folder: Path
    package: str
    smallest: int
    assign: Callable[[Iterable[Row]], list[Row]]
    check_family: Callable[[str], object]

    def sources(self) -> list[str]:
        """Returns the names of all sources."""
        return sorted(path.stem for path in self.folder.glob("sources/*.py"))


SMALL = Build(ROOT, "sources", 20, splits.assign, lambda family: None)
"""The sets `gpt2-train` and `diverse`, which are one corpus."""

SPEED = Build(ROOT / "speed", "speed.sources", 8, speed_splits.assign, speed_splits.split_of_family)
"""The set `speed`."""

BUILDS = {"small": SMALL, "speed": SPEED}
"""The builds by the value of `--set`."""
