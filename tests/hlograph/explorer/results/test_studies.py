"""Pages of studies, against those that the repository has."""

import json
from pathlib import Path

import pytest

from hlograph.errors import DamagedFileError
from hlograph.explorer.results.studies import BETTER, study_results
from hlograph.explorer.results.tables import Bars, Interval, Lines, PageTable
from hlograph.storage.checked_file import write_checked_json

STUDIES = Path(__file__).parents[4] / "docs" / "results" / "studies"


def test_ratios_are_those_of_the_report():
    page = study_results(STUDIES / "figure2" / "study.json")
    # docs/results/README.md has these figures.
    assert "PPO (GNN), 0.984 (seeds 0.982 to 0.986)" in page.findings[0]
    bars = next(part for part in page.sections[0].parts if isinstance(part, Bars))
    assert len(bars.bars) == 11
    table = next(part for part in page.sections[0].parts if isinstance(part, PageTable))
    to_better = [column.name for column in table.columns].index(f"to {BETTER}")
    rows = {row[0]: row[to_better] for row in table.rows}
    assert rows == bars.bars
    curves = [p for s in page.sections for p in s.parts if isinstance(p, Lines)]
    assert {name for part in curves for name in part.lines} == set(bars.bars)


@pytest.mark.parametrize("name", sorted(path.name for path in STUDIES.iterdir()))
def test_every_study_is_a_page(name):
    (path,) = (STUDIES / name).glob("study.json*")
    page = study_results(path)
    json.dumps(page.to_json(), allow_nan=False)
    assert page.findings
    assert page.made["command"].startswith("python -m experiments.paper")
    for part in (part for section in page.sections for part in section.parts):
        for bar in part.bars.values() if isinstance(part, Bars) else ():
            assert bar.low <= bar.value <= bar.high


def test_results_that_failed_their_check_count_as_no_passes(tmp_path):
    content = json.loads((STUDIES / "figure2" / "study.json").read_text())
    study = {k: v for k, v in content.items() if k not in ("kind", "version", "sha256")}
    (trial,) = study["trials"][:1]
    for check in trial["checks"]:
        check["problem"] = "wrong"
    study["trials"] = [trial]
    write_checked_json(tmp_path / "study.json", "study", 1, study)
    page = study_results(tmp_path / "study.json")
    table = page.sections[0].parts[1]
    assert isinstance(table, PageTable)
    (row,) = table.rows
    assert row[-1] == len(trial["checks"])
    assert isinstance(row[2], Interval)
    counts = page.sections[-1].parts[0]
    assert isinstance(counts, PageTable)
    assert all(row[1] == row[-1] for row in counts.rows)


def test_run_times_are_medians_with_intervals():
    page = study_results(STUDIES / "runtime" / "study.json")
    bars, table = page.sections[0].parts
    assert isinstance(bars, Bars)
    assert isinstance(table, PageTable)
    assert bars.bars["control"].value == pytest.approx(1.0023, abs=1e-4)
    assert {row[1] for row in table.rows} == set(bars.bars)


def test_damaged_study_is_refused(tmp_path):
    text = (STUDIES / "figure3" / "study.json").read_text()
    (tmp_path / "study.json").write_text(text.replace('"quick"', '"paper"', 1))
    with pytest.raises(DamagedFileError):
        study_results(tmp_path / "study.json")
