"""Recorded decisions only ever get faster, and belong to one module."""

from dataclasses import replace

import pytest

from experiments.evaluate import best_decisions
from experiments.evaluate.best_decisions import BestDecisions
from hlograph import corpus
from hlograph.decisions.plan_states import action_kinds
from hlograph.errors import DamagedFileError

FAST = BestDecisions(
    "a/b", "f" * 32, ("rule x", "flags y = 1, 2"), 2.0, 1.9, 2.1, "forms", 30, "0.10.2", "A CPU"
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "best_decisions.jsonl"


def test_nothing_is_known_without_a_file(path):
    assert best_decisions.read(path) == {}


def test_what_is_written_is_read(path):
    other = replace(FAST, benchmark="a/a", decisions=(), ratio=1.0, low=1.0, high=1.0)
    best_decisions.write([FAST, other], path)
    assert best_decisions.read(path) == {"a/a": other, "a/b": FAST}
    assert list(best_decisions.read(path)) == ["a/a", "a/b"]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"ratio": 2.2, "low": 2.01, "high": 2.4}, True),
        ({"ratio": 2.2, "low": 1.99, "high": 2.4}, False),
        ({"ratio": 1.0, "low": 1.0, "high": 1.0, "decisions": ()}, False),
        ({"ratio": 1.1, "low": 1.0, "high": 1.2, "fingerprint": "e" * 32}, True),
    ],
)
def test_what_is_faster_for_certain_or_about_another_module_is_kept(path, changes, kept):
    new = replace(FAST, **changes)
    best_decisions.write([FAST], path)
    best_decisions.write([new], path)
    assert best_decisions.read(path) == {"a/b": new if kept else FAST}


def test_decisions_about_a_changed_module_do_not_count(path):
    here = corpus.load("speed", "train")[0]
    best_decisions.write([replace(FAST, benchmark=here.name)], path)
    assert best_decisions.current([here.name], path) == {}
    own = replace(FAST, benchmark=here.name, fingerprint=here.fingerprint)
    best_decisions.write([own], path)
    assert best_decisions.current([here.name, "a/b"], path) == {here.name: own}


def test_a_damaged_line_is_named(path):
    best_decisions.write([FAST], path)
    path.write_text(path.read_text() + '{"benchmark": "x"}\n')
    with pytest.raises(DamagedFileError, match=r"line 2 of .*best_decisions\.jsonl is damaged"):
        best_decisions.read(path)


def test_the_project_s_decisions_are_about_its_train_split():
    known = best_decisions.read()
    train = {one.name: one.fingerprint for one in corpus.load("speed", "train")}
    assert len(known) > 80
    assert all(train[name] == one.fingerprint for name, one in known.items())
    kinds = set(action_kinds())
    for one in known.values():
        assert bool(one.decisions) == (one.ratio > 1)
        assert one.low <= one.ratio <= one.high
        rules = [name for name in one.decisions if name.startswith("rule ")]
        assert set(rules) <= kinds
