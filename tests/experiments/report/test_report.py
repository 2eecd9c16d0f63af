"""The report as files: whole by itself, escaped, and sorted by values."""

import base64
import re
from html.parser import HTMLParser

import pytest

from experiments.report.__main__ import find, main
from experiments.report.html_page import html_page
from experiments.report.markdown import markdown
from experiments.report.section import NOTHING, Chapter, Number, Picture, Section, Table
from tests.experiments.report.known_study import known_study

_VOID = {"meta", "img"}


class _Page(HTMLParser):
    """Keeps attributes and text, and refuses tags that are not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def chapter():
    table = Table(("a|b", "n"), [["<x>", Number(0.5, "0.500 (0 to 1)")], ["y", None], ["z", 1234]])
    picture = Picture("bars", 'some "bars"', b"\x89PNG not really", 990)
    section = Section("A *section*", ("1 < 2",), picture, table)
    folded = Section("long", table=Table(("a",), [["b"]], folded=True))
    return Chapter("key", "A & B", (("command", "python -m x > y"),), ("note",), (section, folded))


def test_html(chapter):
    page = html_page("Title", ["text"], [chapter])
    found = _Page(page)
    cells = [attributes.get("data-sort") for tag, attributes in found.tags if tag == "td"]
    assert cells == ["<x>", "0.5", "y", None, "z", "1234", "b"]
    (image,) = [attributes for tag, attributes in found.tags if tag == "img"]
    assert base64.b64decode(image["src"].split(",")[1]) == b"\x89PNG not really"
    assert image["alt"] == 'some "bars"'
    assert "1 &lt; 2" in page
    assert "<dd>python -m x &gt; y</dd>" in page
    assert "<summary>1 rows</summary>" in page
    assert "http" not in page  # nothing is fetched


def test_markdown(chapter):
    text = markdown("Title", ["text"], [chapter])
    assert "- command: `python -m x > y`" in text
    assert "### A \\*section\\*" in text
    assert '![some "bars"](key-bars.png)' in text
    table = ["| a\\|b | n |", "| --- | ---: |", "| \\<x\\> | 0.500 (0 to 1) |"]
    assert "\n".join([*table, f"| y | {NOTHING} |", "| z | 1,234 |"]) in text
    assert "<details><summary>1 rows</summary>" in text


def test_rows_have_as_many_cells_as_headings():
    with pytest.raises(ValueError, match="expected 2 cells, got 1"):
        Table(("a", "b"), [["x"]])


def test_files(tmp_path, capsys):
    study = known_study()
    study.save(tmp_path / "runs" / "one")
    out = tmp_path / "out"
    assert main([str(tmp_path / "runs"), "--out", str(out)]) == 0
    text = (out / "README.md").read_text()
    assert "command: `python -m experiments.paper figure2`" in text
    for name in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    page = _Page((out / "index.html").read_text())
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(pictures) == len(list(out.glob("*.png"))) == text.count("![")
    assert "1 studies" in capsys.readouterr().out


def test_a_study_that_is_named_twice_is_shown_once(tmp_path):
    known_study().save(tmp_path)
    assert find([tmp_path, tmp_path / "study.json"]) == [(tmp_path / "study.json").resolve()]


def test_what_cannot_be_read_is_told(tmp_path, capsys):
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "there is no study.json in" in capsys.readouterr().err
    (tmp_path / "study.json").write_text("{}")
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()
