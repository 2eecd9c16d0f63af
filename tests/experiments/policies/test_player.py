"""Tests that policies are evaluated as their networks say, and what comes of their episodes."""

import gymnasium
import numpy as np
import pytest
import torch

from experiments.evaluate.evaluation import Outcome
from experiments.policies.config import GNNTrainConfig
from experiments.policies.kind import PolicyInput
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.policies.player import (
    Episodes,
    PolicyEvaluator,
    play_drawn,
    play_greedily,
    play_samples,
)
from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder


@pytest.fixture
def counting_down(countdown_policy):
    """A policy that counts down where it may, does nothing once, then stops."""
    head = countdown_policy.policy_head[2]
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.tensor([3.0, 2.0, 1.0]))
    return countdown_policy


@pytest.fixture
def play(countdown_kind):
    def play(make_env, policy, benchmarks, kind=countdown_kind):
        return play_greedily(Episodes(kind, policy, make_env, len(benchmarks)), benchmarks)

    return play


def test_greedy_episodes(play, make_countdown, counting_down):
    found = play(make_countdown(12), counting_down, ["3", "1", "40"])
    # From 3: two steps down, one that changes nothing, the useless pass, and stop.
    assert found[0] == Outcome("3", 3, 1, ("countdown",) * 2, calls=4)
    assert found[1] == Outcome("1", 1, 1, (), calls=2)
    assert found[2] == Outcome("40", 40, 28, ("countdown",) * 12, calls=12)


class Circle(gymnasium.Env):
    """Two states; action 0 leads to the other one, action 1 leads nowhere, action 2 stops."""

    def reset(self, *, seed=None, options=None):
        self._there = False
        return np.zeros(2, np.float32), self._info(None)

    def step(self, action):
        self._there ^= action == 0
        info = self._info(("turn", "nothing", "stop")[action], action == 0)
        return np.zeros(2, np.float32), 0.0, action == 2, False, info

    def _info(self, name, changed=False):
        return {
            "op_count": 3,
            "start_op_count": 3,
            "size": 3,
            "step_name": name,
            "changed": changed,
            "fingerprint": str(self._there),
            "action_mask": np.ones(3, np.int8),
        }


class Traveller(PassOrderingKind):
    """Kind that takes no action twice in one state."""

    avoids_repeats = True


def test_an_episode_that_comes_back_takes_another_action(play, counting_down):
    (found,) = play(Circle, counting_down, ["circle"], Traveller("op_counts", GNNTrainConfig()))
    # A turn in each state, then what does nothing where it came back to, and it stops.
    assert found.calls == 3
    assert found.passes == ()


def test_time_that_is_up_keeps_the_best_state(make_countdown, counting_down, countdown_kind):
    two = Episodes(countdown_kind, counting_down, make_countdown(12), 2)
    at_once = play_samples(two, "9", 4, seed=0, seconds=0.0)
    in_time = play_samples(two, "9", 4, seed=0, seconds=1e9)
    assert at_once == Outcome("9", 9, 9, (), calls=0, out_of_time=True)
    assert not in_time.out_of_time
    assert in_time.op_count < 9
    alone = Episodes(countdown_kind, counting_down, make_countdown(12))
    (greedy,) = play_greedily(alone, ["9"], seconds=0.0)
    drawn = play_drawn(alone, "9", seed=1, seconds=0.0)
    assert greedy == drawn == Outcome("9", 9, 9, (), calls=0)


def test_groups_do_not_change_outcomes(play, make_countdown, counting_down):
    names = [str(n) for n in range(2, 9)]
    together = play(make_countdown(5), counting_down, names)
    assert together == [play(make_countdown(5), counting_down, [name])[0] for name in names]


def _policy() -> ActorCritic:
    torch.manual_seed(0)
    encoder = OpCountEncoder(4, OpCountConfig(layers=1, width=8))
    return ActorCritic(encoder, context_width=2, num_actions=3, config=HeadsConfig())


def _state(key: str, context: float, mask: tuple[bool, ...]) -> PolicyInput:
    counts = np.full(4, ord(key), np.float32)
    return PolicyInput(key, counts, np.full(2, context, np.float32), np.array(mask))


def test_outputs_are_those_of_the_policy_and_follow_context_and_mask():
    policy = _policy()
    evaluate = PolicyEvaluator(policy)
    states = [_state("b", 1, (True, True, False)), _state("a", 0, (True, False, True))]
    evaluate([_state("a", 5, (True, True, True))])
    found = evaluate(states)
    vectors = policy.encoder.encode_items([state.item for state in states])
    log_probs, value = policy(vectors, found.context, found.mask)
    torch.testing.assert_close(found.log_probs, log_probs.detach())
    torch.testing.assert_close(found.value, value.detach())
    assert found.numbers == [1, 0]
    assert found.log_probs[0, 2].exp() == found.log_probs[1, 1].exp() == 0
    assert not found.log_probs.requires_grad


def test_a_state_evaluated_again_has_the_same_outputs():
    evaluate = PolicyEvaluator(_policy())
    state = _state("a", 1, (True, True, True))
    first, again = evaluate([state]), evaluate([state])
    assert torch.equal(first.log_probs, again.log_probs)
    assert torch.equal(first.value, again.value)
    assert len(evaluate.table.keys) == 1
