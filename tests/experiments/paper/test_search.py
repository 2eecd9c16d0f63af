"""The comparison of searches: every method, seed and budget, on the same benchmarks."""

from dataclasses import replace

import pytest

from experiments.checkpoint import Checkpoint
from experiments.config import OpCountTrainConfig
from experiments.crew import Crew
from experiments.learner import learner_of, new_policy
from experiments.paper.search import PRESETS, idle_cores, run
from experiments.study import Study
from hlograph.errors import UnknownNameError
from hlograph.isolation import Quarantine
from models.ppo import PPO

_TINY = replace(
    PRESETS["quick"],
    seeds=(0, 1),
    methods=("random", "local"),
    guided=(),
    split="validation",
    op_limit=60,
    count=1,
    calls=(40,),
    seconds=(0.05,),
    checks=0,
    workers="in-process",
)


@pytest.fixture
def checkpoint(tmp_path):
    config = OpCountTrainConfig(seed=7)
    learner = learner_of("op_counts", config)
    path = tmp_path / "checkpoint.pt"
    ppo = PPO(new_policy(learner, config), learner.ppo)
    Checkpoint.take(learner, config, ppo, 0, 1234, Quarantine(), None).save(path)
    return path


def test_the_study_of_searches(tmp_path, checkpoint):
    config = replace(
        _TINY, guided=("policy-greedy", "mcts"), checkpoints=(str(checkpoint),), seeds=(0,)
    )
    study = run(config, tmp_path)
    # No GPT-2 is as small as that.
    assert study.groups() == [f"diverse validation, {b}" for b in ("40 calls", "0.05 s")]
    assert any("trained on 1,234" in note for note in study.notes)
    for group in study.groups():
        assert study.methods(group) == [
            "random",
            "local",
            "op counts policy-greedy",
            "op counts mcts",
        ]
        for trial in study.trials:
            assert [c.problem for c in trial.checks] == [None] * len(trial.outcomes)
            assert len(trial.seconds) == len(trial.outcomes)
            assert bool(trial.curves) == ("greedy" not in trial.method)
    assert all(o.calls <= 40 for t in study.trials if "calls" in t.group for o in t.outcomes)
    study.save(tmp_path)
    again = Study.load(tmp_path / "study.json")
    assert [t.outcomes for t in again.trials] == [t.outcomes for t in study.trials]


def test_as_many_calls_find_the_same_again(tmp_path):
    config = replace(_TINY, seconds=(), corpus_sets=("diverse",))
    first, second = (run(config, tmp_path / name) for name in ("one", "other"))
    assert [t.outcomes for t in first.trials] == [t.outcomes for t in second.trials]
    assert {t.seed for t in first.trials} == {0, 1}


def test_a_run_goes_on_where_it_ended(tmp_path, monkeypatch):
    config = replace(_TINY, seconds=(), corpus_sets=("diverse",))
    whole = run(config, tmp_path / "whole")
    crew_run, searched = Crew.run, []

    def interrupted(self, tasks, what, **settings):
        if what == "a search":
            searched.append(what)
            if len(searched) == 3:
                raise KeyboardInterrupt
        return crew_run(self, tasks, what, **settings)

    monkeypatch.setattr(Crew, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path)
    partial = Study.load(tmp_path / "study.json")
    assert len(partial.trials) == 2
    assert "not come to its end" in partial.notes[-1]
    again = run(config, tmp_path)
    assert [t.outcomes for t in again.trials] == [t.outcomes for t in whole.trials]
    assert searched == ["a search"] * 5
    assert again.notes == whole.notes


def test_a_checkpoint_that_is_not_there(tmp_path):
    with pytest.raises(UnknownNameError):
        run(replace(_TINY, guided=("mcts",), checkpoints=("no-such",)), tmp_path)


def test_one_core_is_always_idle():
    assert idle_cores() >= 1
