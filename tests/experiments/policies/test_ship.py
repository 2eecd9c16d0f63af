"""A shipped policy is the one that validation chose, and nothing of its training."""

from dataclasses import replace

import pytest
import torch

import hlograph
from experiments.policies import ship, shipped
from experiments.policies.checkpoint import Best, Checkpoint, load_policy
from experiments.policies.config import GNNTrainConfig
from experiments.policies.kind import policy_kind
from hlograph.isolation import Quarantine
from models.ppo import PPO


def test_what_was_kept_is_shipped(tmp_path, monkeypatch, capsys):
    config = GNNTrainConfig(
        benchmarks=("here/a.hlo",),
        out=tmp_path / "run",
        resume="here",
        known_no_ops=tmp_path / "known",
        baseline="here/b",
        start="here/c",
        ray_address="here:6379",
    )
    kind = policy_kind("op_counts", config)
    last, best = (PPO(kind.new_policy(), kind.ppo) for _ in range(2))
    with torch.no_grad():
        for parameter in best.policy.parameters():
            parameter.add_(1.0)
    kept = Best(1.0, 640, best.policy.state_dict())
    trained = Checkpoint.take(kind, last, 3, 1_920, 477, Quarantine(), kept)
    trained.save(tmp_path / "checkpoint.pt")
    monkeypatch.setattr(ship, "FOLDER", tmp_path / "shipped")
    assert ship.main(str(tmp_path / "checkpoint.pt")) == 0
    cost = "trained on 1,920 pass calls, kept after 640, imitating 477 orders"
    assert cost in capsys.readouterr().out
    found = shipped.one_of_each(tmp_path / "shipped")["op-counts"]
    assert found.stat().st_size < (tmp_path / "checkpoint.pt").stat().st_size
    assert "here" not in str(Checkpoint.load(found).config)
    assert str(tmp_path) not in str(Checkpoint.load(found).config)
    _, policy = load_policy(found)
    expected = best.policy.state_dict()
    assert all(torch.equal(expected[k], v) for k, v in policy.state_dict().items())


def test_of_a_policy_that_none_was_better_than_the_average_is_shipped(tmp_path, monkeypatch):
    kind = policy_kind("op_counts", GNNTrainConfig())
    ppo = PPO(kind.new_policy(), kind.ppo)
    ppo.average = {name: value + 1.0 for name, value in ppo.policy.state_dict().items()}
    path = tmp_path / "checkpoint.pt"
    Checkpoint.take(kind, ppo, 3, 1_920, 477, Quarantine(), None).save(path)
    again = PPO(kind.new_policy(), kind.ppo)
    Checkpoint.load(path).restore(kind, again)
    assert again.average is not None
    monkeypatch.setattr(ship, "FOLDER", tmp_path / "shipped")
    assert ship.main(str(path)) == 0
    for location in (path, shipped.one_of_each(tmp_path / "shipped")["op-counts"]):
        _, policy = load_policy(location)
        for name, value in policy.state_dict().items():
            assert torch.equal(value, ppo.average[name])
            assert torch.equal(value, again.average[name])


def test_what_is_no_checkpoint_is_refused(tmp_path, capsys):
    (tmp_path / "other").write_bytes(b"something else")
    assert ship.main(str(tmp_path / "other")) == 2
    assert "other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": tuple(f"no {name}" for name in hlograph.passes.names)}, "exists any more"),
        ({"config": {"seed": 0, "train_op_limit": 9, "op_counts": {"width": 3}}}, "another shape"),
    ],
)
def test_what_cannot_be_played_is_refused(changes, message, tmp_path, monkeypatch, capsys):
    config = GNNTrainConfig()
    kind = policy_kind("op_counts", config)
    ppo = PPO(kind.new_policy(), kind.ppo)
    trained = Checkpoint.take(kind, ppo, 3, 1_920, None, Quarantine(), None)
    replace(trained, **changes).save(tmp_path / "checkpoint.pt")
    monkeypatch.setattr(ship, "FOLDER", tmp_path / "shipped")
    assert ship.main(str(tmp_path / "checkpoint.pt")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "shipped").exists()
