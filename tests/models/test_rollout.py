"""Tests that distinct states are encoded once, and that minibatches split them evenly."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder
from models.rollout import StateTable, state_minibatches


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


@given(
    st.integers(1, 9).flatmap(
        lambda envs: st.lists(
            st.lists(st.integers(0, 40), min_size=envs, max_size=envs), min_size=1, max_size=12
        )
    ),
    st.integers(1, 8),
    st.integers(0, 99),
    st.booleans(),
)
def test_minibatches_hold_each_visited_state_once(visited, count, seed, whole):
    state = torch.tensor(visited)
    sets = state_minibatches(state, count, torch.Generator().manual_seed(seed), whole)
    assert sorted(n for numbers in sets for n in numbers) == state.unique().tolist()
    assert 1 <= len(sets) <= count
    visits = state.flatten().bincount()
    fair = state.numel() / count
    for numbers in sets:
        assert len(numbers) > 0
        assert visits[numbers].sum() <= fair + visits.max()


def test_states_of_an_environment_are_neighbours():
    state = torch.tensor([[0, 3], [1, 4], [2, 5], [0, 6]])
    (numbers,) = state_minibatches(state, 1, torch.Generator())
    assert numbers == [0, 1, 2, 3, 4, 5, 6]


def test_environments_stay_whole():
    state = torch.arange(80).view(10, 8)
    sets = state_minibatches(state, 4, torch.Generator().manual_seed(0), whole=True)
    environments = [{number % 8 for number in numbers} for numbers in sets]
    assert [len(numbers) for numbers in sets] == [20] * 4
    assert [len(each) for each in environments] == [2] * 4
    assert set.union(*environments) == set(range(8))


@pytest.mark.parametrize("whole", [False, True])
def test_sets_follow_the_generator(whole):
    def draw(seed: int) -> list[list[int]]:
        state = torch.arange(50).view(5, 10)
        return state_minibatches(state, 4, torch.Generator().manual_seed(seed), whole)

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
