"""Runs over programs: what a folder has no times of is measured, for some minutes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import Protocol, TypeVar

from tqdm import tqdm

from benchmarks.peers.results import PeersRow


class Named(Protocol):
    """A program with a name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


P = TypeVar("P", bound=Named)


def within(minutes: float | None, programs: Sequence[P], desc: str) -> Iterator[P]:
    """Yields programs, with a progress bar, of which none begins when the time is over.

    Args:
        minutes: The time; None is as long as it takes.
        programs: The programs.
        desc: Name of the bar.
    """
    end = time.monotonic() + 60 * (math.inf if minutes is None else minutes)
    with tqdm(programs, unit="program", desc=desc, disable=None) as bar:
        for program in bar:
            if time.monotonic() >= end:
                return
            bar.set_postfix_str(program.name)
            yield program


def rows_of(
    programs: Sequence[P],
    wanted: Callable[[P], bool],
    folder: Path,
    measure: Callable[[P], PeersRow],
    write: Callable[[Sequence[PeersRow]], object],
    minutes: float | None,
) -> list[PeersRow]:
    """Returns the times of programs, of which the wanted ones that a folder lacks are measured.

    Args:
        programs: All programs.
        wanted: True for those to measure.
        folder: The folder. A program's times are saved as soon as it ends.
        measure: Measures a program.
        write: Writes what is made of all times so far.
        minutes: Time after which no program begins; None is as long as it takes.
    """
    rows = {program.name: PeersRow.load(folder, program.name) for program in programs}
    missing = [each for each in programs if rows[each.name] is None and wanted(each)]
    for program in within(minutes, missing, folder.name):
        rows[program.name] = row = measure(program)
        row.save(folder)
        write(_known(rows.values()))
    return _known(rows.values())


def _known(rows: Iterable[PeersRow | None]) -> list[PeersRow]:
    return [row for row in rows if row is not None]


def left_over(programs: Sized, rows: Sized) -> list[str]:
    """Returns a sentence on programs without times; none if there are no such programs."""
    left = len(programs) - len(rows)
    return [f"{left} of {len(programs)} programs are not measured yet"] if left else []
