"""Recorded results are checked: their passes must lead to their op count."""

from dataclasses import replace

import pytest

from experiments.evaluate import best_known
from experiments.evaluate.best_known import BestKnown
from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.study import STUDY, Study, Trial
from experiments.search.check_best_known import main
from hlograph import corpus


@pytest.fixture(scope="module")
def row():
    """Returns a row of a small module whose result was not compared yet."""
    benchmark = min(corpus.load(split="train"), key=lambda b: b.op_count)
    module = benchmark.load()
    module.run("algsimp")
    module.run("dce")
    return BestKnown(
        benchmark.name, benchmark.fingerprint, module.op_count, "local", ("algsimp", "dce")
    )


@pytest.fixture
def check(tmp_path):
    def check(*rows, arguments=()):
        file = tmp_path / "best_known.csv"
        best_known.write(rows, file)
        out = tmp_path / "out"
        status = main(["--file", str(file), "--num-workers", "1", "--out", str(out), *arguments])
        return status, best_known.read(file)

    return check


def test_a_result_is_compared_with_its_original(check, row, capsys):
    status, known = check(row)
    assert status == 0
    assert known[row.benchmark].verdict in best_known.COMPARED
    assert replace(known[row.benchmark], verdict=row.verdict) == row
    assert known[row.benchmark].verdict in capsys.readouterr().out


def test_a_wrong_op_count_is_reported_and_kept(check, row, capsys):
    wrong = replace(row, op_count=row.op_count - 1)
    status, known = check(wrong)
    assert status == 1
    assert known == {row.benchmark: wrong}
    assert f"{row.benchmark}: " in capsys.readouterr().out


def test_compared_rows_are_checked_only_on_request(check, row):
    compared = replace(row, op_count=row.op_count - 1, verdict="equal")
    assert check(compared)[0] == 0
    assert check(compared, arguments=["--again"])[0] == 1


def test_only_a_split_is_checked(check, row):
    wrong = replace(row, op_count=row.op_count - 1)
    assert check(wrong, arguments=["--split", "validation"])[0] == 0


def test_better_results_of_a_study_are_recorded(check, row, tmp_path):
    found = Outcome(row.benchmark, 99, row.op_count, ("dce", "algsimp", "dce"), 3)
    wrong = replace(found, op_count=row.op_count - 1)
    trials = [
        Trial("GNN", 0, "train", [found], [Check(None, "equal")]),
        Trial("GNN", 1, "train", [wrong], [Check("it leads elsewhere", "not compared")]),
        Trial("saturation", 0, "train", [replace(wrong, passes=(), packed="a module")]),
        Trial("rewrites", 0, "train", [replace(wrong, passes=("merge(a, b)",))]),
    ]
    Study("win", "quick", {}, {}, trials).save(tmp_path)
    known = replace(row, op_count=row.op_count + 1)
    status, recorded = check(known, arguments=["--studies", str(tmp_path / STUDY)])
    assert status == 0
    best = recorded[row.benchmark]
    assert (best.op_count, best.method) == (row.op_count, "GNN")
    # Tidied: the other passes had no effect.
    assert best.passes == ("algsimp",)
    assert best.verdict in best_known.COMPARED
