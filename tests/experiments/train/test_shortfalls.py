"""Shortfalls of a policy, and how often benchmarks are dealt by them."""

import math
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.policies.checkpoint import Checkpoint, CheckpointFiles
from experiments.train.program import train
from experiments.workers.collecting import Shortfalls
from tests.experiments.tiny_run import tiny_config


class Result(NamedTuple):
    benchmark: str
    op_count: int


def test_a_benchmark_is_dealt_once_more_for_each_percent_of_shortfall():
    shortfalls = Shortfalls({"a": 100, "b": 100, "c": 100, "d": 100}, {})
    results = [Result("a", 100), Result("b", 102), Result("c", 400), Result("d", 90)]
    shortfalls.note(results, 1.0)
    dealt = shortfalls.dealt(["a", "b", "c", "d", "not known"])
    assert Counter(dealt) == {"a": 1, "b": 3, "c": 8, "d": 1, "not known": 1}


def test_results_are_weighted():
    shortfalls = Shortfalls({"a": 100}, {"a": 0.3})
    shortfalls.note([Result("a", 100)], 0.5)
    assert shortfalls.values["a"] == pytest.approx(0.15)
    shortfalls.note([Result("a", 110), Result("not known", 7)], 1.0)
    assert shortfalls.values == {"a": pytest.approx(math.log(1.1))}
    assert shortfalls.mean == pytest.approx(math.log(1.1))
    assert Shortfalls({}, {}).mean == 0


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 1000), min_size=1),
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 2000)), max_size=12),
)
def test_all_are_dealt_and_where_more_is_left_to_gain_more_often(known, played):
    shortfalls = Shortfalls(known, {})
    shortfalls.note([Result(*each) for each in played], 0.5)
    dealt = shortfalls.dealt(list(known))
    times = Counter(dealt)
    assert times.keys() == known.keys()
    assert dealt == sorted(dealt, key=list(known).index)
    by_shortfall = sorted(known, key=lambda name: shortfalls.values.get(name, 0.0))
    assert [times[name] for name in by_shortfall] == sorted(times.values())
    assert max(times.values()) <= 8


@pytest.mark.parametrize("sampling", ["shortfall", "uniform"])
def test_a_run_keeps_the_shortfalls_of_its_benchmarks(tmp_path, sampling):
    few = {"total_steps": 24, "samples": 0, "workers": "in-process"}
    config = tiny_config(out=tmp_path / "run", sampling=sampling, **few)
    assert train(config) == 0
    checkpoint = CheckpointFiles(tmp_path / "run" / "gnn").load()
    assert isinstance(checkpoint, Checkpoint)
    if sampling == "uniform":
        assert checkpoint.shortfalls is None
    else:
        assert checkpoint.shortfalls is not None
        assert checkpoint.shortfalls.keys() == set(config.benchmarks)
        assert min(checkpoint.shortfalls.values()) >= 0
