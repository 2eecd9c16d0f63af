"""Tests that states and pass calls are shared, and that paths hold on a fresh module."""

import numpy as np
import pytest

import hlograph
from experiments.search.budget import Budget, BudgetSpentError, Patience
from experiments.search.episodes import random_search
from experiments.search.space import PassSpace
from experiments.search.state_space import taken
from hlograph.isolation import Quarantine
from tests.tiny_module import TINY


@pytest.fixture
def tiny():
    return PassSpace(hlograph.Module.from_text(TINY), "tiny", Budget(calls=100))


def _steps(space, *names):
    return space.follow(space.root, [hlograph.passes.index(name) for name in names])


def test_two_orders_lead_to_one_state(tiny):
    one = _steps(tiny, "cse", "dce", "call-inliner")
    other = _steps(tiny, "call-inliner", "cse", "dce")
    assert one is other
    assert len(one.path()) == 3
    assert tiny.best is one
    module = tiny.module(one)
    assert (module.fingerprint(), module.op_count) == (one.fingerprint, one.op_count)


def test_no_pass_is_called_twice_in_a_state(tiny):
    _steps(tiny, "cse", "cse", "dce")
    assert tiny.budget.calls == 3
    assert _steps(tiny, "cse", "cse", "dce").op_count < tiny.root.op_count
    assert tiny.budget.calls == 3
    assert hlograph.passes.index("cse") not in tiny.promising(_steps(tiny, "cse"))


def test_the_start_is_not_changed():
    module = hlograph.Module.from_text(TINY)
    before = module.fingerprint()
    space = PassSpace(module, "tiny", Budget(calls=10))
    _steps(space, "cse", "dce")
    assert module.fingerprint(cached=False) == before


def test_calls_are_limited_exactly(make_space):
    space = make_space(37)
    with pytest.raises(BudgetSpentError):
        taken(space, random_search(space, np.random.default_rng(0)))
    assert space.budget.calls == 37
    nodes = space._nodes.values()
    assert sum(len(node.children) - len(node.idle) for node in nodes) == 37


def test_passes_with_nothing_to_act_on_cost_no_call(make_space):
    space = make_space(0)
    root = space.root
    assert hlograph.passes.index(hlograph.passes["map-inline"]) in root.idle
    assert all(space.step(root, action) is root for action in root.idle)
    assert set(space.promising(root)) == set(range(len(hlograph.passes))) - set(root.idle)


def test_seconds_are_limited(make_space, benchmark):
    space = PassSpace(hlograph.Module.from_text(TINY), "tiny", Budget(seconds=0.0))
    with pytest.raises(BudgetSpentError):
        _steps(space, "cse")
    assert space.budget.calls == 0


def test_a_budget_has_a_limit():
    with pytest.raises(ValueError, match="neither"):
        Budget()


def test_lookups_in_the_table_are_free(tiny):
    for _ in range(2_000):
        _steps(tiny, "cse", "dce", "call-inliner")
    assert tiny.budget.calls == 3


def test_patience_ends_tries_without_calls(tiny):
    patience = Patience(tiny, tries=3)
    patience.check()
    tiny.budget.spend()
    for _ in range(3):
        patience.check()
    with pytest.raises(BudgetSpentError):
        patience.check()


def test_a_space_is_exhausted_when_all_was_called():
    space = PassSpace(hlograph.Module.from_text(TINY), "tiny", Budget(calls=10_000))
    patience = Patience(space)
    patience.check()
    states = [space.root]
    for node in states:
        assert not space.exhausted
        children = [space.step(node, action) for action in range(len(hlograph.passes))]
        states += dict.fromkeys(child for child in children if child not in states)
    assert space.exhausted
    assert len(states) == len(space)
    with pytest.raises(BudgetSpentError):
        patience.check()


def test_dropped_modules_are_rebuilt(make_space):
    kept, dropped = make_space(400), make_space(4000, max_bytes=1)
    random = np.random.default_rng(1)
    for _ in range(6):
        order = random.integers(len(hlograph.passes), size=12).tolist()
        one, other = (space.follow(space.root, order) for space in (kept, dropped))
        assert one.fingerprint == other.fingerprint
        assert dropped.module(other).fingerprint() == other.fingerprint
    # Rebuilding a state costs calls.
    assert dropped.budget.calls > kept.budget.calls
    assert len(dropped._kept) == 1


def test_the_curve_goes_down(make_space):
    space = make_space(300)
    with pytest.raises(BudgetSpentError):
        taken(space, random_search(space, np.random.default_rng(3)))
    calls, seconds, counts = zip(*space.curve, strict=True)
    assert calls[0] == 0
    assert counts[0] == space.root.op_count
    assert counts[-1] == space.best.op_count
    assert list(calls) == sorted(calls)
    assert list(seconds) == sorted(seconds)
    assert list(counts) == sorted(set(counts), reverse=True)


def test_the_shortest_path_leads_to_the_least_op_count(make_space, replayed):
    space = make_space(600)
    with pytest.raises(BudgetSpentError):
        taken(space, random_search(space, np.random.default_rng(4)))
    shortest = space.shortest()
    assert len(shortest) <= len(space.best.path())
    assert replayed(space.named(shortest)).op_count == space.best.op_count


def test_a_shortcut_through_the_table_is_found(tiny):
    # The long path is followed first; cse and dce do not need algsimp.
    _steps(tiny, "algsimp", "call-inliner", "cse", "dce")
    _steps(tiny, "call-inliner", "cse", "dce")
    module = hlograph.Module.from_text(TINY)
    for name in tiny.named(tiny.shortest()):
        module.run(name)
    assert module.op_count == tiny.best.op_count
    assert len(tiny.shortest()) <= 3


def test_a_pass_in_quarantine_is_not_called():
    start = hlograph.Module.from_text(TINY)
    quarantine = Quarantine().with_pairs([(start.fingerprint(), "cse")])
    space = PassSpace(start, "tiny", Budget(calls=10), quarantine=quarantine)
    assert _steps(space, "cse") is space.root
    assert space.budget.calls == 0
