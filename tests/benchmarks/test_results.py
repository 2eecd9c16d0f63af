"""Tests figures, aims, the JSON file, tables and pages."""

import json
from dataclasses import replace

import pytest

from benchmarks.results import Aim, Figure, GroupResult, load, save
from benchmarks.tables import markdown, missed, number, rows_of, write_page
from hlograph.errors import DamagedFileError, HloError
from hlograph.execution.bootstrap import Interval

RATIO = Figure.of("env step / pass", "1,000", Interval(1.3, 1.2, 1.5), "x", Aim(1.2))
SPEED = Figure.of("steps", "1,000", 6_000.0, "1/s", Aim(5_000, at_most=False))
OTHER = Figure.of("steps", "8,000", 700.0, "1/s")
GROUP = GroupResult(
    "Steps",
    (RATIO, SPEED, OTHER),
    {"1,000": "`gpt2`, 1,039 instructions", "all": "on a quiet machine"},
    12.5,
    {"time": "2026-01-01", "commit": "0123456789abcdef+changes", "cpus": 2, "processor": "P"},
)


def test_aims_are_upper_or_lower_bounds():
    assert Aim(1.2).reached(1.2)
    assert not Aim(1.2).reached(1.21)
    assert Aim(100, at_most=False).reached(100)
    assert not Aim(100, at_most=False).reached(99)
    assert (str(Aim(1.2)), str(Aim(5_000, at_most=False))) == ("≤ 1.2", "≥ 5,000")
    assert [figure.missed for figure in GROUP.figures] == [True, False, False]


def test_results_come_back_from_their_file_as_they_were(tmp_path):
    results = {"steps": GROUP, "graphs": GroupResult("Graphs", ())}
    save(results, tmp_path / "new" / "results.json")
    assert load(tmp_path / "new" / "results.json") == results
    assert load(tmp_path / "none.json") == {}


@pytest.mark.parametrize("text", ["", "[]", '{"format": 0}', '{"format": 1}', "{"])
def test_a_file_of_something_else_is_told_of(tmp_path, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(DamagedFileError, match="--out"):
        load(path)


def test_the_file_is_json_that_anybody_reads(tmp_path):
    save({"steps": GROUP}, tmp_path / "results.json")
    figure = json.loads((tmp_path / "results.json").read_text())["groups"]["steps"]["figures"][0]
    assert figure["value"] == 1.3
    assert figure["aim"] == {"limit": 1.2, "at_most": True}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.0123, "0.0123"), (1.234, "1.23"), (9.999, "10.00"), (56.78, "56.8"),
     (123_456.7, "123,457"), (-33.3, "-33.3")],
)  # fmt: skip
def test_numbers_have_about_three_digits(value, text):
    assert number(value) == text


def test_a_table_has_a_row_for_each_measure_and_marks_what_missed_its_aim():
    headings, rows = rows_of(GROUP)
    assert headings == ["", "unit", "1,000", "8,000", "aim"]
    assert rows == [
        ["env step / pass", "x", "**1.30**", "", "≤ 1.2"],
        ["steps", "1/s", "6,000", "700", "≥ 5,000 at 1,000"],
    ]


def test_what_was_missed_is_listed():
    assert "| Steps | env step / pass | 1,000 | 1.30 | ≤ 1.2 |" in missed({"steps": GROUP})
    assert "steps | 8,000" not in missed({"steps": GROUP})
    reached = replace(GROUP, figures=(SPEED,))
    assert missed({"steps": reached}) == "All aims are reached."
    others = missed({"loop": replace(GROUP, title="Loop")})
    both = missed({"steps": GROUP}, others)
    assert both.count("| Loop |") == both.count("| Steps |") == 1
    assert missed({"steps": reached}, both) == others


def test_a_page_is_written_between_its_marks_only(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- begin: steps -->\nold\n<!-- end -->\nbetween\n"
        "<!-- begin: missed -->\n<!-- end -->\nafter\n"
    )
    write_page({"steps": GROUP}, page)
    text = page.read_text()
    assert markdown(GROUP) in text
    assert "old" not in text
    assert [text.count(word) for word in ("before\n", "\nbetween\n", "\nafter\n")] == [1, 1, 1]
    assert "commit `0123456789+changes`" in text
    write_page({"steps": GROUP}, page)
    assert page.read_text() == text


def test_a_page_without_a_mark_is_told_of_and_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(HloError, match="begin: steps"):
        write_page({"steps": GROUP}, page)
    assert page.read_text() == "nothing"
    with pytest.raises(HloError, match="there is none"):
        write_page({}, tmp_path / "none.md")
