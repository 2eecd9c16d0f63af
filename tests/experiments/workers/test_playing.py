"""Episodes are written down as they happened."""

import numpy as np
import pytest
import torch

from experiments.outcomes.evaluation import Outcome
from experiments.policies.states import State
from experiments.workers.lockstep import lockstep
from experiments.workers.playing import Played, play_greedily


@pytest.fixture
def counting_down(countdown_policy):
    """A policy that counts down where it may, does nothing once, then stops."""
    head = countdown_policy.policy_head[2]
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.tensor([3.0, 2.0, 1.0]))
    return countdown_policy


def _play(make_env, policy, benchmarks):
    with lockstep(make_env, len(benchmarks)) as envs:
        return play_greedily(envs, policy, benchmarks)


def test_greedy_episodes(make_countdown, counting_down):
    found = _play(make_countdown(12), counting_down, ["3", "1", "40"])
    # From 3: two steps down, one that changes nothing, the useless pass, and stop.
    assert found[0] == Outcome("3", 3, 1, ("countdown",) * 2, calls=4)
    assert found[1] == Outcome("1", 1, 1, (), calls=2)
    assert found[2] == Outcome("40", 40, 28, ("countdown",) * 12, calls=12)


def test_an_episode_that_comes_back_does_something_else():
    here, there = (
        State(key, None, np.zeros(1, np.float32), np.array([True, True, False, True]))
        for key in ("here", "there")
    )
    log_probs = torch.tensor([0.4, 0.3, 1e-9, 0.3]).log()
    episode = Played("b", [3])
    chosen = [episode.choose(state, log_probs, 0.5) for state in (here, there, here, there, here)]
    # Of what the mask leaves, each in its turn; then it stops.
    assert chosen == [0, 0, 1, 1, 3]
    assert Played("b", [3]).choose(here, log_probs, 0.2) == 3


def test_groups_do_not_change_outcomes(make_countdown, counting_down):
    names = [str(n) for n in range(2, 9)]
    together = _play(make_countdown(5), counting_down, names)
    assert together == [_play(make_countdown(5), counting_down, [name])[0] for name in names]
