"""Tests of NoOpTable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlograph.decisions.memory import NoOpTable


def test_remembers_by_state():
    table = NoOpTable(3)
    table.add("a", 1)
    assert table.mask("a").tolist() == [1, 0, 1]
    assert table.mask("b").tolist() == [1, 1, 1]


def test_masks_are_copies():
    table = NoOpTable(2)
    table.add("a", 0)
    table.mask("a")[:] = 1
    assert table.mask("a").tolist() == [0, 1]


def test_the_state_longest_unused_is_forgotten_first():
    table = NoOpTable(1, max_bytes=900)
    table.add("a", 0)
    table.add("b", 0)
    table.mask("a")
    table.add("c", 0)
    assert len(table) == 2
    assert table.mask("a").tolist() == [0]
    assert table.mask("b").tolist() == [1]


def test_a_table_holds_at_least_one_state():
    with pytest.raises(ValueError, match="one state"):
        NoOpTable(1, max_bytes=0)


def test_a_copy_learns_on_its_own():
    table = NoOpTable(3)
    table.add("a", 0)
    copy = table.copy()
    copy.add("a", 1)
    table.add("b", 2)
    assert table.mask("a").tolist() == [0, 1, 1]
    assert copy.mask("a").tolist() == [0, 0, 1]
    assert copy.mask("b").tolist() == [1, 1, 1]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 16))), st.integers(0, 2**17 - 1))
def test_masked_takes_the_known_no_ops_out_of_a_mask(found, bits):
    table = NoOpTable(17)
    for state, action in found:
        table.add(state, action)
    mask = np.array([bits >> action & 1 for action in range(17)], np.int8)
    expected = [int(m and ("a", action) not in found) for action, m in enumerate(mask)]
    result = table.masked(mask, "a")
    assert result.dtype == np.int8
    assert result.tolist() == expected
    assert result is not mask
    assert table.mask("a").tolist() == [int(("a", i) not in found) for i in range(17)]
