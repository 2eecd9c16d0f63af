"""Policies for time are shown what the recorded decisions leave to do in each state."""

import numpy as np
import pytest
import torch

from envs import TuningEnv
from experiments.policies.kind import policy_kind
from experiments.train.decisions import ShowDecisions
from experiments.workers.task_runner import parameters_of
from experiments.workers.worker import RolloutWorker
from hlograph.isolation import FlightRecorder
from tests.experiments.train.test_train_tuning import tiny_tuning_config

NAME = "selection/last-sorted/b16-n8192"
RULE = "rule sort-prefix-as-top-k"
SMALL = "flags xla_cpu_optimize_for_size = true"
CONFIG = tiny_tuning_config(horizon=6)


@pytest.fixture(scope="module")
def worker():
    return RolloutWorker(CONFIG, FlightRecorder())


def names_of(env: TuningEnv, actions):
    offered = dict(enumerate(offer.name for offer in env.offers))
    return {offered.get(action, "stop") for action in actions}


def rows_by_state(recorded):
    found = {}
    for number, action in zip(recorded.numbers, recorded.actions, strict=True):
        found.setdefault(recorded.keys[number], []).append(action)
    return found


@pytest.mark.parametrize("name", ["tuning", "tuning_counts"])
def test_recorded_decisions_are_followed(worker, name):
    recorded = ShowDecisions(name, {NAME: (RULE, SMALL)}).do(worker)
    kind = worker.kind(name)
    env = worker.env_maker(kind, [NAME], ShowDecisions(name, {}).quarantine)()
    observation, info = env.reset(seed=0, options={"benchmark": NAME})
    rewards, shown = [], rows_by_state(recorded)
    for expected in ({RULE, SMALL}, {SMALL}, {"stop"}):
        state = kind.encode(observation, info)
        assert names_of(env.unwrapped, shown.pop(state.key)) == expected
        first = RULE if RULE in expected else min(expected)
        offered = [offer.name for offer in env.unwrapped.offers]
        action = offered.index(first) if first != "stop" else len(kind.outputs) - 1
        observation, reward, terminated, _, info = env.step(np.int64(action))
        rewards.append(reward)
    assert terminated
    assert not shown
    rows = recorded.demonstrations()
    assert bool(rows.mask.gather(1, rows.action.unsqueeze(1)).all())
    discounts = kind.ppo.reward_scale * kind.ppo.gamma ** np.arange(3)
    assert rows.returns[0] == pytest.approx(float(discounts @ rewards), rel=1e-5)


def test_where_nothing_is_recorded_to_be_faster_an_episode_stops(worker):
    recorded = ShowDecisions("tuning", {NAME: ()}).do(worker)
    assert recorded.actions == [len(worker.kind("tuning").outputs) - 1]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_policy_is_shown_what_is_left_where_it_goes(worker, seed):
    torch.manual_seed(seed)
    policy = policy_kind("tuning", CONFIG).make_policy()
    recorded = ShowDecisions("tuning", {NAME: (RULE, SMALL)}, parameters_of(policy)).do(worker)
    stop = len(worker.kind("tuning").outputs) - 1
    followed = rows_by_state(ShowDecisions("tuning", {NAME: (RULE, SMALL)}).do(worker))
    shown = rows_by_state(recorded)
    root = recorded.keys[0]
    assert root in followed
    assert shown[root] == followed[root]
    assert 1 <= len(shown) <= CONFIG.horizon
    assert all(actions == [stop] or stop not in actions for actions in shown.values())
