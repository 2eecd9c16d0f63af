"""Tests of rewards of op counts and costs."""

import itertools
import math

import numpy as np
import pytest

from envs import PassOrderingEnv, Shaped
from envs.rewards import (
    REWARDS,
    BytesDrop,
    CostDrop,
    LogDrop,
    ModuleState,
    OpCountDrop,
    cost_changes,
    resolve_reward,
)
from hlograph import Module, passes

GAMMA = 0.9
START = ModuleState(op_count=10, flops=90, transcendentals=10)
CHEAPER = ModuleState(op_count=8, flops=40, transcendentals=10)


def test_cost_changes_are_logarithms_softened_by_the_size():
    flops, transcendentals = cost_changes(START, CHEAPER)
    assert flops == pytest.approx(math.log(50 / 100))
    assert transcendentals == 0
    no_flops = START._replace(flops=0)
    assert cost_changes(no_flops, no_flops._replace(flops=10))[0] == pytest.approx(math.log(2))


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_rewards_of_programs_without_costs_are_finite(name):
    reward = resolve_reward(name)
    # XLA counts -1 for each custom call.
    costs = [(0, 0, 0), (-1, 0, -1), (-8, 0, -8), (5, 2, 40)]
    states = [ModuleState(1, *numbers, run_time=1.0) for numbers in costs]
    for start, before, after in itertools.product(states, repeat=3):
        assert math.isfinite(reward(start, before, after))


@pytest.mark.parametrize("reward", [CostDrop(), BytesDrop()])
def test_a_start_without_costs_pays_nothing(reward):
    nothing = ModuleState(4, flops=0, transcendentals=0, bytes_accessed=0)
    unknown = ModuleState(4, flops=-1, transcendentals=0, bytes_accessed=-1)
    costly = ModuleState(4, flops=9, transcendentals=1, bytes_accessed=8)
    for start in (nothing, unknown):
        assert reward(start, start, costly) == reward(start, costly, start) == 0
    assert reward(costly, costly, nothing) == reward(costly, costly, unknown) == 100


def test_the_potential_is_0_at_the_start_and_more_where_costs_are_lower():
    shaped = Shaped(gamma=1, weight=0.1)
    assert shaped.potential(START, START) == 0
    assert shaped.potential(START, CHEAPER) == pytest.approx(10 * math.log(2))
    assert shaped(START, START, CHEAPER) == pytest.approx(20 + 10 * math.log(2))
    assert shaped(START, CHEAPER, START) == pytest.approx(-20 - 10 * math.log(2))


@pytest.mark.parametrize("names", [("dce", "cse", "call-inliner"), ("cse", "cse"), ()])
def test_shaping_adds_the_same_to_every_episode(tiny, names):
    def discounted(reward) -> float:
        env = PassOrderingEnv(tiny, observation="op_counts", reward=reward, costs=False)
        env.reset()
        actions = [*(passes[name].index for name in names), len(passes)]
        return sum(GAMMA**t * env.step(a)[1] for t, a in enumerate(actions))

    assert discounted(Shaped(gamma=GAMMA, weight=3)) == pytest.approx(discounted(OpCountDrop()))


def test_a_truncated_episode_keeps_the_potential_of_its_state(tiny):
    env = PassOrderingEnv(tiny, observation="op_counts", reward=Shaped(GAMMA, 1), horizon=1)
    env.reset()
    _, reward, terminated, truncated, info = env.step(passes["cse"].index)
    assert (terminated, truncated) == (False, True)
    assert info["cost_changes"][1] < 0
    gained = -100 * GAMMA * sum(info["cost_changes"])
    assert reward == pytest.approx(100 * (8 - info["op_count"]) / 8 + gained)


def test_cost_analysis_runs_only_on_request(tiny, monkeypatch):
    calls = []
    cost = Module.cost
    monkeypatch.setattr(Module, "cost", lambda self: calls.append(1) or cost(self))

    def asked(**settings) -> int:
        calls.clear()
        env = PassOrderingEnv(tiny, observation="op_counts", **settings)
        _, info = env.reset()
        for name in ("cse", "cse", "dce"):
            info = env.step(passes[name].index)[-1]
        assert ("flops" in info) == settings.get("costs", True)
        return len(calls)

    assert asked(costs=False) == 0
    # Of the start, and of the two states that passes led to.
    assert asked(costs=False, reward="shaped") == asked(costs=True) == 3


def test_infos_have_cost_changes(tiny):
    env = PassOrderingEnv(tiny, observation="op_counts")
    _, info = env.reset()
    assert info["cost_changes"] == (0, 0)
    info = env.step(passes["cse"].index)[-1]
    # One of two exponentials of four elements is left, in a module of eight instructions.
    np.testing.assert_allclose(info["cost_changes"][1], math.log(12 / 16))
    copy = env.fork()
    assert copy.step(passes["cse"].index)[-1]["cost_changes"] == info["cost_changes"]


def test_log_drops_sum_to_the_logarithm_of_the_ratio_less_the_calls(tiny):
    reward = LogDrop(call_cost=0.5)
    env = PassOrderingEnv(tiny, observation="op_counts", reward=reward, costs=False)
    _, info = env.reset()
    start = info["op_count"]
    calls = [passes[name].index for name in ("dce", "call-inliner", "cse")]
    total = 0.0
    for action in (*calls, len(passes)):
        _, rewarded, _, _, info = env.step(action)
        total += rewarded
    assert info["op_count"] < start
    assert total == pytest.approx(100 * math.log(start / info["op_count"]) - 0.5 * len(calls))
