"""Tests that collected experience is what happened in the environments."""

from collections import Counter

import numpy as np
import pytest
import torch

from experiments.policies.player import Episodes
from experiments.workers.collecting import Deck, RolloutStats, collect
from models.op_count_mlp import CountVectors
from models.rollout import Rollout, merged


@pytest.fixture
def play(make_countdown, countdown_policy, countdown_kind):
    """A function that collects from countdown environments of horizon 6."""

    def run(num_envs: int = 5, steps: int = 6, seed: int = 0, horizon: int = 6):
        episodes = Episodes(countdown_kind, countdown_policy, make_countdown(horizon), num_envs)
        deck, generator = Deck(["3", "8", "20"], seed), torch.Generator().manual_seed(seed)
        return collect(episodes, deck, generator, steps)

    return run


def _ended(rollout: Rollout) -> torch.Tensor:
    return rollout.terminated | rollout.truncated


def _counts(rollout: Rollout) -> np.ndarray:
    """First count of each state."""
    assert isinstance(rollout.states, CountVectors)
    return rollout.states.stacked(range(len(rollout.keys)))[:, 0]


def test_shapes_and_masks(play):
    rollout, _ = play(num_envs=5, steps=7)
    assert rollout.state.shape == rollout.reward.shape == (7, 5)
    assert rollout.mask.shape == (7, 5, 3)
    assert rollout.context.shape == (7, 5, 4)
    assert rollout.mask.gather(2, rollout.action.unsqueeze(2)).all()
    torch.testing.assert_close(rollout.context[..., :3], rollout.mask.float())


def test_states_are_distinct_and_right(play):
    rollout, _ = play(num_envs=8, steps=12)
    counts = _counts(rollout).astype(int).tolist()
    assert len(set(counts)) == len(counts)
    here = torch.tensor(counts)[rollout.state]
    goes_on = ~_ended(rollout)[:-1]
    torch.testing.assert_close(here[1:][goes_on], (here[:-1] - rollout.reward[:-1].long())[goes_on])


def test_next_values_are_those_of_the_state_that_followed(play, countdown_policy):
    with torch.no_grad():
        # Values that depend on the module alone, so that what they should be is known.
        countdown_policy.value_head[0].weight[:, countdown_policy.encoder.width :] = 0
    rollout, _ = play(num_envs=8, steps=12, horizon=3)
    goes_on = ~_ended(rollout)[:-1]
    torch.testing.assert_close(rollout.next_value[:-1][goes_on], rollout.value[1:][goes_on])
    assert rollout.truncated.any()
    left = _counts(rollout)[rollout.state] - rollout.reward.numpy()
    items = [np.array([count, 1], np.float32) for count in left[rollout.truncated]]
    with torch.no_grad():
        context, mask = torch.ones(len(items), 4), torch.ones(len(items), 3, dtype=torch.bool)
        _, expected = countdown_policy(countdown_policy.encoder.encode_items(items), context, mask)
    torch.testing.assert_close(rollout.next_value[rollout.truncated], expected)


def test_last_row_of_an_episode_that_goes_on_has_a_next_value(play):
    rollout, _ = play(num_envs=8, steps=2, horizon=50)
    goes_on = ~rollout.terminated[-1]
    assert not rollout.truncated.any()
    assert goes_on.any()
    assert (rollout.next_value[-1][goes_on] != 0).all()
    assert (rollout.next_value[rollout.terminated] == 0).all()


def test_books_of_episodes(play):
    rollout, stats = play(num_envs=8, steps=12)
    assert len(stats.episodes) == int(_ended(rollout).sum())
    for episode in stats.episodes:
        assert episode.start_op_count == int(episode.benchmark)
        assert episode.reward == episode.start_op_count - episode.op_count
        assert 1 <= episode.steps <= 6
        assert len(episode.changes) == episode.reward
        rows = slice(episode.last + 1 - episode.steps, episode.last + 1)
        assert rollout.reward[rows, episode.env].sum() == episode.reward
        assert _ended(rollout)[rows, episode.env].tolist() == [False] * (episode.steps - 1) + [True]
    stops = int((rollout.action == 2).sum())
    assert stats.unchanged == rollout.action.numel() - stops - int(rollout.reward.sum())


def test_books_of_parts_of_an_iteration(play):
    parts = [play(num_envs=size, seed=size)[1] for size in (3, 2)]
    both = RolloutStats()
    both.add(parts[0], 0)
    both.add(parts[1], 3)
    assert [e.env for e in both.episodes] == [
        *(e.env for e in parts[0].episodes),
        *(3 + e.env for e in parts[1].episodes),
    ]
    assert both.unchanged == sum(part.unchanged for part in parts)


def test_rollouts_side_by_side(play):
    one, other = play(num_envs=3, seed=1)[0], play(num_envs=2, seed=2)[0]
    seen = [_counts(part) for part in (one, other)]
    both = merged([one, other])
    assert both.action.shape == (6, 5)
    assert len(set(both.keys)) == len(both.keys) < len(one.keys) + len(other.keys)
    for part, counts, columns in zip((one, other), seen, (slice(0, 3), slice(3, 5)), strict=True):
        assert torch.equal(both.value[:, columns], part.value)
        assert (_counts(both)[both.state[:, columns]] == counts[part.state]).all()


def test_seed_decides(play):
    first, again, other = play(seed=3)[0], play(seed=3)[0], play(seed=4)[0]
    assert torch.equal(first.action, again.action)
    assert torch.equal(first.value, again.value)
    assert not torch.equal(first.action, other.action)


def test_deck_deals_each_once_before_any_twice():
    deck = Deck(list("abcde"), seed=1)
    dealt = [deck.deal() for _ in range(15)]
    for begin in (0, 5, 10):
        assert sorted(dealt[begin : begin + 5]) == list("abcde")
    assert Counter(dealt) == dict.fromkeys("abcde", 3)
    assert dealt[:5] != dealt[5:10] or dealt[5:10] != dealt[10:]


@pytest.mark.parametrize("players", [1, 2, 3])
def test_players_share_a_deck(players):
    decks = [Deck(list("abcdef"), seed=1, player=n, players=players) for n in range(players)]
    dealt = [deck.deal() for _ in range(6 // players) for deck in decks]
    assert sorted(dealt) == list("abcdef")
    alone = Deck(list("abcdef"), seed=1)
    assert dealt == [alone.deal() for _ in range(6)]


def test_an_episode_knows_nothing_of_earlier_ones(make_countdown, countdown_kind, countdown_policy):
    episodes = Episodes(countdown_kind, countdown_policy, make_countdown(6))
    episodes.begin({0: "3"})
    tried = episodes.step(lambda *_: [1]).after[0].state.mask
    episodes.begin({0: "3"})
    assert tried.tolist() == [True, False, True]
    assert episodes.running[0].mask.tolist() == [True, True, True]
