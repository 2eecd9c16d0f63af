"""The table shows raw counts, both means, and names whatever a mean hides."""

import csv
import hashlib

import pytest

from experiments.evaluate.benchmarks import Reference
from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.results import Result, save, summary, table_text
from hlograph.storage.checked_file import read_checked_json


def _outcome(benchmark: str, start: int, op_count: int, passes: int) -> Outcome:
    return Outcome(benchmark, start, op_count, ("dce",) * passes, calls=passes + 2)


@pytest.fixture
def result():
    references = {
        "a/b/c": Reference(100, {"xla-cpu": 80, "xla-simplify": 50}),
        "d/e/f": Reference(200, {"xla-cpu": 210, "xla-simplify": 100}),
    }
    outcomes = {
        "gnn": [_outcome("a/b/c", 100, 40, 3), _outcome("d/e/f", 200, 105, 4)],
        "op_counts": [_outcome("a/b/c", 100, 100, 0), _outcome("d/e/f", 200, 150, 1)],
    }
    good = Check(None, "equal")
    checks = {
        "gnn": [good, Check(None, "not comparable")],
        "op_counts": [good, Check("its outputs differ", "different")],
    }
    return Result.of(references, outcomes, checks)


def test_summary(result):
    found = summary(result)
    assert found["gnn"]["xla-cpu"]["count_ratio"] == pytest.approx(2.0)
    assert found["gnn"]["xla-cpu"]["reduction_ratio"] == pytest.approx(3.0)
    assert found["gnn"]["xla-cpu"]["worst_count_ratio"] == pytest.approx(2.0)
    assert found["gnn"]["xla-simplify"]["worst_count_ratio"] == pytest.approx(100 / 105)
    assert found["gnn"]["xla-cpu"]["reduction_counted"] == 1
    assert found["gnn"]["xla-cpu"]["not_reduced_by_reference"] == ["d/e/f"]
    assert found["gnn"]["xla-simplify"]["reduction_ratio"] == pytest.approx((1.2 * 0.95) ** 0.5)
    assert found["op_counts"]["xla-cpu"]["reduction_ratio"] == 0.0
    assert found["op_counts"]["xla-cpu"]["not_reduced_by_agent"] == ["a/b/c"]


def test_table(result):
    text = table_text(result)
    row = next(line for line in text.splitlines() if "a/b/c" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["a/b/c", "100", "80", "50", "40", "3/5", "100", "0/2"]
    assert "2.0000" in text
    means = [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines()]
    gnn = {row[2]: row[3:] for row in means if row[:2] == ["gnn", "xla-simplify"]}
    assert gnn == {
        "all": ["1.0911", "0.952", "1.0677", "2 of 2"],
        "up to 100 instructions": ["1.2500", "1.250", "1.2000", "1 of 1"],
        "larger": ["0.9524", "0.952", "0.9500", "1 of 1"],
    }
    assert "xla-cpu does not reduce, no reduction ratio: d/e/f" in text
    assert "op_counts does not reduce: a/b/c" in text
    assert "op_counts does not reduce: a/b/c, d/e/f" not in text  # only the first has a ratio
    assert "NOT COUNTED: op_counts on d/e/f: its outputs differ" in text
    assert "outputs of gnn's modules against the originals': 1 equal, 1 not comparable" in text


def test_an_outcome_that_failed_its_check_counts_as_the_original(result):
    assert result.outcomes["op_counts"][1].op_count == 200
    assert result.outcomes["op_counts"][1].passes == ()
    assert result.count_ratio("op_counts", "xla-simplify") == pytest.approx(
        (50 / 100 * 100 / 200) ** 0.5
    )


def test_files(result, tmp_path):
    save(result, tmp_path)
    content = read_checked_json(tmp_path / "results.json", "results", 1)
    assert content["summary"] == summary(result)
    assert content["checks"]["op_counts"]["d/e/f"]["verdict"] == "different"
    assert content["passes"]["gnn"]["a/b/c"] == ["dce"] * 3
    with (tmp_path / "results.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [row["gnn"] for row in rows] == ["40", "105"]
    assert rows[1]["xla-cpu"] == "210"
    assert (tmp_path / "table.txt").read_text().strip() == table_text(result).strip()
    for name, digest in content["files"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
