"""Tests the program of searches: refused settings, recorded improvements."""

from dataclasses import replace

import pytest

from experiments.evaluate import best_known
from experiments.evaluate.best_known import BestKnown
from experiments.evaluate.evaluation import Check
from experiments.policies.config import PassTrainConfig
from experiments.search.__main__ import main
from experiments.search.guide import TrainedPolicy
from experiments.search.run import search_in_batches, searches
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import pool_of
from hlograph import corpus
from hlograph.errors import UnknownNameError
from tests.tiny_module import TINY


@pytest.fixture
def runner(tmp_path):
    config = PassTrainConfig(workers="in-process", samples=0)
    with pool_of(config) as pool:
        yield TaskRunner(config, pool, tmp_path)


def _found(runner, benchmark, path, calls):
    tasks = searches([benchmark], "greedy", 0, calls, None)
    ((found,),) = search_in_batches(runner, tasks, 8, path)
    return found


def test_improvements_are_recorded(runner, benchmark, tmp_path):
    path = tmp_path / "best_known.csv"
    first = _found(runner, benchmark, path, 30)
    known = best_known.read(path)[benchmark]
    assert known.op_count <= first.outcome.op_count
    assert len(known.passes) <= len(first.outcome.passes)
    assert known.method == "greedy"
    assert len(known.fingerprint) == 32
    second = _found(runner, benchmark, path, 300)
    assert second.outcome.op_count < first.outcome.op_count
    assert best_known.read(path)[benchmark].op_count == second.outcome.op_count
    _found(runner, benchmark, path, 30)
    assert best_known.read(path)[benchmark].op_count == second.outcome.op_count


def test_an_interrupted_batch_is_recorded_as_far_as_it_went(runner, benchmark, tmp_path):
    path = tmp_path / "best_known.csv"

    def interrupt(result):
        raise KeyboardInterrupt

    tasks = searches([benchmark, "no/such/benchmark"], "greedy", 0, 30, None)
    with pytest.raises(KeyboardInterrupt):
        next(search_in_batches(runner, tasks, 8, path, interrupt))
    assert best_known.read(path).keys() == {benchmark}


def test_own_modules_are_searched_and_not_recorded(runner, tmp_path):
    module, path = tmp_path / "tiny.hlo", tmp_path / "best_known.csv"
    module.write_text(TINY)
    found = _found(runner, str(module), path, 30)
    assert found.outcome.op_count < found.outcome.start
    assert not best_known.read(path)


def test_failed_checks_are_not_recorded(runner, benchmark, tmp_path, monkeypatch):
    path = tmp_path / "best_known.csv"
    best_known.write([BestKnown("another", "0" * 32, 5, "local", ())], path)
    before = path.read_bytes()
    rejected = Check("it computes something else", "different")
    monkeypatch.setattr(runner, "check", lambda outcomes: [rejected] * len(outcomes))
    _found(runner, benchmark, path, 30)
    assert path.read_bytes() == before


def test_a_row_of_another_module_is_replaced(runner, benchmark, tmp_path):
    path = tmp_path / "best_known.csv"
    best_known.write([BestKnown(benchmark, "0" * 32, 1, "local", ())], path)
    _found(runner, benchmark, path, 30)
    assert (
        best_known.current(path)[benchmark].fingerprint == corpus.benchmark(benchmark).fingerprint
    )


@pytest.mark.parametrize("verdict", ["equal", "not comparable"])
def test_verdicts_are_recorded_and_printed(
    runner, benchmark, tmp_path, monkeypatch, capsys, verdict
):
    path = tmp_path / "best_known.csv"
    monkeypatch.setattr(runner, "check", lambda outcomes: [Check(None, verdict)] * len(outcomes))
    _found(runner, benchmark, path, 30)
    assert best_known.read(path)[benchmark].verdict == verdict
    assert (verdict in capsys.readouterr().out) == (verdict == "not comparable")


def test_a_policy_is_refused_whose_values_predict_no_op_count(policy, monkeypatch, tmp_path):
    shaped = replace(policy, config=replace(policy.config, reward="shaped"))
    monkeypatch.setattr(TrainedPolicy, "load", lambda location: shaped)
    checkpoint = tmp_path / "checkpoint"
    checkpoint.touch()
    with pytest.raises(ValueError, match="predict no op count"):
        searches(["a"], "policy-beam", 0, 10, None, str(checkpoint))
    assert searches(["a"], "mcts", 0, 10, None, str(checkpoint))[0].policy is shaped


def test_batches_are_yielded_one_by_one(runner, benchmark):
    tasks = searches([benchmark] * 3, "random", 0, 10, None)
    assert [len(found) for found in search_in_batches(runner, tasks, 2)] == [2, 1]


@pytest.mark.parametrize(
    ("method", "limits", "error", "message"),
    [
        ("no-such", (10, None), UnknownNameError, "no method is called"),
        ("mcts", (10, None), ValueError, "takes a policy"),
        ("random", (None, None), ValueError, "got neither"),
    ],
)
def test_wrong_settings_are_refused(method, limits, error, message):
    with pytest.raises(error, match=message):
        searches(["a"], method, 0, *limits)


@pytest.mark.parametrize(
    "arguments",
    [["--method", "no-such"], ["--method", "mcts", "--checkpoint", "x"], ["--benchmarks", "no/*"]],
)
def test_the_program_prints_one_line_of_error(arguments, capsys, tmp_path):
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_glob_of_another_split_is_refused_with_its_split(capsys, tmp_path):
    arguments = ["--benchmarks", "bert/*", "--split", "test-seen", "--out", str(tmp_path)]
    assert main(arguments) == 2
    assert "corpus test-seen has no benchmark" in (error := capsys.readouterr().err)
    assert error.endswith("in test-unseen\n")


def test_only_new_benchmarks_are_searched(monkeypatch, tmp_path, capsys):
    names = [b.name for b in sorted(corpus.load(split="validation"), key=lambda b: b.op_count)[:2]]
    path = tmp_path / "best_known.csv"
    monkeypatch.setattr(best_known, "FILE", path)
    fingerprint = corpus.benchmark(names[0]).load().fingerprint()
    best_known.write([BestKnown(names[0], fingerprint, 1, "greedy", (), "equal")], path)
    limit = str(corpus.benchmark(names[1]).op_count)
    flags = ["--op-limit", limit, "--calls", "2", "--method", "greedy", "--only-new"]
    assert main([*flags, "--out", str(tmp_path / "run"), "--num-workers", "1"]) == 0
    out = capsys.readouterr().out
    assert names[1] in out
    assert names[0] not in out
