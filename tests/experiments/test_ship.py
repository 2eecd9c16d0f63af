"""A shipped policy is the one that validation chose, and nothing of its training."""

import torch

from experiments import ship, shipped
from experiments.checkpoint import Best, Checkpoint, load_policy
from experiments.config import GNNTrainConfig
from experiments.learner import learner_of, new_policy
from hlograph.isolation import Quarantine
from models.ppo import PPO


def test_what_was_kept_is_shipped(tmp_path, monkeypatch, capsys):
    config = GNNTrainConfig(out=tmp_path / "run")
    learner = learner_of("op_counts", config)
    last, best = (PPO(new_policy(learner, config), learner.ppo) for _ in range(2))
    with torch.no_grad():
        for parameter in best.policy.parameters():
            parameter.add_(1.0)
    kept = Best(1.0, 640, best.policy.state_dict())
    trained = Checkpoint.take(learner, config, last, 3, 1_920, Quarantine(), kept)
    trained.save(tmp_path / "checkpoint.pt")
    monkeypatch.setattr(ship, "FOLDER", tmp_path / "shipped")
    assert ship.main(str(tmp_path / "checkpoint.pt")) == 0
    assert "640 pass calls" in capsys.readouterr().out
    found = shipped.available(tmp_path / "shipped")["op-counts"]
    assert found.stat().st_size < (tmp_path / "checkpoint.pt").stat().st_size
    assert Checkpoint.load(found).config["out"] is None
    _, policy = load_policy(found)
    expected = best.policy.state_dict()
    assert all(torch.equal(expected[k], v) for k, v in policy.state_dict().items())


def test_what_is_no_checkpoint_is_refused(tmp_path, capsys):
    (tmp_path / "other").write_bytes(b"something else")
    assert ship.main(str(tmp_path / "other")) == 2
    assert "other" in capsys.readouterr().err
