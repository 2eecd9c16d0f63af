"""Tests the command: settings, groups, groups that fail, pages and pictures without a run."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import graphs, loops, steps
from benchmarks.results import BYTES, Figure, load, save
from benchmarks.run import FAILED, INTERRUPTED, main, parse, run
from benchmarks.settings import GROUPS, PRESETS
from benchmarks.tables import write_page

TINY = replace(
    PRESETS["quick"],
    sizes=(100,),
    rewrite_sizes=(100,),
    rounds=1,
    budget=0.0,
    growth_limit=1_000,
    learning_sizes=(300,),
    modules=1,
    iterations=1,
    workers=(1,),
    threads=1,
    rules=("remainder-by-subtraction",),
)
"""The smallest settings of every group."""
CHEAP = ("steps", "speed-rules")
"""Groups that are measured in each run of the suite: by size of the module, and by case."""


@pytest.fixture
def short_rollouts(monkeypatch):
    """Has the timed loop of PPO collect 16 frames an iteration, not 640 or 3,072."""
    short = {
        name: replace(preset, num_envs=4, horizon=4) for name, preset in loops.GNN_PRESETS.items()
    }
    monkeypatch.setattr(loops, "GNN_PRESETS", short)


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
    assert run(replace(PRESETS["quick"], groups=(), out=out)) == []
    assert load(out) == before


# torch-geometric scripts functions at its first import, which torch has deprecated.
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize(
    "group",
    [pytest.param(name, marks=() if name in CHEAP else pytest.mark.slow) for name in GROUPS],
)
def test_every_group_measures_on_a_tiny_budget(group, short_rollouts, tmp_path, capsys):
    out = tmp_path / "results.json"
    assert run(replace(TINY, groups=(group,), out=out)) == []
    result = load(out)[group]
    assert result.figures
    assert all(figure.low <= figure.value <= figure.high for figure in result.figures)
    columns = {figure.column for figure in result.figures}
    assert result.subjects.keys() <= columns | {"all", "581"}
    assert result.figures[0].row.split()[0] in capsys.readouterr().out


def _figure(settings):
    yield Figure.of("a row", "100", 1.0, "ms")


def _failing(settings):
    yield Figure.of("a row", "100", 1.0, "ms")
    raise TypeError("not what was expected")


def _interrupted(settings):
    raise KeyboardInterrupt
    yield


def _main(out):
    return main(["--groups", "steps", "graphs", "--sizes", "100", "--out", str(out)])


def test_a_group_that_fails_is_reported_and_the_others_are_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(steps, "measure", _failing)
    monkeypatch.setattr(graphs, "measure", _figure)
    out = tmp_path / "results.json"
    assert _main(out) == FAILED
    assert list(load(out)) == ["graphs"]
    printed, errors = capsys.readouterr()
    assert "a row" in printed
    assert "TypeError: not what was expected" in errors
    assert errors.endswith("failed: steps\n")


def test_figures_of_a_group_that_fails_now_stay(tmp_path, monkeypatch):
    out = tmp_path / "results.json"
    monkeypatch.setattr(steps, "measure", _figure)
    monkeypatch.setattr(graphs, "measure", _figure)
    assert _main(out) == 0
    before = load(out)["steps"]
    monkeypatch.setattr(steps, "measure", _failing)
    assert _main(out) == FAILED
    assert load(out)["steps"] == before


def test_an_interrupt_loses_no_group_that_has_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(steps, "measure", _figure)
    monkeypatch.setattr(graphs, "measure", _interrupted)
    out = tmp_path / "results.json"
    assert _main(out) == INTERRUPTED
    assert list(load(out)) == ["steps"]
    printed, errors = capsys.readouterr()
    assert "a row" in printed
    assert str(out) in errors


def test_tables_and_pictures_are_made_anew_without_measuring(measured, tmp_path, capsys):
    page = tmp_path / "performance.md"
    marks = "".join(f"<!-- begin: {name} -->\n<!-- end -->\n" for name in (*GROUPS, "missed"))
    page.write_text(marks)
    assert main(["--groups", "--out", str(measured), "--page", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    assert f"| {BYTES} | B |" in page.read_text()
    assert "| parse to a module | MiB |" in page.read_text()


def test_a_page_that_is_not_there_is_one_line(measured, tmp_path, capsys):
    page = tmp_path / "none.md"
    assert main(["--groups", "--out", str(measured), "--page", str(page)]) == 1
    assert f"HloError: expected a Markdown page with marks at {page}" in capsys.readouterr().err


def test_the_page_of_the_documentation_has_all_marks(tmp_path, measured):
    page = tmp_path / "page.md"
    page.write_text((Path(__file__).parents[2] / "docs" / "performance-results.md").read_text())
    write_page(dict.fromkeys(GROUPS, load(measured)["memory"]), page)
