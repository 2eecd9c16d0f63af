"""Tests that the picture shows the results, and is the same each time."""

from benchmarks.pictures import draw
from benchmarks.results import LEARNERS, SECTIONS, Figure, GroupResult, section_label, workers_label


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


def test_the_group_of_learning_has_a_picture(tmp_path):
    steps = GroupResult("Steps", (Figure.of("env step", "1,000", 1.0, "ms"),))
    assert draw({"steps": steps}, tmp_path) == []
    (where,) = draw({"learning": learning(), "steps": steps}, tmp_path)
    assert where.name == "where-time-goes.svg"
    bars = where.read_text()
    # matplotlib writes the text of each label into a comment.
    assert all(f"<!-- {section} -->" in bars for section in SECTIONS)
    assert "<!-- 1,000 -->" in bars


def test_the_same_results_give_the_same_files(tmp_path):
    results = {"learning": learning(("300",))}
    first = [path.read_bytes() for path in draw(results, tmp_path / "a")]
    assert first == [path.read_bytes() for path in draw(results, tmp_path / "b")]
