"""A recorded order is followed from any state, as far as it helps there."""

import pytest

import hlograph
from experiments.search.continuation import Continuation, continuation, needed

ORDER = ("dce", "algsimp", "call-inliner", "cse", "algsimp", "dce")


@pytest.fixture
def order():
    return [hlograph.passes.index(name) for name in ORDER]


def test_an_order_is_followed_until_it_changes_nothing(make_space, order, replayed):
    space = make_space(10_000)
    found = continuation(space, space.root, order)
    module = replayed(space.named(found.passes))
    assert module.op_count == found.op_count < space.root.op_count
    node = space.follow(space.root, found.passes)
    assert continuation(space, node, order) == Continuation(found.op_count, ())


def test_each_pass_of_a_continuation_changes_the_module(make_space, order):
    space = make_space(10_000)
    node = space.root
    for action in continuation(space, space.root, order).passes:
        after = space.step(node, action)
        assert after is not node
        node = after


def test_a_first_pass_that_is_not_needed_is_left_out(make_space, order):
    space = make_space(10_000)
    found = continuation(space, space.root, order)
    least = needed(space, space.root, found)
    assert least.op_count <= found.op_count
    assert len(least.passes) <= len(found.passes)
    without = continuation(space, space.root, least.passes[1:])
    assert without.op_count > least.op_count or len(without.passes) >= len(least.passes)


def test_an_order_without_effect_leads_nowhere(make_space):
    space = make_space(100)
    assert continuation(space, space.root, []) == Continuation(space.root.op_count, ())
    assert needed(space, space.root, Continuation(space.root.op_count, ())).passes == ()
