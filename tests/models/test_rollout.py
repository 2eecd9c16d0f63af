"""Distinct states are encoded once, and minibatches split environments fairly."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder
from models.rollout import StateTable, environment_minibatches


class CountingEncoder(OpCountEncoder):
    """Notes how many states it has encoded, in calls of how many."""

    def __init__(self) -> None:
        super().__init__(4, OpCountConfig(layers=1, width=8))
        self.calls: list[int] = []

    def forward(self, states, numbers):
        """Encodes as its base class does."""
        self.calls.append(len(numbers))
        return super().forward(states, numbers)


@pytest.fixture
def policy():
    torch.manual_seed(0)
    return ActorCritic(CountingEncoder(), context_width=0, num_actions=2, config=HeadsConfig())


def _counts(value: float) -> np.ndarray:
    return np.full(4, value, np.float32)


def test_each_distinct_state_is_encoded_once(policy):
    table = StateTable(policy)
    assert table.numbers(["a", "b", "a"], [_counts(1), _counts(2), _counts(1)]) == [0, 1, 0]
    assert table.numbers(["b", "c"], [_counts(2), _counts(3)]) == [1, 2]
    assert table.numbers(["a", "c"], [_counts(1), _counts(3)]) == [0, 2]
    assert policy.encoder.calls == [2, 1]
    assert table.states.stacked(range(3))[:, 0].tolist() == [1, 2, 3]
    vectors = table.vectors([2, 0])
    assert not vectors.requires_grad
    expected = policy.encoder.encode_items([_counts(3), _counts(1)])
    torch.testing.assert_close(vectors, expected)


@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 6), st.integers(0, 99))
def test_minibatches_hold_each_environment_once_and_whole(steps, num_envs, count, seed):
    generator = torch.Generator().manual_seed(seed)
    sets = environment_minibatches(steps, num_envs, count, generator)
    assert len(sets) == min(count, num_envs)
    assert sorted(torch.cat(sets).tolist()) == list(range(steps * num_envs))
    sizes = [len(rows) for rows in sets]
    assert max(sizes) - min(sizes) <= steps
    for rows in sets:
        envs = (rows % num_envs).view(-1, steps)
        assert (envs == envs[:, :1]).all()
        assert ((rows // num_envs).view(-1, steps) == torch.arange(steps)).all()


def test_order_of_environments_follows_the_generator():
    def draw(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return [rows.tolist() for rows in environment_minibatches(3, 50, 4, generator)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
