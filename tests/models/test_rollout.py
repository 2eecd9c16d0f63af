"""Distinct states are encoded once, and minibatches split them fairly."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder
from models.rollout import StateTable, encode_in_groups, state_minibatches


class CountingEncoder(OpCountEncoder):
    """Notes how many items it has encoded, in calls of how many."""

    def __init__(self) -> None:
        super().__init__(4, OpCountConfig(layers=1, width=8))
        self.calls: list[int] = []

    def forward(self, items):
        """Encodes as its base class does."""
        self.calls.append(len(items))
        return super().forward(items)


@pytest.fixture
def policy():
    torch.manual_seed(0)
    return ActorCritic(CountingEncoder(), context_width=0, num_actions=2, config=HeadsConfig())


def _counts(value: float) -> np.ndarray:
    return np.full(4, value, np.float32)


def test_each_distinct_state_is_encoded_once(policy):
    table = StateTable(policy, node_budget=100)
    assert table.numbers(["a", "b", "a"], [_counts(1), _counts(2), _counts(1)]) == [0, 1, 0]
    assert table.numbers(["b", "c"], [_counts(2), _counts(3)]) == [1, 2]
    assert table.numbers(["a", "c"], [_counts(1), _counts(3)]) == [0, 2]
    assert policy.encoder.calls == [2, 1]
    assert [item[0] for item in table.items] == [1, 2, 3]
    expected = policy.encode([_counts(3), _counts(1)])
    torch.testing.assert_close(table.vectors([2, 0]), expected)


def test_vectors_are_computed_within_the_budget(policy):
    items = [_counts(i) for i in range(7)]
    vectors = encode_in_groups(policy, items, node_budget=3)
    assert policy.encoder.calls == [3, 3, 1]
    assert not vectors.requires_grad
    torch.testing.assert_close(vectors, policy.encode(items))


@given(st.lists(st.integers(0, 40), min_size=1).filter(any), st.integers(1, 8), st.integers(0, 99))
def test_minibatches_hold_each_visited_state_once(visits, count, seed):
    counts = torch.tensor(visits)
    sets = state_minibatches(counts, count, torch.Generator().manual_seed(seed))
    members = torch.cat(sets)
    assert sorted(members.tolist()) == counts.nonzero().squeeze(1).tolist()
    assert 1 <= len(sets) <= count
    fair = counts.sum() / count
    for states in sets:
        assert len(states) > 0
        assert counts[states].sum() <= fair + counts.max()


def test_order_of_states_follows_the_generator():
    def draw(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        sets = state_minibatches(torch.ones(50, dtype=torch.long), 4, generator)
        return [states.tolist() for states in sets]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
