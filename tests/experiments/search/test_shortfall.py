"""An episode beside the best order known: what it left, and where it went wrong."""

from dataclasses import replace

import pytest

import hlograph
from experiments.search.shortfall import Explain
from experiments.search.shortfalls import main, page
from experiments.search.task import SearchTask


@pytest.fixture(scope="module")
def searched(benchmark, worker):
    """Returns the result of a short search, as the best order known."""
    search = SearchTask(benchmark=benchmark, method="local", seed=0, calls=800, seconds=None)
    return worker(search).outcome


@pytest.fixture(scope="module")
def explained(benchmark, worker, policy, searched):
    task = Explain(benchmark, policy, searched.op_count, searched.passes)
    return worker(task)


def stopping(policy, sign):
    """Returns the policy with a bias for stopping, or against it."""
    heads = {key: value.copy() for key, value in policy.parameters.items()}
    actions = len(hlograph.passes) + 1
    name = next(key for key, value in heads.items() if value.shape == (actions,))
    heads[name][-1] = sign * 50.0
    return replace(policy, parameters=heads)


def test_a_policy_that_stops_at_once_ended_early(benchmark, worker, policy, searched):
    found = worker(Explain(benchmark, stopping(policy, 1), searched.op_count, searched.passes))
    assert found.stopped
    assert (found.calls, found.turn) == (0, None)
    assert found.op_count == found.start == searched.start
    assert found.continued == found.best_known == searched.op_count
    assert found.ended_early == searched.start - searched.op_count
    assert found.missing
    assert found.masked == ()


def test_the_missing_passes_lead_on_from_the_episode(benchmark, worker, policy, searched, replayed):
    found = worker(Explain(benchmark, stopping(policy, 1), searched.op_count, searched.passes))
    assert replayed(found.missing).op_count == found.continued


def test_a_policy_that_never_stops_reaches_its_horizon(benchmark, worker, policy, searched):
    found = worker(Explain(benchmark, stopping(policy, -1), searched.op_count, searched.passes))
    assert not found.stopped
    assert found.calls == policy.pass_config.play_horizon


def test_the_recorded_order_comes_to_the_best_known_at_most(explained, searched):
    assert explained.best_known <= searched.op_count
    assert explained.ended_early <= explained.op_count - explained.best_known
    assert explained.ratio == explained.best_known / explained.op_count


def test_the_page_names_the_worst_and_splits_the_ratio(explained):
    better = replace(explained, benchmark="as/good", op_count=explained.best_known)
    worse = replace(
        explained, benchmark="small/one", start=80, op_count=60, continued=50, best_known=48
    )
    text = page("gnn", "corpus validation", [better, worse], worst=1)
    assert "| small/one | 80 | 60 | 50 | 48 |" in text
    assert "as/good" not in text
    assert "| 0 to 99 | 1 | 0.8000 | 0.8333 | 0.9600 |" in text


def test_a_split_without_recorded_orders_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("experiments.evaluate.best_known.current", dict)
    assert main(["gnn", "--count", "2", "--out", str(tmp_path)]) == 2
    assert "experiments.search --record" in capsys.readouterr().err
