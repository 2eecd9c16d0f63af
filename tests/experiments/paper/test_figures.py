"""Whole experiments, as small as they can be: every trial is there, checked, with its curve."""

from dataclasses import replace

import pytest

from experiments.benchmarks import ALL_REFERENCES, REFERENCES
from experiments.metrics import count_ratio
from experiments.paper import figure2, figure4
from experiments.paper.agent_settings import LABELS, AgentSettings
from experiments.startup import tensorboard_without_tensorflow
from experiments.study import STUDY, Study

SMALL = {
    "seeds": (3,),
    "corpus_set": None,
    "total_steps": 24,
    "num_envs": 4,
    "horizon": 6,
    "train_op_limit": 25,
    "test_op_limit": 85,
    "test_count": 2,
    "evaluations": 2,
    "samples": 1,
    "num_workers": 2,
}


def _check(study, methods, folder):
    assert study.methods("corpus test-unseen") == methods
    assert set(study.references) == {o.benchmark for t in study.trials for o in t.outcomes}
    for reference in study.references.values():
        assert set(reference.after) == set(reference.calls) == set(ALL_REFERENCES)
    for trial in study.trials:
        assert trial.seed == 3
        assert [check.problem for check in trial.checks] == [None] * 2
        steps, ratios = trial.training[-1]
        assert steps == 24
        agent = [o.op_count for o in trial.outcomes]
        for name in REFERENCES:
            reference = [study.references[o.benchmark].after[name] for o in trial.outcomes]
            assert ratios[name] == pytest.approx(count_ratio(reference, agent), rel=1e-5)
    study.save(folder)
    loaded = Study.load(folder / STUDY)
    assert [t.counted() for t in loaded.trials] == [t.counted() for t in study.trials]


def test_figure2(tmp_path):
    tensorboard_without_tensorflow()
    config = replace(
        figure2.PRESETS["quick"],
        **SMALL,
        agents=("dqn", "maskable-ppo"),
        agent=AgentSettings(width=16, dqn_learning_starts=8),
    )
    study = figure2.run(config, tmp_path)
    third_party = ["DQN (op counts)", "DQN (op counts), masked in play", LABELS["maskable-ppo"]]
    _check(study, [*third_party, "PPO (op counts)", "PPO (GNN)"], tmp_path)
    # A run that was cut short begins with what is there, and ends with the same.
    again = figure2.run(config, tmp_path)
    assert again.trials == study.trials


def test_figure4(tmp_path):
    tensorboard_without_tensorflow()
    study = figure4.run(replace(figure4.PRESETS["quick"], **SMALL), tmp_path)
    methods = [
        f"{what} ({encoder})"
        for what in figure4.LABELS.values()
        for encoder in ("op counts", "GNN")
    ]
    _check(study, methods, tmp_path)
