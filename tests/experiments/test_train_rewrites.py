"""Training to rewrite: what a run leaves, that it repeats, and that its results stand."""

from dataclasses import replace

import pytest

import hlograph
from experiments.benchmarks import load
from experiments.checkpoint import Checkpoint, load_policy
from experiments.learner import learner_of
from experiments.search.guide import TrainedPolicy
from experiments.search.methods import check_guided
from experiments.train import train
from models.pointer import PointerActorCritic
from tests.experiments.tiny_run import results, tiny_rewrite_config


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewrites") / "run"
    assert train(replace(tiny_rewrite_config(), out=folder), "train_rewrites") == 0
    return folder


def test_a_run_leaves_results_that_can_be_rewritten_again(finished):
    found = results(finished)
    changed = 0
    for row in found["benchmarks"]:
        places = found["passes"]["rewrites"][row["benchmark"]]
        module = load(row["benchmark"])
        for place in places:
            module.apply(place)
        assert module.op_count == row["rewrites"]
        changed += len(places)
    assert changed
    checks = found["checks"]["rewrites"].values()
    assert {check["problem"] for check in checks} == {None}
    assert len(list(finished.glob("**/events.out.tfevents.*"))) == 2


def test_same_seed_same_result(finished, tmp_path):
    again = tmp_path / "again"
    assert train(replace(tiny_rewrite_config(), out=again), "train_rewrites") == 0
    assert (again / "results.json").read_text() == (finished / "results.json").read_text()


def test_its_checkpoint_is_a_policy_that_rewrites(finished):
    path = finished / "rewrites" / "checkpoint.pt"
    learner, policy = load_policy(path)
    assert isinstance(policy, PointerActorCritic)
    assert learner.steps == tuple(rule.name for rule in hlograph.rules.general)
    with pytest.raises(ValueError, match="orders passes, got rewrites"):
        check_guided("mcts", TrainedPolicy.load(path))


def test_a_checkpoint_of_other_rules_is_refused(finished):
    checkpoint = Checkpoint.load(finished / "rewrites" / "checkpoint.pt")
    config = replace(tiny_rewrite_config(), rules=("merge", "remove"))
    learner = learner_of("rewrites", config)
    assert learner.steps == ("merge", "remove")
    with pytest.raises(ValueError, match=r"made with other rules; different: .*algebraic"):
        checkpoint.restore(learner, None)  # pyright: ignore[reportArgumentType]
