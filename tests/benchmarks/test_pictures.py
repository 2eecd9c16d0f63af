"""Tests that pictures show the results, and are the same each time."""

from benchmarks.labels import EXPONENT, LEARNERS, SECTIONS, section_label, workers_label
from benchmarks.pictures import draw
from benchmarks.results import Figure, GroupResult


def learning(sizes=("300", "1,000")):
    figures = []
    for label in LEARNERS.values():
        for workers in (1, 2):
            for size in sizes:
                figures.append(Figure.of(workers_label(label, workers), size, 100.0, "frames/s"))
                figures += [
                    Figure.of(section_label(label, workers, section), size, 1.0, "ms/frame")
                    for section in SECTIONS
                ]
    return GroupResult("Learning", tuple(figures))


def growth(what):
    points = [Figure.of(what, size, value, "ms") for size, value in (("1,000", 1.0), ("10,000", 9))]
    return GroupResult("Growth", (*points, Figure.of(what, EXPONENT, 0.95, "")))


def test_a_picture_for_each_group_that_has_one(tmp_path):
    results = {"learning": learning(), "growth": growth("parse"), "steps": growth("step")}
    assert draw({"steps": growth("step")}, tmp_path) == []
    where, grown = draw(results, tmp_path)
    assert (where.name, grown.name) == ("where-time-goes.svg", "growth.svg")
    bars = where.read_text()
    # matplotlib writes the text of each label into a comment.
    assert all(f"<!-- {section} -->" in bars for section in SECTIONS)
    assert "<!-- 1,000 -->" in bars
    assert "<!-- parse, 0.95 -->" in grown.read_text()


def test_the_same_results_give_the_same_files(tmp_path):
    results = {"learning": learning(("300",)), "memory": growth("parse to a module")}
    first = [path.read_bytes() for path in draw(results, tmp_path / "a")]
    assert first == [path.read_bytes() for path in draw(results, tmp_path / "b")]
