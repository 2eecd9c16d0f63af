"""Tests the tables and pictures of each kind of study."""

import math
from dataclasses import asdict, replace
from functools import cache

import pytest

from experiments.evaluate.study import Trial
from experiments.paper.paired_timing import Side, TimedPair
from experiments.paper.report import aims, figures, runtime, search
from experiments.paper.report.chapters import KINDS, chapters
from experiments.paper.report.comparison import BETTER, Comparison
from experiments.paper.report.document import Chapter
from experiments.paper.report.figures import learning_curves
from experiments.paper.settings import same_time
from tests.experiments.paper.report.known_study import GROUP, known_study, outcome


def _cells(table, first, column):
    place = list(table.headings).index(column)
    return [row[place] for row in table.rows if row[0] == first]


@pytest.fixture
def comparison():
    return Comparison(known_study(), GROUP)


@cache
def _chapter(name: str) -> Chapter:
    """Returns the chapter of a known study; its pictures take long to draw."""
    (chapter,) = chapters([("run", known_study(name))])
    return chapter


@pytest.mark.parametrize("name", [*KINDS, "a study that nobody knows"])
def test_every_kind_shows_its_tables_and_pictures(name):
    chapter = _chapter(name)
    assert isinstance(chapter, Chapter)
    titles = [section.title for section in chapter.sections]
    assert len(titles) == len(set(titles))
    pictures = [section.picture for section in chapter.sections if section.picture]
    assert pictures or name == "search"  # which has no curves here
    assert all(picture.png().startswith(b"\x89PNG") for picture in pictures)
    assert len({picture.name for picture in pictures}) == len(pictures)
    assert any(section.title.startswith("Op counts") for section in chapter.sections)
    assert ("seeds", "0, 1") in chapter.made


def test_a_study_without_trials_or_references():
    for name in KINDS:
        (chapter,) = chapters([("run", known_study(name, trials=[], references={}))])
        assert all(section.picture is None for section in chapter.sections)
        assert chapter.summary.table is None


def test_studies_of_one_kind_have_keys_of_their_own():
    found = chapters([("x y", known_study("figure2", trials=[]))] * 2)
    assert [chapter.key for chapter in found] == ["x-y", "x-y-2"]
    assert found[1].title == f"{found[0].title}: x-y-2"


def test_learning_curves(comparison):
    assert learning_curves(comparison)
    for kind in ("figure2", "figure4"):
        chapter = _chapter(kind)
        (learning,) = [s for s in chapter.sections if s.title.startswith("Learning")]
        assert learning.picture
        assert "of the split validation" in learning.text[0]
    untrained = known_study(trials=[replace(t, training=()) for t in known_study().trials])
    assert learning_curves(Comparison(untrained, GROUP)) is None


def test_size_classes():
    assert [figures.size_class(n) for n in (1000, 1001, 3000, 10_000, 10_001)] == [
        "up to 1,000",
        "1,000 to 3,000",
        "1,000 to 3,000",
        "3,000 to 10,000",
        "above 10,000",
    ]


def test_trials_by_size_join_groups_seed_by_seed():
    trials = [
        Trial("GNN", seed, group, [outcome(name, 90 + seed)])
        for group, name in (("test-seen", "a/b/c"), ("test-unseen", "d/e/f"))
        for seed in (0, 1)
    ]
    sized = figures.by_size(known_study(trials=trials))
    assert sized.groups() == ["up to 1,000"]
    assert [[o.op_count for o in t.outcomes] for t in sized.trials] == [[90, 90], [91, 91]]


def _pair(method, ratios, kernels=10):
    side = {"op_count": 5, "compile_seconds": 0.2, "median_seconds": 0.001}
    pair = TimedPair(
        "a/b/c",
        method,
        ratios,
        *(sorted(ratios)[len(ratios) // 2] if ratios else math.nan for _ in range(3)),
        before=Side(kernels=10, **side),
        after=Side(kernels=kernels, **side),
    )
    return asdict(pair)


def test_run_times():
    pairs = [
        _pair("GNN", [1.2] * 9 + [9.0], kernels=5),
        _pair("GNN", [0.7] * 9 + [0.8], kernels=20),
        _pair("none", []),
    ]
    study = known_study("runtime", measurements={"pairs": pairs})
    found = runtime.pairs_of(study)
    assert [pair.method for pair in found] == ["GNN", "GNN"]
    assert found[0].median == 1.2
    table = runtime.summary_table(found)
    mean = _cells(table, "GNN", "geometric mean (95 % bootstrap interval)")[0]
    assert mean.value == pytest.approx(math.sqrt(1.2 * 0.7))
    assert _cells(table, "GNN", "kernels before / after")[0].value == pytest.approx(1.0)
    assert next(iter(runtime.sections(study))).picture


@pytest.fixture
def searches():
    curve = [(0, 0.0, 100), (10, 0.1, 60), (100, 1.0, 40)]
    found = Trial(
        "random", 0, GROUP, [outcome("a/b/c", 40, 200)], seconds=[2.0], curves={"a/b/c": curve}
    )
    policy = Trial("GNN", 0, GROUP, [outcome("a/b/c", 50, 20)], seconds=[0.05])
    return Comparison(known_study("search", trials=[found, policy]), GROUP)


def test_what_a_search_had_found(searches):
    trial = searches.study.trials[0]
    ratios = [
        search.ratio_at(searches, trial, "best known", "pass calls", n) for n in (9, 10, 1000)
    ]
    assert ratios == pytest.approx([40 / 100, 40 / 60, 1.0])
    assert search.count_at(trial, "a/b/c", 100, "seconds", 0.99) == 60
    assert search.count_at(trial, "unknown", 7, "seconds", 1.0) == 7


def test_searches_are_given_what_the_policy_spent(searches):
    (section,) = search.equal_budgets(searches)
    (row,) = section.table.rows
    assert row[:2] == ["GNN", "random"]
    assert row[2].value == pytest.approx(60 / 50)  # after 20 calls
    assert row[3].value == pytest.approx(100 / 50)  # after 0.05 s


def _trials(method, counts, **changes):
    """A trial for each seed, on one benchmark, of which the better reference leaves 50."""
    return [
        Trial(method, seed, GROUP, [outcome("a/b/c", count)], **changes)
        for seed, count in enumerate(counts)
    ]


def _aims(trials):
    """Cells of the table of aims, by method and heading."""
    table = aims.aims_table(known_study("win", trials=trials))
    return {row[1]: dict(zip(table.headings, row, strict=True)) for row in table.rows}


def test_the_aim_of_the_worst_benchmark_is_about_all_seeds():
    cell = _aims(_trials("GNN", (40, 52)))["GNN"][f"worst to {BETTER}, of all seeds"]
    assert cell.value == pytest.approx(50 / 52)
    assert cell.text.endswith("✗")


def test_the_aims_to_be_ahead_of_others():
    trials = [
        *_trials("GNN", (40, 42)),
        *_trials(same_time("GNN"), (41, 42)),
        *_trials("op counts", (43, 50)),
    ]
    rows = _aims(trials)
    random, apart = "random search in the same time / method", "least seed - op counts' greatest"
    assert rows["GNN"][random].value == pytest.approx((41 / 40 + 42 / 42) / 2)
    assert rows["GNN"][apart].value == pytest.approx(50 / 42 - 50 / 43)
    for other in ("op counts", same_time("GNN")):
        assert rows[other][random] is rows[other][apart] is None
    # One seed has no spread; as good as random search is not ahead of it.
    assert _aims([trial for trial in trials if trial.seed == 0])["GNN"][apart] is None
    equal = [*_trials("GNN", (40,)), *_trials(same_time("GNN"), (40,))]
    assert _aims(equal)["GNN"][random].text.endswith("✗")


def test_spreads():
    methods = {"x": (40, 42), "y": (41, 60), "z": (70, 80), "one": (10,)}
    trials = [trial for name, counts in methods.items() for trial in _trials(name, counts)]
    table = aims.spreads(Comparison(known_study(trials=trials), GROUP))
    assert table
    assert [(row[0], row[1], row[4]) for row in table.rows] == [
        ("x", "y", "overlap"),
        ("x", "z", "apart"),
        ("y", "z", "apart"),
    ]
