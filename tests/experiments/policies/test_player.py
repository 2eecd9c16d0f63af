"""Tests that policies are evaluated as their networks say, and what comes of their episodes."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch

from experiments.evaluate.evaluation import Outcome
from experiments.policies.checkpoint import load_policy
from experiments.policies.config import GNNTrainConfig
from experiments.policies.evaluator import PolicyEvaluator, greedy_action
from experiments.policies.fusion import FusionKind
from experiments.policies.kind import STOP, EnvRequest, PolicyInput
from experiments.policies.pass_ordering import PassOrderingKind
from experiments.policies.player import Episodes, play_drawn, play_greedily, play_samples
from experiments.policies.shipped import checkpoint_location
from hlograph.decisions.benchmarks import resolve_benchmarks
from hlograph.isolation import FlightRecorder, Quarantine
from models.actor_critic import ActorCritic, masked_log_probs
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


class Hesitant(PassOrderingKind):
    """Kind that stops where that is more likely than not."""

    stop_above = 0.5


@pytest.mark.parametrize(
    ("kind", "given", "action"),
    [
        (PassOrderingKind, None, 0),  # 0.7 is below 0.8
        (PassOrderingKind, 0.6, 2),
        (Hesitant, None, 2),
        (Hesitant, 0.75, 0),
    ],
)
def test_the_kind_says_how_likely_stopping_must_be(countdown_policy, kind, given, action):
    episodes = Episodes(kind("op_counts", GNNTrainConfig()), countdown_policy, Circle)
    episodes.begin({0: "circle"})
    seen = replace(
        episodes.evaluate([episodes.running[0]]), log_probs=torch.tensor([[0.2, 0.1, 0.7]]).log()
    )
    assert episodes.greedy(0, seen, stop_above=given) == action


def test_where_nothing_else_is_left_an_episode_stops():
    mask = np.array([False, False, True])
    (alone,) = masked_log_probs(torch.zeros(1, 3), torch.from_numpy(mask)[None])
    assert greedy_action(alone, mask, stop_above=1.0) == 2
    (sure,) = torch.tensor([[0.0, 0.0, 20.0]]).log_softmax(1)
    assert greedy_action(sure, np.ones(3, bool), stop_above=1.0) == 0
    assert greedy_action(sure, np.ones(3, bool), stop_above=1.0, taken={0, 1}) == 2


def test_who_does_not_stop_takes_the_likelier_output():
    assert FusionKind.stop_above == 0.5
    assert FusionKind.outputs[-1] != STOP


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


@pytest.fixture
def foreseeing(counting_down):
    """The same policy, which knows that the useless pass changes nothing."""
    with torch.no_grad():
        counting_down.effects.output.weight.fill_(1e-6)
        counting_down.effects.output.bias.copy_(torch.tensor([5.0, -5.0, 5.0]))
    return counting_down


@pytest.fixture
def foreseeing_ends(foreseeing):
    """The same policy, which knows that nothing more comes once the first pass has run."""
    with torch.no_grad():  # whatever the state's vector
        foreseeing.effects.recency.weight.zero_()
        foreseeing.effects.recency.weight[0, 0] = 10.0
        foreseeing.effects.output.weight[2, 0] = -20.0
    return foreseeing


def test_actions_that_are_predicted_to_change_nothing_are_not_taken(
    make_countdown, foreseeing, countdown_kind
):
    episodes = Episodes(countdown_kind, foreseeing, make_countdown(12), 2)
    found = play_greedily(episodes, ["3", "1"])
    # The useless pass is not called; the one that cannot know of the end is.
    assert found[0] == Outcome("3", 3, 1, ("countdown",) * 2, calls=3)
    assert found[1] == Outcome("1", 1, 1, (), calls=1)
    whole = Episodes(countdown_kind, foreseeing, make_countdown(12), skip_below=0.0)
    assert play_greedily(whole, ["3"])[0].calls == 4


def test_an_episode_that_is_predicted_to_find_nothing_more_ends(
    make_countdown, foreseeing_ends, countdown_kind
):
    episodes = Episodes(countdown_kind, foreseeing_ends, make_countdown(12), 2)
    found = play_greedily(episodes, ["9", "1"])
    # While the first ends by the prediction, the second has its useless pass left out.
    assert [(each.op_count, each.calls) for each in found] == [(8, 1), (1, 1)]
    drawn = [play_drawn(episodes, "9", seed=seed) for seed in range(40)]
    assert {(each.op_count, each.calls) for each in drawn} == {(9, 0), (8, 1)}
    whole = Episodes(countdown_kind, foreseeing_ends, make_countdown(12), skip_below=0.0)
    assert play_greedily(whole, ["3"])[0].op_count == 1


def test_no_draw_is_predicted_to_change_nothing(make_countdown, foreseeing, countdown_kind):
    def drawn(skip_below):
        episodes = Episodes(countdown_kind, foreseeing, make_countdown(40), 1, skip_below)
        return [play_drawn(episodes, "9", seed=seed) for seed in range(20)]

    assert any(each.calls > len(each.passes) for each in drawn(0.0))
    foreseen = drawn(0.2)
    assert all(each.calls <= len(each.passes) + (each.op_count == 1) for each in foreseen)
    assert any(each.passes for each in foreseen)


def test_the_policy_sees_what_is_predicted_to_change_nothing_as_if_it_was_tried(
    make_countdown, foreseeing, countdown_kind
):
    episodes = Episodes(countdown_kind, foreseeing, make_countdown(12))
    episodes.begin({0: "3"})
    asked = []

    def first(numbers, seen):
        asked.append(seen.mask[0].tolist())
        return [0]

    seen, actions, _ = episodes.step(first)
    assert asked == [[True, False, True]]
    assert actions == [0]
    assert seen.mask[0].tolist() == asked[-1]
    assert seen.context[0, :3].tolist() == [1.0, 0.0, 1.0]
    assert seen.log_probs[0, 1].exp() == 0.0


def test_who_is_predicted_to_find_nothing_more_is_not_asked(
    make_countdown, foreseeing_ends, countdown_kind
):
    episodes = Episodes(countdown_kind, foreseeing_ends, make_countdown(12), 2)
    episodes.begin({0: "9", 1: "9"})
    episodes.take(0, 0)
    asked = []

    def first(numbers, seen):
        asked.append((list(numbers), len(seen.numbers)))
        return [0] * len(numbers)

    seen, actions, _ = episodes.step(first)
    assert asked == [([1], 1)]
    assert actions == [2, 0]
    assert len(seen.numbers) == 2


def test_recency_is_that_of_the_episode(make_countdown, counting_down, countdown_kind):
    episodes = Episodes(countdown_kind, counting_down, make_countdown(12), 2)
    episodes.begin({0: "9", 1: "1"})
    for action in (0, 1, 0):
        episodes.take(0, action)
    episodes.take(1, 0)
    np.testing.assert_array_equal(episodes.recency([0, 1], 3), [[1.0, 0.0], [0.0, 0.0]])
    episodes.begin({0: "9"})
    assert not episodes.recency([0], 3).any()


@pytest.fixture(scope="module")
def shipped():
    return load_policy(checkpoint_location("gnn"))


def _episodes(shipped, name, skip_below):
    kind, policy = shipped
    request = EnvRequest(resolve_benchmarks([name]), Quarantine(), FlightRecorder(), learns=False)
    return Episodes(kind, policy, kind.env_maker(request), skip_below=skip_below)


NAMES = (
    "bloom/l1-h32/forward-b2-s16",
    "graph-network/deep-sets-r2/forward",
    "minimisation/cg-grad/one",
    "mixer/l6-h48-scan/forward-b2",
    "roformer/keras-hub-roformerv2-textclassifier-l2-h32/forward-b2-s16",
)


def test_predictions_of_the_shipped_policy_save_calls_and_hardly_instructions(shipped):
    calls = {0.0: 0, 0.05: 0}
    for name in NAMES:
        whole, skipping = (
            play_samples(_episodes(shipped, name, skip), name, 1, seed=0) for skip in calls
        )
        calls[0.0] += whole.calls
        calls[0.05] += skipping.calls
        assert skipping.op_count <= 1.02 * whole.op_count
    assert calls[0.05] < 0.8 * calls[0.0]


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
