"""Studies that play checkpoints."""

from dataclasses import replace

import pytest

from experiments.evaluate.study import STUDY, Study
from experiments.paper.checkpoints import opened, play_checkpoints
from experiments.paper.settings import FIGURE3
from hlograph.errors import HloError

CONFIG = replace(FIGURE3["quick"], checkpoints=("op-counts-seed0",), workers="in-process", checks=0)
GROUPS = {
    "first": ["hypernetwork/d1/forward"],
    "second": ["vgg/keras-hub-r1x1x2/forward-b2"],
    "none": [],
}


def test_a_run_goes_on_where_it_was_interrupted(tmp_path):
    def first(play, group, names, seed):
        if group == "second":
            raise KeyboardInterrupt
        yield play.trial(group, names)

    def second(play, group, names, seed):
        assert group == "second"
        yield play.trial(group, names)

    def nothing(play, group, names, seed):
        raise AssertionError(group)

    run = ("figure3", CONFIG, opened(CONFIG), GROUPS, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        play_checkpoints(*run, first)
    assert not (tmp_path / STUDY).exists()
    study = play_checkpoints(*run, second)
    assert [trial.group for trial in study.trials] == ["first", "second"]
    assert all(outcome.op_count < outcome.start for t in study.trials for outcome in t.outcomes)
    assert "none: no benchmark is left." in study.notes
    assert list(tmp_path.rglob(STUDY)) == [tmp_path / STUDY]
    assert play_checkpoints(*run, nothing).trials == Study.load(tmp_path / STUDY).trials


def test_a_run_does_not_go_on_with_what_other_policies_played(tmp_path):
    (given,) = opened(CONFIG)
    other = {name: value + 1e-6 for name, value in given.kept().items()}
    run = ("figure3", CONFIG, [given], {"first": GROUPS["first"]}, tmp_path)

    def one(play, group, names, seed):
        yield play.trial(group, names)

    study = play_checkpoints(*run, one)
    changed = [replace(given, policy=other, best=None)]
    with pytest.raises(HloError, match=r"results of other policies .* another --out"):
        play_checkpoints(*run[:2], changed, *run[3:], one)
    # Of an interrupted run likewise: its parts.
    study.save(tmp_path / "parts" / "op_counts 0 first")
    (tmp_path / STUDY).unlink()
    with pytest.raises(HloError, match="results of other policies"):
        play_checkpoints(*run[:2], changed, *run[3:], one)
