"""The comparison of searches: every method, seed and budget, on the same benchmarks."""

from dataclasses import replace

import pytest

from experiments.evaluate.study import Study
from experiments.paper import search
from experiments.paper.report.search import sections
from experiments.paper.search import competitors_of, idle_cores, policies_of, run
from experiments.paper.settings import SEARCH
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.config import PassTrainConfig
from experiments.policies.kind import policy_kind
from experiments.workers.task_runner import TaskRunner
from hlograph.errors import HloError, UnknownNameError
from hlograph.isolation import Quarantine
from models.ppo import PPO

_TINY = replace(
    SEARCH["quick"],
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


def _save(path, seed=7, **settings):
    config = PassTrainConfig(seed=seed, **settings)
    kind = policy_kind("op_counts", config)
    ppo = PPO(kind.new_policy(), kind.ppo)
    Checkpoint.take(kind, ppo, 0, 1234, None, Quarantine(), None).save(path)
    return path


@pytest.fixture
def checkpoint(tmp_path):
    return _save(tmp_path / "checkpoint.pt")


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
    tables = {section.title: section.table for section in sections(again)}
    for group in study.groups():
        equal = tables[f"At equal budgets: {group}"]
        assert equal is not None
        policy = "op counts policy-greedy"
        assert [row[:2] for row in equal.rows] == [
            [policy, other] for other in study.methods(group) if other != policy
        ]
        found = [table for title, table in tables.items() if title.endswith(f"calls: {group}")]
        assert [[row[0] for row in table.rows] for table in found if table] == [
            study.methods(group)
        ]


def test_what_draws_nothing_is_searched_once(tmp_path, checkpoint):
    guided = ("policy", "policy-beam")
    methods = ("random", "greedy")
    study = run(
        replace(_TINY, methods=methods, guided=guided, checkpoints=(str(checkpoint),)), tmp_path
    )
    for group in study.groups():
        seeds = {m: [t.seed for t in study.of(m, group)] for m in study.methods(group)}
        both = {m for m, found in seeds.items() if found == [0, 1]}
        assert both == {"random", "op counts policy"}
        assert all(found in ([0], [0, 1]) for found in seeds.values())


def test_searches_that_had_nothing_left_to_try_are_told_of(tmp_path):
    config = replace(_TINY, methods=("greedy",), seconds=(), op_limit=24, calls=(5, 9_000))
    notes = run(config, tmp_path).notes
    assert any(note.endswith("that ended before their budget: greedy 1 of 1.") for note in notes)
    assert not any("5 calls that" in note for note in notes)


def test_searches_side_by_side_stay_as_many(tmp_path, monkeypatch):
    config = replace(_TINY, seconds=(), methods=("random",))
    monkeypatch.setattr(search, "idle_cores", lambda: 3)
    first = run(config, tmp_path)
    first.save(tmp_path)
    monkeypatch.setattr(search, "idle_cores", lambda: 1)
    assert run(config, tmp_path).notes == first.notes
    assert any("3 searches ran side by side" in note for note in first.notes)


def test_searches_by_other_checkpoints_are_not_mixed(tmp_path, checkpoint):
    config = replace(
        _TINY, guided=("policy-greedy",), seconds=(), methods=(), checkpoints=(str(checkpoint),)
    )
    run(config, tmp_path / "run").save(tmp_path / "run")
    run(config, tmp_path / "run")
    _save(checkpoint, seed=8)
    with pytest.raises(HloError, match="begun with other checkpoints"):
        run(config, tmp_path / "run")
    (tmp_path / "run" / search.BEGUN).unlink()
    with pytest.raises(HloError, match="does not say"):
        run(config, tmp_path / "run")


def test_policies_that_look_alike_have_names_of_their_own(tmp_path):
    paths = [str(_save(tmp_path / str(number))) for number in range(3)]
    config = replace(_TINY, methods=(), guided=("mcts",), checkpoints=tuple(paths))
    names = [c.name for c in competitors_of(config, policies_of(config))]
    assert len(set(names)) == 3
    shaped = str(_save(tmp_path / "shaped", reward="shaped"))
    config = replace(_TINY, guided=("mcts", "policy-beam"), checkpoints=(shaped,))
    with pytest.raises(ValueError, match="predict no op count"):
        competitors_of(config, policies_of(config))


def test_as_many_calls_find_the_same_again(tmp_path):
    config = replace(_TINY, seconds=(), corpus_sets=("diverse",))
    first, second = (run(config, tmp_path / name) for name in ("one", "other"))
    assert [t.outcomes for t in first.trials] == [t.outcomes for t in second.trials]
    assert {t.seed for t in first.trials} == {0, 1}


def test_a_run_goes_on_where_it_ended(tmp_path, monkeypatch):
    config = replace(_TINY, seconds=(), corpus_sets=("diverse",))
    whole = run(config, tmp_path / "whole")
    crew_run, searched = TaskRunner.run, []

    def interrupted(self, tasks, what, **settings):
        if what == "a search":
            searched.append(what)
            if len(searched) == 3:
                raise KeyboardInterrupt
        return crew_run(self, tasks, what, **settings)

    monkeypatch.setattr(TaskRunner, "run", interrupted)
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
