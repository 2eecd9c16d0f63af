"""Pages of races: what experiments.tune has written."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hlograph.errors import DamagedFileError
from hlograph.execution.bootstrap import Interval, bootstrap_interval
from hlograph.explorer.results.studies import geometric_mean
from hlograph.explorer.results.tables import (
    Bars,
    Cell,
    Lines,
    PageColumn,
    PageSection,
    PageTable,
    Results,
    made_with,
)

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
    table, races = list(_rows(folder)), list(_files(folder))
    order = {_key(race): number for number, race in enumerate(table)}
    races.sort(key=lambda race: order.get(_key(race), len(order)))
    return races or table


def _files(folder: Path) -> Iterator[RecordedRace]:
    for path in sorted((folder / "programs").glob("*.json")):
        yield _race(path, folder)
    for path in sorted(folder.glob("races/*/seed-*/programs/*.json")):
        way, seed = path.parents[2].name, path.parents[1].name
        yield _race(path, folder, way.replace("--", "/"), seed.removeprefix("seed-"))


def _rows(folder: Path) -> Iterator[RecordedRace]:
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
    stored = str(plan.relative_to(folder)) if needed["method"] and plan.is_file() else ""
    return RecordedRace(competitor, seed, row, curve, stored)


def number(text: Any) -> float:
    """Returns a number of a table or of JSON; nan of nothing."""
    return math.nan if text in (None, "") else float(text)


_POINTS = 60  # of a curve
_FASTER, _SLOWER = 1.1, 0.98


def race_results(folder: Path) -> Results:
    """Returns the page of a run of experiments.tune.

    Args:
        folder: Folder of the run, or one with its table alone.

    Raises:
        DamagedFileError: A file is none of this version.
        OSError: A file cannot be read.
    """
    races = read_races(folder)
    made = folder / "made.json"
    content = json.loads(made.read_text()) if made.is_file() else {}
    sections = list(_sections(races))
    return Results(folder.name, sections, _findings(races), (), made_with(content), folder)


def _findings(races: Sequence[RecordedRace]) -> list[str]:
    """Returns what came of the races, one sentence each."""
    measured = [race for race in races if not race.error]
    if not measured:
        return ["No program was measured."]
    lines = []
    for competitor, own in _by_competitor(measured).items():
        ratios = [race.ratio for race in own]
        low, high = bootstrap_interval(ratios)
        kept = sum(not race.row["method"] for race in own)
        name = f"{competitor}: " if competitor else ""
        lines.append(
            f"{name}{len(own)} results are {geometric_mean(ratios):.3f} times as fast in the "
            f"geometric mean (95 % interval {low:.3f} to {high:.3f}); "
            f"{sum(r > _FASTER for r in ratios)} above {_FASTER}, {sum(r >= 2 for r in ratios)} at "
            f"2 or more, {sum(r < _SLOWER for r in ratios)} below {_SLOWER}. jaxlib's default is "
            f"kept for {kept}."
        )
    if waiting := sum(not race.is_final for race in measured):
        lines.append(f"{waiting} winners were not measured a second time yet.")
    if len(measured) < len(races):
        failed = ", ".join(dict.fromkeys(race.program for race in races if race.error))
        lines.append(f"Not measured: {failed}.")
    return lines


def _sections(races: Sequence[RecordedRace]) -> Iterator[PageSection]:
    measured = [race for race in races if not race.error]
    groups = _by_competitor(measured)
    if len(groups) > 1:
        common = set.intersection(*({r.program for r in own} for own in groups.values()))
        bars = {}
        for competitor, own in groups.items():
            ratios = [race.ratio for race in own if race.program in common]
            bars[competitor] = Interval(geometric_mean(ratios), *bootstrap_interval(ratios))
        note = (
            f"Geometric means of the speed over jaxlib's default on the {len(common)} programs "
            "that all have a result of, with 95 % intervals over programs."
        )
        yield PageSection("Ways to tune", [Bars(1.0, bars)], note)
    note = (
        "Time of jaxlib's default / time with the plan, in a second measurement in a process of "
        "its own, with the 95 % interval."
    )
    yield PageSection("Programs", [_table(races)], note)
    lines = _lines(measured, groups)
    if lines:
        note = "The largest ratio of a screening so far; geometric means start at jaxlib's default."
        part = Lines("seconds", "times as fast", lines, True)
        yield PageSection("At any time", [part], note)


def _table(races: Sequence[RecordedRace]) -> PageTable:
    tuned = any(race.competitor for race in races)
    columns = [
        PageColumn("program", "program"),
        *((PageColumn("way"), PageColumn("seed")) if tuned else ()),
        PageColumn("family"),
        PageColumn("times as fast", "interval", "Default / plan, and the 95 % interval."),
        PageColumn("default ms", "number", "Median time of a run of jaxlib's default."),
        PageColumn("in the race", "number", "The ratio at the end of the race."),
        PageColumn("control", "number", "The default beside itself, compiled again."),
        PageColumn("numerics", "text", "Class of the plan's results."),
        PageColumn("outputs", "text", "Verdict of the comparison with the default's outputs."),
        PageColumn("plans", "count", "Plans that were measured."),
        PageColumn("seconds", "number", "Duration of the race."),
        PageColumn("plan", "plan"),
        PageColumn("what was done", "text"),
    ]
    rows: list[list[Cell]] = []
    for race in races:
        row = race.row
        interval = Interval(race.ratio, number(row["low"]), number(row["high"]))
        rows.append(
            [
                race.program,
                *((race.competitor, race.seed) if tuned else ()),
                row.get("family", ""),
                None if race.error else interval,
                *(number(row.get(name)) for name in ("default_ms", "raced", "control")),
                row.get("numerics", ""),
                row.get("outputs", ""),
                int(number(row.get("plans", 0))),
                number(row.get("seconds")),
                race.plan,
                race.error or row.get("decisions") or "jaxlib's default",
            ]
        )
    return PageTable(columns, rows, sort=4 if tuned else 2)


def _lines(
    races: Sequence[RecordedRace], groups: Mapping[str, Sequence[RecordedRace]]
) -> dict[str, list[tuple[float, float]]]:
    """Returns the geometric mean of what was found by when, of each competitor or each family."""
    longest = max((seconds for race in races for seconds, _ in race.curve), default=0.0)
    if not longest:
        return {}
    at = np.linspace(0.0, longest, _POINTS).tolist()
    if len(groups) == 1:
        families = {race.row.get("family", ""): list[RecordedRace]() for race in races}
        for race in races:
            families[race.row.get("family", "")].append(race)
        groups = {"all programs": races, **families}
    return {
        name: [(t, geometric_mean([_best_at(race, t) for race in own])) for t in at]
        for name, own in groups.items()
    }


def _best_at(race: RecordedRace, seconds: float) -> float:
    return max((best for when, best in race.curve if when <= seconds), default=1.0)


def _by_competitor(races: Sequence[RecordedRace]) -> dict[str, list[RecordedRace]]:
    grouped: dict[str, list[RecordedRace]] = {}
    for race in races:
        grouped.setdefault(race.competitor, []).append(race)
    return grouped
