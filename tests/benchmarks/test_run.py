"""The command: settings, one run of the cheapest group, pages and pictures without a run."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.labels import BYTES
from benchmarks.results import load, save
from benchmarks.run import main, parse, run
from benchmarks.settings import GROUPS, PRESETS
from benchmarks.tables import write_page


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The file with results of the cheapest group."""
    out = tmp_path_factory.mktemp("run") / "results.json"
    run(replace(PRESETS["quick"], groups=("memory",), growth_limit=10_000, rounds=1, out=out))
    return out


def test_flags_change_what_the_preset_says():
    assert parse([]) == PRESETS["quick"]
    found = parse(["--rounds", "3", "--preset", "full", "--groups", "steps", "graphs"])
    assert found == replace(PRESETS["full"], rounds=3, groups=("steps", "graphs"))
    assert parse(["--groups"]).groups == ()


def test_the_file_holds_what_was_measured_and_with_what(measured):
    result = load(measured)["memory"]
    assert result.seconds > 0
    assert set(result.made_with) >= {"time", "commit", "versions", "processor", "settings", "load"}
    assert result.made_with["settings"]["growth_limit"] == 10_000
    parsed, stepped = (
        result.named("parse to a module"),
        result.named("an environment that steps on it"),
    )
    assert list(parsed) == ["1,000", "10,000"]
    assert 0 < parsed["1,000"].value < parsed["10,000"].value < stepped["10,000"].value
    # An instruction of XLA takes some hundred bytes at least, and not tens of thousands.
    assert 100 < result.named(BYTES)["10,000"].value < 20_000


def test_groups_that_are_not_measured_stay(measured, tmp_path):
    out = tmp_path / "results.json"
    before = {"steps": replace(load(measured)["memory"], title="of yesterday")}
    save(before, out)
    after = run(replace(PRESETS["quick"], groups=(), out=out))
    assert after == before == load(out)


def test_tables_and_pictures_are_made_anew_without_measuring(measured, tmp_path, capsys):
    page = tmp_path / "performance.md"
    marks = "".join(f"<!-- begin: {name} -->\n<!-- end -->\n" for name in (*GROUPS, "missed"))
    page.write_text(marks)
    assert main(["--groups", "--out", str(measured), "--page", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    assert f"| {BYTES} | B |" in page.read_text()
    assert "parse to a module" in (tmp_path / "growth.svg").read_text()


def test_a_page_that_is_not_there_is_one_line(measured, tmp_path, capsys):
    page = tmp_path / "none.md"
    assert main(["--groups", "--out", str(measured), "--page", str(page)]) == 1
    assert f"HloError: expected a Markdown page with marks at {page}" in capsys.readouterr().err


def test_the_page_of_the_documentation_has_all_marks(tmp_path, measured):
    page = tmp_path / "page.md"
    page.write_text((Path(__file__).parents[2] / "docs" / "performance.md").read_text())
    write_page(dict.fromkeys(GROUPS, load(measured)["memory"]), page)
