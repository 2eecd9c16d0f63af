"""Groups keep the order, lose nothing, and stay within the budget where they can."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.node_budget import groups_within_budget


def test_known_groups():
    assert groups_within_budget([3, 4, 5, 20, 1, 1], budget=8) == [[0, 1], [2], [3], [4, 5]]
    assert groups_within_budget([], budget=8) == []


@given(st.lists(st.integers(1, 50)), st.integers(1, 60))
def test_groups_partition_and_fit(sizes, budget):
    groups = groups_within_budget(sizes, budget)
    assert [i for group in groups for i in group] == list(range(len(sizes)))
    for group in groups:
        assert len(group) == 1 or sum(sizes[i] for i in group) <= budget
    for group, following in pairwise(groups):
        assert sum(sizes[i] for i in group) + sizes[following[0]] > budget


def test_budget_has_to_be_positive():
    with pytest.raises(ValueError, match="positive, got 0"):
        groups_within_budget([1], budget=0)
