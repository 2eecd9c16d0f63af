"""Whole experiments, as small as they can be: every trial is there, checked, with its curve."""

from dataclasses import replace

import pytest

from experiments.evaluate.benchmarks import ALL_REFERENCES, REFERENCES, recorded
from experiments.evaluate.evaluation import count_ratios
from experiments.evaluate.study import STUDY, Study
from experiments.paper.training import (
    OP_COUNTS,
    OURS,
    REWARDS,
    ablations,
    figure2,
    figure4,
    learning_note,
)
from experiments.paper.training_settings import (
    ABLATIONS,
    FIGURE2,
    FIGURE4,
    LABELS,
    AblationsConfig,
    AgentSettings,
)
from experiments.policies.checkpoint import Checkpoint
from experiments.workers.player import player
from hlograph import corpus

SMALL = {
    "seeds": (3,),
    "corpus_set": None,
    "total_steps": 24,
    "num_envs": 4,
    "horizon": 6,
    "train_op_limit": 25,
    "test_op_limit": 85,
    "test_count": 2,
    "validation_op_limit": 85,
    "validation_count": 2,
    "evaluations": 2,
    "samples": 1,
    "num_workers": 1,
}


def _check(study, methods, folder):
    assert study.methods("corpus test-unseen") == methods
    assert set(study.references) == {o.benchmark for t in study.trials for o in t.outcomes}
    for reference in study.references.values():
        assert set(reference.after) == set(reference.calls) == set(ALL_REFERENCES)
    for trial in study.trials:
        assert trial.seed == 3
        assert [check.problem for check in trial.checks] == [None] * 2
        assert trial.training[-1][0] == 24
        assert all(set(ratios) == set(REFERENCES) for _, ratios in trial.training)
    splits = {b.name: b.split for b in corpus.load()}
    assert [splits[name] for name in study.settings["validated_on"]] == ["validation"] * 2
    assert {splits[name] for name in study.references} == {"test-unseen"}
    study.save(folder)
    loaded = Study.load(folder / STUDY)
    assert [t.counted() for t in loaded.trials] == [t.counted() for t in study.trials]


def _validation_ratios(study, folder, kind):
    """Ratios to both references that the last policy of a training reaches on validation."""
    checkpoint = Checkpoint.load(folder / kind / "seed3" / "checkpoint.pt")
    references = recorded(study.settings["validated_on"])
    with player(checkpoint, folder, 0, workers="in-process") as play:
        played = play.runner.play(kind, play.policy, list(references))
    return count_ratios(played, references)


def test_figure2(tmp_path):
    config = replace(
        FIGURE2["quick"],
        **SMALL,
        agents=("dqn", "maskable-ppo"),
        agent=AgentSettings(width=16, dqn_learning_starts=8),
    )
    study = figure2(config, tmp_path)
    third_party = ["DQN (op counts)", "DQN (op counts), masked in play", LABELS["maskable-ppo"]]
    _check(study, [*third_party, "PPO (op counts)", "PPO (GNN)"], tmp_path)
    # The curve's last point is the last policy on validation.
    for kind, method in OURS.items():
        (trial,) = study.of(method, "corpus test-unseen")
        expected = _validation_ratios(study, tmp_path, kind)
        assert trial.training[-1][1] == pytest.approx(expected, rel=1e-5)
    # A run that was cut short begins with what is there, and ends with the same.
    again = figure2(config, tmp_path)
    assert again.trials == study.trials


def test_figure4(tmp_path):
    study = figure4(replace(FIGURE4["quick"], **SMALL), tmp_path)
    methods = [f"{what} ({encoder})" for what in REWARDS for encoder in ("op counts", "GNN")]
    _check(study, methods, tmp_path)


def test_ablations(tmp_path):
    variants = ("without edges", "GIN")
    small = SMALL | {"total_steps": 0, "cloning_epochs": 1, "variants": variants}
    study = ablations(replace(ABLATIONS["quick"], **small), tmp_path)
    assert study.methods("corpus test-unseen") == [OP_COUNTS, *variants]
    for trial in study.trials:
        assert [check.problem for check in trial.checks] == [None] * 2
        assert [steps for steps, _ in trial.training] == [0]
    assert "learned from no pass calls of their own" in study.notes[0]
    more = AblationsConfig(total_steps=100, num_envs=4, horizon=6, cloning_epochs=0)
    assert "then learned from 120 pass calls of their own" in learning_note(more)
    with pytest.raises(ValueError, match="no variants \\['no such'\\]"):
        ablations(replace(ABLATIONS["quick"], variants=("no such",)), tmp_path)
