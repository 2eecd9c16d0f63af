"""Training to rewrite: what a run leaves, that it repeats, and that its results stand."""

from dataclasses import replace

import pytest
import torch

from experiments.evaluate.__main__ import EvaluateConfig, evaluate, table
from experiments.evaluate.benchmarks import load
from experiments.policies.checkpoint import Checkpoint, load_policy
from experiments.policies.kind import policy_kind
from experiments.search.guide import TrainedPolicy, check_guided
from experiments.train.program import train
from models.pointer import PointerActorCritic
from tests.experiments.tiny_run import RULES, results, tiny_rewrite_config

NOWHERE = """HloModule n
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] add(x, x)
  ROOT c = f32[4] custom-call(y), custom_call_target="nowhere"
}
"""


@pytest.fixture
def finished(finished_rewrites):
    return finished_rewrites


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
    assert train(replace(tiny_rewrite_config(), out=again)) == 0
    assert (again / "results.json").read_text() == (finished / "results.json").read_text()


def test_its_checkpoint_is_a_policy_that_rewrites(finished):
    path = finished / "rewrites" / "checkpoint.pt"
    kind, policy = load_policy(path)
    assert isinstance(policy, PointerActorCritic)
    assert kind.action_names == RULES
    with pytest.raises(ValueError, match="orders passes, got rewrites"):
        check_guided("mcts", TrainedPolicy.load(path))


def test_its_checkpoint_is_evaluated(finished, tmp_path):
    path = str(finished / "rewrites" / "checkpoint.pt")
    name = results(finished)["benchmarks"][0]["benchmark"]
    config = EvaluateConfig(path, benchmarks=(name,), workers="in-process", checks=1)
    study = evaluate(config, tmp_path)
    (outcome,) = study.trials[0].outcomes
    assert outcome.op_count == results(finished)["benchmarks"][0]["rewrites"]
    assert study.trials[0].checks[0].problem is None
    assert f"GNN on rewrites: {outcome.calls} rewrites" in table(study)
    assert any("on rewrites, seed 1: trained on" in note for note in study.notes)


@pytest.mark.parametrize("reward", ["run-time", "final-run-time"])
def test_run_time_can_be_the_reward(reward, tmp_path, capsys, brief_run_times):
    stranger = tmp_path / "nowhere.hlo"
    stranger.write_text(NOWHERE)
    config = replace(tiny_rewrite_config(), reward=reward, total_steps=12, num_envs=2)
    config = replace(config, benchmarks=(*config.benchmarks, str(stranger)), out=tmp_path / "run")
    assert train(config) == 0
    said = capsys.readouterr().out
    assert f"left out: {stranger}: does not run: " in said
    assert "run time before / after rewrites, geometric mean: " in said
    for row in results(tmp_path / "run")["benchmarks"]:
        assert row["rewrites_run_time"] > 0
        assert row["rewrites_passes"] or row["rewrites_run_time"] == 1


def test_a_policy_may_be_offered_fewer_rules_but_none_that_it_does_not_know(finished):
    checkpoint = Checkpoint.load(finished / "rewrites" / "checkpoint.pt")
    assert checkpoint.actions == RULES
    fewer = policy_kind("rewrites", replace(tiny_rewrite_config(), rules=("remove", "merge")))
    policy = fewer.new_policy()
    checkpoint.load_into(fewer, policy)
    rows = checkpoint.kept()["encoder.rule.weight"]
    assert torch.equal(policy.state_dict()["encoder.rule.weight"], rows[[2, 1]])
    unknown = replace(tiny_rewrite_config(), rules=("merge", "constant_folding"))
    other = policy_kind("rewrites", unknown)
    with pytest.raises(ValueError, match="rules that the policy knows, got constant_folding; it"):
        checkpoint.load_into(other, other.new_policy())
