"""Files of races, which experiments.tune has written."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlograph.errors import DamagedFileError

SPEED_TABLE, TUNE_TABLE = "speed.csv", "tune.csv"
"""Tables of runs: of earlier ones with a single competitor, which has no name there, and of
experiments.tune."""


@dataclass(frozen=True)
class RecordedRace:
    """Result of a race.

    Attributes:
        competitor: Its methods; empty in old runs with one competitor.
        seed: Its seed.
        row: The result, by column of the table.
        curve: Seconds and the best screening ratio so far.
        plan: Path of the winning plan in the run's folder; empty if there is none.
    """

    competitor: str
    seed: str
    row: Mapping[str, Any]
    curve: Sequence[tuple[float, float]] = ()
    plan: str = ""

    @property
    def program(self) -> str:
        """Name of the program."""
        return self.row["program"]

    @property
    def error(self) -> str:
        """The reason why it was not measured; empty if it was."""
        return self.row.get("error") or ""

    @property
    def ratio(self) -> float:
        """The speed relative to the default; 1 if jaxlib's default is kept."""
        return number(self.row["ratio"])

    @property
    def is_final(self) -> bool:
        """True if there is no plan to measure a second time, or it was."""
        kept = not self.row["method"]
        return kept or bool(self.error) or number(self.row["low"]) != number(self.row["high"])


def plans_of(folder: Path) -> dict[str, str]:
    """Returns the programs of the winning plans of a run, by the plans' paths in its folder."""
    return {race.plan: race.program for race in read_races(folder) if race.plan}


def read_races(folder: Path) -> list[RecordedRace]:
    """Returns the results in the files of single programs, or in the table without these.

    Args:
        folder: Folder of the run, or one with its table alone.

    Returns:
        The results, in the order of the table if there is one.

    Raises:
        DamagedFileError: A file is none of this version.
        OSError: A file cannot be read.
    """
    table, found = list(_table(folder)), list(_files(folder))
    order = {_key(race): number for number, race in enumerate(table)}
    found.sort(key=lambda race: order.get(_key(race), len(order)))
    return found or table


def _files(folder: Path) -> Iterator[RecordedRace]:
    for path in sorted((folder / "programs").glob("*.json")):
        yield _race(path, folder)
    for path in sorted(folder.glob("races/*/seed-*/programs/*.json")):
        way, seed = path.parents[2].name, path.parents[1].name
        yield _race(path, folder, way.replace("--", "/"), seed.removeprefix("seed-"))


def _table(folder: Path) -> Iterator[RecordedRace]:
    for name in (SPEED_TABLE, TUNE_TABLE):
        if (folder / name).is_file():
            with (folder / name).open(newline="") as file:
                for row in csv.DictReader(file):
                    yield RecordedRace(row.get("competitor", ""), row.get("seed", ""), row)


def _key(race: RecordedRace) -> tuple[str, str, str]:
    return race.program, race.competitor, race.seed


def _race(path: Path, folder: Path, competitor: str = "", seed: str = "") -> RecordedRace:
    try:
        content = json.loads(path.read_text())
        curve = [(point[0], point[2]) for point in content.pop("curve", ())]
        row = {**content, "decisions": "; ".join(content["decisions"])}
        needed = {name: row[name] for name in ("program", "ratio", "low", "high", "method")}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise DamagedFileError(f"{path} is no result of a race: {error!r}") from error
    plan = path.parents[1] / "plans" / f"{path.stem}.plan.json"
    found = str(plan.relative_to(folder)) if needed["method"] and plan.is_file() else ""
    return RecordedRace(competitor, seed, row, curve, found)


def number(text: Any) -> float:
    """Returns a number of a table or of JSON; nan of nothing."""
    return math.nan if text in (None, "") else float(text)
