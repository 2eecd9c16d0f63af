"""Times of programs under several peers: a file for each program, and a table of all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.tables import csv_text
from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.run_folder import file_stem
from hlograph.errors import DamagedFileError
from hlograph.execution.bootstrap import Interval, bootstrap_interval
from hlograph.storage.atomic_write import write_text_atomically

DEFAULT = "default"
"""Name of the peer that all are compared with: jaxlib's default."""
FASTER, SLOWER = 1.1, 0.98
"""Ratios that count as a win, and that no program is to fall below."""
_FORMAT = 1


@dataclass(frozen=True)
class PeerTimes:
    """Times of one program under one peer.

    Attributes:
        seconds: Seconds of one call in each turn; empty if it was not timed.
        compile_seconds: Seconds until the program could be called; None if that is not known.
        error: Why it was not timed; empty if it was.
        note: What was run, such as the plan in words.
    """

    seconds: tuple[float, ...] = ()
    compile_seconds: float | None = None
    error: str = ""
    note: str = ""

    @property
    def median(self) -> float:
        """Median seconds; nan if it was not timed."""
        return float(np.median(self.seconds)) if self.seconds else math.nan


@dataclass(frozen=True)
class PeersRow:
    """One program under several peers, timed in turns.

    Attributes:
        program: Its name.
        family: Its family or domain.
        peers: Times by the name of the peer.
        reference: What the outputs were compared with, and its times outside of the turns.
    """

    program: str
    family: str
    peers: Mapping[str, PeerTimes]
    reference: PeerTimes = field(default_factory=PeerTimes)

    def ratio(self, peer: str, over: str = DEFAULT) -> Interval | None:
        """Returns the time of one peer over that of another one, turn by turn.

        Args:
            peer: The peer that is judged: above 1 it is the faster one.
            over: The peer that it is compared with.

        Returns:
            Median and 95 % interval; None if one of them was not timed.
        """
        ratios = self._ratios(peer, over)
        return Interval.of_median(ratios) if ratios else None

    def best(self, peers: Iterable[str], over: str = DEFAULT) -> float:
        """Returns the largest median ratio of some peers to another one; 0 if none was timed."""
        timed = [ratios for peer in peers if (ratios := self._ratios(peer, over))]
        return max(map(median, timed), default=0.0)

    def _ratios(self, peer: str, over: str) -> list[float]:
        """Returns the ratio in each turn; none if one of them was not timed."""
        times, others = self.peers.get(peer), self.peers.get(over)
        if times is None or others is None or not times.seconds or not others.seconds:
            return []
        pairs = zip(others.seconds, times.seconds, strict=True)
        return [other / own for other, own in pairs]

    def save(self, folder: Path) -> None:
        """Writes the row to a file of a folder, under the name of the program."""
        content = {"format": _FORMAT, **asdict(self)}
        write_text_atomically(_file(folder, self.program), json.dumps(content) + "\n")

    @classmethod
    def load(cls, folder: Path, program: str) -> PeersRow | None:
        """Reads the row of a program; None if there is none.

        Raises:
            DamagedFileError: The file holds something else.
        """
        path = _file(folder, program)
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError(f"format {content['format']}, expected {_FORMAT}")
            return cls(
                content["program"],
                content["family"],
                {name: _times_of(times) for name, times in content["peers"].items()},
                _times_of(content["reference"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFileError(
                f"expected {path} to hold the times of a program, found {error!r}: delete it, or "
                "choose another folder with --out"
            ) from error


def _file(folder: Path, program: str) -> Path:
    return folder / "programs" / f"{file_stem(program)}.json"


def _times_of(content: Mapping[str, Any]) -> PeerTimes:
    return PeerTimes(**{**content, "seconds": tuple(content["seconds"])})


@dataclass(frozen=True)
class PeerSummary:
    """One peer over all programs that it can run.

    Attributes:
        peer: Its name.
        ratios: Median ratio to the default by program.
        failures: Reasons by program.
        programs: Number of programs that the default runs and that the peer was asked for.
        near: Number of programs on which it is within 1.1 of the fastest, a peer or the default.
    """

    peer: str
    ratios: Mapping[str, float]
    failures: Mapping[str, str]
    programs: int
    near: int

    @property
    def mean(self) -> float:
        """Geometric mean over the programs that it runs; nan of none."""
        return geometric_mean(list(self.ratios.values()))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of the mean, over programs."""
        return bootstrap_interval(list(self.ratios.values()))

    @property
    def faster(self) -> int:
        """Number of programs above 1.1."""
        return sum(ratio > FASTER for ratio in self.ratios.values())

    @property
    def slower(self) -> int:
        """Number of programs below 0.98."""
        return sum(ratio < SLOWER for ratio in self.ratios.values())

    def fast(self, times: float) -> float:
        """Returns the share of all programs that are right and more than so much faster."""
        right = sum(ratio > times for ratio in self.ratios.values())
        return right / self.programs if self.programs else math.nan


def summary_of(rows: Sequence[PeersRow], peer: str, over: str = DEFAULT) -> PeerSummary:
    """Returns what became of a peer, beside another one.

    Args:
        rows: All programs.
        peer: The peer.
        over: The peer that it is compared with.
    """
    ratios, failures, programs, near = {}, {}, 0, 0
    for row in rows:
        programs += peer in row.peers and bool(row.peers.get(over, PeerTimes()).seconds)
        if (ratio := row.ratio(peer, over)) is not None:
            ratios[row.program] = ratio.value
            near += FASTER * ratio.value >= row.best(row.peers, over)
        elif peer in row.peers and row.peers[peer].error:
            failures[row.program] = row.peers[peer].error
    return PeerSummary(peer, ratios, failures, programs, near)


def csv_of(rows: Iterable[PeersRow]) -> str:
    """Returns all times as CSV, a line for each program and peer."""
    heads = ("program", "family", "peer", "ms", "ratio", "low", "high", "compile_s", "turns")
    return csv_text([(*heads, "note", "error"), *_lines_of(rows)])


def _lines_of(rows: Iterable[PeersRow]) -> Iterator[list[object]]:
    for row in rows:
        for name, times in row.peers.items():
            ratio = row.ratio(name)
            numbers = ["", "", "", ""]
            if ratio is not None:
                numbers = [f"{value:.6g}" for value in (1e3 * times.median, *ratio)]
            compiling = times.compile_seconds
            seconds = "" if compiling is None else f"{compiling:.4g}"
            line = [row.program, row.family, name, *numbers, seconds, len(times.seconds)]
            yield [*line, times.note, times.error]
