"""Rewards that end in what was measured: what is added where, and a run that learns from them."""

import math
from unittest.mock import sentinel

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

from experiments.evaluate.evaluation import Outcome
from experiments.train.measured_plans import FILE, MeasuredPlan, MeasuredPlans
from experiments.train.program import train
from experiments.train.time_table import LARGEST, end_in_measurements
from experiments.workers.collecting import RolloutStats, TrainingEpisode
from experiments.workers.task_runner import Iteration
from hlograph.errors import DamagedFileError
from hlograph.plans import Plan
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from models.rollout import Rollout
from tests.experiments.tiny_run import tiny_config
from tests.experiments.train.test_train_tuning import SAFE, tiny_tuning_config
from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]

MEASURED = {
    ("a", ("rule x",)): MeasuredPlan(Plan("a"), 3.0, 2.9, 3.1, ""),
    ("b", ("flag y", "rule x")): MeasuredPlan.lost("outputs differ"),
    ("c", ()): MeasuredPlan(Plan("c"), 1.0, 1.0, 1.0, ""),
    ("d", ("flag z",)): MeasuredPlan(Plan("d"), 0.01, 0.01, 0.01, ""),
}


@pytest.fixture
def plans(tmp_path):
    content = [[*key, one.to_json()] for key, one in MEASURED.items()]
    write_checked_json(tmp_path / FILE, "measured plans", 1, {"plans": content})
    return MeasuredPlans(tmp_path)


def _iteration(*episodes):
    rewards = torch.zeros(6, 2)
    empty = torch.zeros(0)
    names = ("state", "context", "mask", "action", "log_prob", "value", "next_value")
    ends = {"terminated": empty, "truncated": empty}
    rollout = Rollout(sentinel.states, [], reward=rewards, **dict.fromkeys(names, empty), **ends)
    return Iteration(rollout, RolloutStats(list(episodes)), {})


def test_the_last_decision_makes_up_for_the_prediction(plans):
    faster = TrainingEpisode("a", 100, 50, 0, reward=69.0, steps=2, changes=["rule x"], last=1)
    refused = TrainingEpisode("b", 100, 80, 1, steps=4, changes=["flag y", "rule x"], last=3)
    default = TrainingEpisode("c", 100, 100, 0, steps=1, last=2)
    iteration = _iteration(faster, refused, default)
    figures = end_in_measurements(iteration, plans, sentinel.nobody_measures)
    reward = iteration.rollout.reward
    assert reward[1, 0] == pytest.approx(100 * math.log(3.0 / 2.0))
    assert reward[3, 1] == pytest.approx(100 * math.log(1.0 / 1.25))
    assert reward.count_nonzero() == 2
    assert faster.reward == pytest.approx(69.0 + float(reward[1, 0]))
    assert figures["measured_train/plans"] == pytest.approx(3 ** (1 / 3))
    both = figures["measured_train/plans"] * figures["measured_train/predicted_over_measured"]
    assert both == pytest.approx((2.0 * 1.25) ** (1 / 3))
    assert figures["measured_train/new"] == 0


def test_what_is_added_is_bounded(plans):
    slow = TrainingEpisode("d", 100, 50, 1, steps=6, changes=["flag z"], last=5)
    iteration = _iteration(slow)
    end_in_measurements(iteration, plans, sentinel.nobody_measures)
    assert iteration.rollout.reward[5, 1] == slow.reward == -LARGEST


def test_without_an_episode_that_ended_nothing_is_added(plans):
    assert end_in_measurements(_iteration(), plans, sentinel.nobody_measures) == {}


def test_measurements_of_an_interrupted_run_are_kept(plans, tmp_path):
    outcomes = [Outcome(name, 100, 90, steps, 1) for name, steps in MEASURED]
    assert plans.of(outcomes, sentinel.nobody_measures) == list(MEASURED.values())
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-9])
    with pytest.raises(DamagedFileError):
        MeasuredPlans(tmp_path)


def test_a_run_learns_from_measured_returns(tmp_path, own_lock):
    folder = tmp_path / "run"
    more = {"returns": "measured", "result": "last", "test_count": 0, "measure_validation": False}
    config = tiny_tuning_config(out=folder, decisions=SAFE, **more)
    assert train(config) == 0
    rows = read_checked_json(folder / FILE, "measured plans", 1)["plans"]
    keys = {(benchmark, tuple(names)) for benchmark, names, _ in rows}
    assert len(keys) == len(rows) > 1
    for kind in ("tuning", "tuning_counts"):
        events = EventAccumulator(str(folder / kind), size_guidance={SCALARS: 0}).Reload()
        steps = [each.step for each in events.Scalars("measured_train/plans")]
        assert steps == [n * 4 * tiny_config().num_envs for n in (1, 2)]
        (first, *_) = events.Scalars("measured_train/new")
        assert 0 <= first.value <= 1
