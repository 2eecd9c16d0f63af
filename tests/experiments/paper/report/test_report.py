"""The report as files: an index, a page for each study with a summary in front, and figures."""

import gzip
import re

import pytest

from experiments.paper.report.chapters import find, main
from experiments.paper.report.document import (
    NOTHING,
    Chapter,
    Number,
    Picture,
    Section,
    Summary,
    Table,
    index,
    page,
)
from tests.experiments.paper.report.known_study import known_study


@pytest.fixture
def chapter():
    table = Table(("a|b", "n"), [["<x>", Number(0.5, "0.500 (0 to 1)")], ["y", None], ["z", 1234]])
    picture = Picture("bars", 'some "bars"', 2.0, lambda figure: figure.subplots())
    section = Section("A *section*", ("1 < 2",), picture, table)
    folded = Section("long", table=Table(("a",), [["b"]], folded=True))
    summary = Summary(("First.", "Second."), Table(("best",), [["c"]]))
    made = (("command", "python -m x > y"), ("seeds", "0, 1"))
    notes = ("a_note on `a_name | x` and one ` sign",)
    return Chapter("key", "A & B", "Why?", summary, made, notes, (section, folded))


def test_a_page_begins_with_question_answer_and_command(chapter):
    text = page(chapter, "README.md")
    front, _, details = text.partition("## Notes")
    assert front.startswith("# A & B\n\n[All results](README.md)\n\n**Question.** Why?")
    assert "**Answer.** First. Second." in front
    assert "| best |\n| --- |\n| c |" in front
    assert "**Command.** `python -m x > y`, seeds 0, 1" in front
    assert "- command: `python -m x > y`" in details
    assert "- a\\_note on `a_name \\| x` and one \\` sign" in details


def test_sections(chapter):
    text = page(chapter, "README.md")
    assert "## A \\*section\\*" in text
    assert '![some "bars"](figures/key-bars.png)' in text
    table = ["| a\\|b | n |", "| --- | ---: |", "| \\<x\\> | 0.500 (0 to 1) |"]
    assert "\n".join([*table, f"| y | {NOTHING} |", "| z | 1,234 |"]) in text
    assert "<details><summary>1 rows</summary>" in text


def test_the_index_has_one_line_and_one_figure_of_each_study(chapter):
    text = index([chapter])
    assert "## [A & B](key.md)\n\nWhy?\n\nFirst.\n\n" in text
    assert '[![some "bars"](figures/key-bars.png)](key.md)' in text
    assert "Second" not in text


def test_rows_have_as_many_cells_as_headings():
    with pytest.raises(ValueError, match="expected 2 cells, got 1"):
        Table(("a", "b"), [["x"]])


def test_files(tmp_path, capsys):
    for name in ("one", "two"):
        known_study().save(tmp_path / "runs" / name)
    plain = tmp_path / "runs" / "two" / "study.json"
    packed = plain.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    out = tmp_path / "out"
    assert main([str(tmp_path / "runs"), "--out", str(out)]) == 0
    listed = (out / "README.md").read_text()
    assert re.findall(r"## \[.*\]\((.*)\)", listed) == ["one.md", "two.md"]
    pages = {name: (out / f"{name}.md").read_text() for name in ("one", "two")}
    assert "**Command.** `python -m experiments.paper figure2`" in pages["one"]
    # Both are the same study, but for their names.
    assert pages["two"].split("\n", 1)[1].replace("two-", "one-") == pages["one"].split("\n", 1)[1]
    shown = re.findall(r"!\[.*?\]\((.*?)\)", pages["one"] + pages["two"])
    assert len(shown) == len(set(shown)) == len(list(out.rglob("*.png"))) > 0
    for name in [*shown, *re.findall(r"!\[.*?\]\((.*?)\)", listed)]:
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    assert "2 studies" in capsys.readouterr().out


def test_a_study_that_is_named_twice_is_shown_once(tmp_path):
    known_study().save(tmp_path)
    assert find([tmp_path, tmp_path / "study.json"]) == [(tmp_path / "study.json").resolve()]


def test_what_cannot_be_read_is_told(tmp_path, capsys):
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "there is no study.json in" in capsys.readouterr().err
    for content in (b"{}", b"\x1f\x8b cut off"):
        (tmp_path / "study.json").write_bytes(content)
        assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 2
        assert "or cut off" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
