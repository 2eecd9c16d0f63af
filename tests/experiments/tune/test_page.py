"""Tests of the page and the pictures of a run, on known results."""

import xml.etree.ElementTree as ET
from dataclasses import replace

from experiments.tune.page import decision_counts, page, summary
from experiments.tune.pictures import write_pictures
from experiments.tune.results import decisions_of
from experiments.tune.scores import Scores
from hlograph.plans import Plan
from tests.experiments.tune.known_results import FAST, KEPT, PLAN, RESULTS, result

SCORES = Scores.of(RESULTS)


def _rows(text, title):
    """Returns the cells of the first table below a title."""
    lines = text.partition(f"## {title}\n")[2].splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("|"))
    table = [line for line in lines[begin:] if line]
    end = next((n for n, line in enumerate(table) if not line.startswith("|")), len(table))
    return [line.strip("| ").split(" | ") for line in table[:end] if "---" not in line]


def test_table_of_competitors():
    text = page(SCORES, 60)
    _, joint, flags = _rows(text, "Competitors")
    assert joint[:3] == ["joint", "3", "1.297"]
    assert joint[4:] == ["1.012 to 1.663", "2.00", "67%", "33%", "1", "0"]
    assert flags[2:] == ["1.000", "1.000 to 1.000", "1.000 to 1.000", "1.00", "0%", "0%", "0", "3"]
    heads, joint, _ = _rows(text, "What was found by when")
    assert heads[1:] == ["10 s", "20 s", "30 s", "60 s"]
    assert joint[1:] == ["1.000", "1.587", "1.842", "1.842"]
    assert "| joint | flags,greedy | 1.297 |" in text
    assert "| flags,greedy | joint | 1.842 | 25.0 | never |  |" in text


def test_table_of_programs_and_of_decisions():
    text = page(SCORES, 60)
    _, first, second, third = _rows(text, "Programs")
    assert first == ["a", "3.2", "2.000 (1.000 to 4.200)", "default"]
    assert [second[0], third[0]] == ["b", "c"]
    rows = {row[0]: row[1:] for row in _rows(text, "What the wins are made of")}
    assert rows["`dot-merger`"] == rows["**flags**"] == ["4", "0"]
    assert "4 of joint, 0 of flags,greedy" in text


def test_a_page_of_nothing():
    assert page(Scores.of([]), 60).startswith("# Tuning\n\n0 programs")
    assert summary(Scores.of([])) == ["No program was measured by all competitors."]
    lone = page(Scores.of([*RESULTS, result("joint", "d", 2.0)]), 60)
    assert "left out: d." in lone


def test_a_lone_competitor_has_outputs_and_plans():
    text = page(Scores.of([FAST, KEPT, replace(KEPT, program="d", error="does not compile")]), 60)
    heads, first, second = _rows(text, "Programs")
    assert heads == ["program", "default ms", "joint", "outputs", "plan"]
    assert first == [FAST.program, "3.2", "2.000 (1.900 to 2.100)", "close", "flags: no library"]
    assert second[:3] == ["ode/a/b", "3.2", "default"]
    assert "left out: d (does not compile)." in text


def test_table_of_references():
    assert "## References" not in page(SCORES, 60)
    soon = {"verdict": "agrees", "judged": 4.0, "judging_work": 0.02, "judging_wall": 0.01}
    late = {"verdict": "differs", "judged": 30.0, "judging_work": 0.2, "judging_wall": 0.3}
    none = {"verdict": "no reference", "judged": 2.0, "judging_work": 0.1, "judging_wall": 0.05}
    races = [
        result("joint", name, 2.0, **judged)
        for name, judged in [("a", soon), ("b", soon), ("c", late), ("d", none), ("e", {})]
    ]
    _, row = _rows(page(Scores.of(races), 60), "References")
    assert row == ["joint", "4", "2", "3", "2", "1", "0", "1", "6.0%", "3.0%"]


def test_summary():
    first, second = summary(SCORES)
    assert first.startswith("joint: 1.297 times as fast in the geometric mean of 3 programs")
    assert "2 above 1.1, 1 at 2 or more, at most 2.00 (a)" in first
    assert first.endswith("0 keep jaxlib's default, 1 below 0.98, at least 0.949 (c)")
    assert second.startswith("flags,greedy: 1.000 times as fast")
    assert "3 keep jaxlib's default" in second


def test_decisions_of_a_plan():
    assert decisions_of(Plan()) == set()
    assert decisions_of(PLAN) == {
        ("steps", "call-inliner"),
        ("steps", "dot-merger"),
        ("layout", "arguments"),
        ("layout", "instructions"),
        ("fusion", "fuse"),
        ("kernel", "library none"),
        ("kernel", "partitions"),
        ("flags", "xla_cpu_prefer_vector_width"),
        ("flags", "xla_cpu_optimize_for_size"),
    }


def test_plans_are_counted_once_for_each_decision():
    counts = decision_counts([PLAN, Plan(flags={"xla_cpu_prefer_vector_width": 256})])
    assert counts["steps"] == {"": 1, "call-inliner": 1, "dot-merger": 1}
    assert counts["flags"] == {
        "": 2,
        "xla_cpu_prefer_vector_width": 2,
        "xla_cpu_optimize_for_size": 1,
    }
    assert list(counts) == ["steps", "layout", "fusion", "kernel", "flags"]


def test_pictures_are_svg_and_the_same_each_time(tmp_path):
    for folder in ("1", "2"):
        found = write_pictures(SCORES, 60, tmp_path / folder)
    assert [file for file, _ in found] == ["programs.svg", "anytime.svg"]
    for file, about in found:
        content = (tmp_path / "1" / file).read_bytes()
        assert content == (tmp_path / "2" / file).read_bytes()
        assert ET.fromstring(content).tag.endswith("svg")
        assert f"![{about}]({file})" in page(SCORES, 60, found)
    assert write_pictures(Scores.of([]), 60, tmp_path) == []
