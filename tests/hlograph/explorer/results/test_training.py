"""Pages of trainings: their tables, and the curves in event files."""

import json

import pytest

from experiments.evaluate.benchmarks import Reference
from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.results import Result, save
from hlograph.errors import DamagedFileError, HloError
from hlograph.explorer.results.tables import Bars, Lines, PageTable, Text
from hlograph.explorer.results_page import is_results, results_of
from hlograph.storage.checked_file import write_checked_json
from hlograph.storage.event_files import scalars


@pytest.fixture
def run(tmp_path):
    from torch.utils.tensorboard.writer import SummaryWriter

    folder = tmp_path / "run"
    for policy in ("gnn", "op_counts"):
        with SummaryWriter(str(folder / policy)) as writer:
            for step in range(1000):
                writer.add_scalar("update/loss", 1 / (step + 1), 10 * step)
            writer.add_scalar("held_out/once", 1.0, 5)
    settings = {"config": {}, "starts": [{"command": "python -m experiments.train_gnn"}]}
    write_checked_json(folder / "config.json", "run settings", 2, settings)
    return folder


def _result() -> Result:
    references = {"a": Reference(100, {"xla-cpu": 80, "xla-simplify": 60})}
    outcomes = {"gnn": [Outcome("a", 100, 50, ("cse",), 3)]}
    return Result.of(references, outcomes, {"gnn": [Check(None, "close")]})


def test_scalars_are_those_that_were_written(run):
    curve = scalars(run / "gnn")["update/loss"]
    assert [step for step, _ in curve] == list(range(0, 10_000, 10))
    assert curve[9][1] == pytest.approx(0.1)
    assert scalars(run) == {}


def test_training_that_has_not_ended(run):
    (page,) = results_of(run)
    assert page.findings == ["The training has not ended."]
    assert page.made == {"command": "python -m experiments.train_gnn"}
    (section,) = page.sections
    (lines,) = section.parts
    assert isinstance(lines, Lines)
    assert lines.lines.keys() == {"gnn", "op_counts"}
    points = lines.lines["gnn"]
    assert len(points) == 400
    assert points[0] == (0, 1.0)
    assert points[-1][0] == 9990


def test_training_that_has_ended(run):
    save(_result(), run)
    (page,) = results_of(run)
    json.dumps(page.to_json(), allow_nan=False)
    policies, programs, text, _ = page.sections
    bars, summary = policies.parts
    assert isinstance(bars, Bars)
    assert bars.bars["gnn, to xla-simplify"].value == pytest.approx(1.2)
    assert isinstance(summary, PageTable)
    (table,) = programs.parts
    assert isinstance(table, PageTable)
    row = dict(zip((column.name for column in table.columns), table.rows[0], strict=True))
    assert row == {
        **{"benchmark": "a", "start": 100, "xla-cpu": 80, "xla-simplify": 60},
        **{"gnn": 50, "gnn passes": 1, "gnn calls": 3},
    }
    (printed,) = text.parts
    assert isinstance(printed, Text)
    assert "Op counts of held-out benchmarks" in printed.text


def test_altered_results_are_refused(run):
    save(_result(), run)
    path = run / "results.json"
    path.write_text(path.read_text().replace('"gnn": 50', '"gnn": 40'))
    with pytest.raises(DamagedFileError):
        results_of(run)


def test_folder_of_runs_has_a_page_for_each(run, tmp_path):
    save(_result(), tmp_path / "other")
    (tmp_path / "nothing").mkdir()
    assert [page.title for page in results_of(tmp_path)] == ["other", "run"]
    assert is_results(tmp_path)
    assert not is_results(tmp_path / "nothing")
    with pytest.raises(HloError, match=r"expected a folder with study\.json"):
        results_of(tmp_path / "nothing")
