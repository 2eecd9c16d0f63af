"""Tests that a search shows its states as an environment does."""

import numpy as np
import pytest

import hlograph
from envs import PassOrderingEnv
from envs.rewards import ModuleState
from experiments.policies.pass_ordering import encode
from experiments.search.guide import NodeView

_ORDER = ("cse", "call-inliner", "dce", "cse")


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("observation", ["graph", "op_counts"])
@pytest.mark.parametrize("known", [hlograph.passes.names, ("dce", "algsimp", "cse", _ORDER[1])])
def test_states_are_those_of_an_environment(make_space, benchmark, known, observation, costs):
    space = make_space(100)
    view = NodeView(space, known, observation, costs=costs)
    env = PassOrderingEnv(benchmark, observation=observation, costs=costs, actions=known)
    seen, info = env.reset()
    node = space.root
    for name in (*_ORDER, None):
        expected, shown = encode(seen, info), view.state(node)
        assert shown.key == expected.key
        np.testing.assert_array_equal(shown.mask, expected.mask)
        np.testing.assert_allclose(shown.context, expected.context, rtol=1e-6)
        for one, other in zip(_arrays(shown.item), _arrays(expected.item), strict=True):
            np.testing.assert_array_equal(one, other)
        again = view.state(node, encoded=True)
        np.testing.assert_array_equal(again.context, shown.context)
        np.testing.assert_array_equal(again.mask, shown.mask)
        if name is not None:
            seen, _, _, _, info = env.step(known.index(name))
            node = space.step(node, hlograph.passes.index(name))


def _arrays(item):
    return [item] if isinstance(item, np.ndarray) else [item.nodes, item.edges, item.edge_links]


def test_a_policy_has_its_own_numbers_of_passes(make_space):
    view = NodeView(make_space(0), ("dce", "cse"), "op_counts")
    dce, cse = (hlograph.passes.index(name) for name in ("dce", "cse"))
    assert view.moves == [dce, cse]
    assert [view.action(move) for move in (dce, cse, None)] == [0, 1, 2]
    assert [view.move(action) for action in range(3)] == [dce, cse, None]
    assert view.order(("cse", "algsimp", "no-such-pass", "dce", "cse")) == [cse, dce, cse]


def test_the_mask_may_be_another(make_space):
    space = make_space(200)
    for action in range(len(hlograph.passes)):
        space.step(space.root, action)
    view = NodeView(space, hlograph.passes.names, "op_counts")
    idle = list(space.root.idle)
    assert view.state(space.root).mask.sum() < view.state(space.root, ()).mask.sum()
    assert np.flatnonzero(~view.state(space.root, ()).mask).tolist() == idle
    state = view.state(space.root, [3, 5])
    assert np.flatnonzero(~state.mask).tolist() == [3, 5, *idle]
    assert np.flatnonzero(state.context[:-1] == 0).tolist() == [3, 5, *idle]


def test_costs_are_measured_for_those_who_need_them(make_space):
    space = make_space(10)
    plain = NodeView(space, hlograph.passes.names, "op_counts").measure(space.root)
    assert plain.op_count == space.root.op_count
    assert np.isnan(plain.flops)
    view = NodeView(space, hlograph.passes.names, "op_counts", measure_costs=True)
    cost = space.module(space.root).cost()
    assert view.measure(space.root) == ModuleState(space.root.op_count, *cost)
    assert len(view.state(space.root).context) == len(hlograph.passes) + 2
