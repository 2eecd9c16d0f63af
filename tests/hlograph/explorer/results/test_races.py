"""Pages of races, from files that experiments.tune writes."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.evaluate.metrics import geometric_mean
from experiments.tune.results import CurvePoint, RaceResult, to_csv
from hlograph.errors import DamagedFileError
from hlograph.explorer.results.races import plans_of, race_results, read_races
from hlograph.explorer.results.tables import Bars, Interval, Lines, PageTable
from hlograph.plans import Plan
from hlograph.storage.machine import machine

KEPT = RaceResult(
    *("joint", 0, "ode/small/n4", "ode"),
    plans=3,
    machine=machine(),
    curve=(CurvePoint(1.0, 1, 1.0, 1.0),),
)
FAST = RaceResult(
    *("joint", 0, "n-body/forces/n512", "n-body", "flags: wide", ("flag a = 1",), "close", "close"),
    *(2.0, 2.1, 2.0, 1.9, 2.2, 1.01, 8, 30.0),
    curve=(CurvePoint(1.0, 1, 1.5, 1.0), CurvePoint(20.0, 5, 2.1, 2.0)),
    plan=Plan(flags={"xla_cpu_prefer_vector_width": 512}),
)
FAILED = replace(KEPT, program="ode/broken/n1", error="XLA does not compile it")


def _save(folder: Path, *results: RaceResult) -> None:
    for result in results:
        result.save(folder)


def folder_of(run: Path, competitor: str) -> Path:
    return run / "races" / competitor / "seed-0"


def _table(page) -> PageTable:
    (section,) = [section for section in page.sections if section.title == "Programs"]
    (table,) = section.parts
    return table


def test_run_of_one_competitor_of_before(tmp_path):
    _save(tmp_path, KEPT, FAST, FAILED)
    page = race_results(tmp_path)
    assert f"{geometric_mean([1.0, 2.0]):.3f} times as fast" in page.findings[0]
    assert "jaxlib's default is kept for 1." in page.findings[0]
    assert page.findings[-1] == "Not measured: ode/broken/n1."
    rows = {row[0]: row for row in _table(page).rows}
    assert rows["n-body/forces/n512"][2] == Interval(2.0, 1.9, 2.2)
    assert rows["ode/broken/n1"][2] is None
    assert rows["ode/broken/n1"][-1] == "XLA does not compile it"
    ((plan, program),) = plans_of(tmp_path).items()
    assert program == FAST.program
    assert Plan.load(tmp_path / plan).flags
    lines = page.sections[-1].parts[0]
    assert isinstance(lines, Lines)
    assert lines.lines["n-body"][0] == (0.0, 1.0)
    assert lines.lines["n-body"][-1] == pytest.approx((20.0, 2.1))
    json.dumps(page.to_json(), allow_nan=False)


def test_table_alone_says_the_same(tmp_path):
    whole, table = tmp_path / "whole", tmp_path / "table"
    _save(whole, KEPT, FAST)
    table.mkdir()
    rows = list(csv.reader(to_csv([KEPT, FAST]).splitlines()))
    with (table / "speed.csv").open("w") as file:  # as it was, without competitor and seed
        csv.writer(file).writerows(row[2:] for row in rows)
    first, second = (_table(race_results(folder)) for folder in (whole, table))
    names = [row[0] for row in second.rows]
    assert sorted(names) == sorted(row[0] for row in first.rows)
    assert dict(zip(names, (row[2] for row in second.rows), strict=True))[FAST.program] == (
        Interval(2.0, 1.9, 2.2)
    )


def test_run_of_tune_compares_on_common_programs(tmp_path):
    _save(folder_of(tmp_path, "joint"), FAST, KEPT)
    _save(folder_of(tmp_path, "flags,greedy"), replace(FAST, ratio=1.5, low=1.4, high=1.6))
    (tmp_path / "tune.csv").write_text(to_csv([FAST, KEPT]))
    assert [race.competitor for race in read_races(tmp_path)][:2] == ["joint", "joint"]
    page = race_results(tmp_path)
    (bars,) = page.sections[0].parts
    assert isinstance(bars, Bars)
    assert bars.bars["joint"].value == pytest.approx(2.0)
    assert bars.bars["flags,greedy"].value == pytest.approx(1.5)
    assert "1 programs" in page.sections[0].note
    plans = [row[-2] for row in _table(page).rows if row[-2]]
    assert plans == list(plans_of(tmp_path))
    assert all((tmp_path / str(plan)).is_file() for plan in plans)


def test_winner_that_waits_for_its_second_measurement_is_named(tmp_path):
    _save(tmp_path, replace(FAST, low=2.0, high=2.0))
    assert "1 winners were not measured a second time yet." in race_results(tmp_path).findings


def test_file_that_is_no_result_is_refused(tmp_path):
    _save(tmp_path, FAST)
    (tmp_path / "programs" / "other.json").write_text("[]")
    with pytest.raises(DamagedFileError, match=r"other\.json"):
        race_results(tmp_path)
