"""A recorded order is followed from any state; tidying adds no instructions and no passes."""

import pytest

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.search.budget import Budget
from experiments.search.orders import Continuation, continuation, needed, tidied
from experiments.search.space import PassSpace
from hlograph import corpus

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


@pytest.fixture
def space() -> PassSpace:
    few = corpus.load("diverse", split="train", max_op_count=400)
    name = max(few, key=lambda b: (b.op_count - (b.op_count_xla_simplify or 0), b.name)).name
    return PassSpace(load(name), name, Budget(calls=20_000))


def _numbers(space: PassSpace, names: str) -> list[int]:
    return [hlograph.passes.index(name) for name in names.split()]


def test_useless_passes_are_removed_and_the_rest_is_sorted(space):
    orders = [
        "cse call-inliner cse algsimp:cpu dce constant_folding algsimp algsimp:cpu cse dce",
        "call-inliner algsimp:cpu algsimp dce constant_folding cse algsimp cse dce",
    ]
    for order in orders:
        end = space.follow(space.root, _numbers(space, order))
        actions = tidied(space, end)
        module = space.module(space.root).clone()
        changed = [module.run(hlograph.passes[action]) for action in actions]
        assert all(changed)
        assert module.op_count <= end.op_count
        assert len(actions) <= len(end.path())
        again = tidied(space, space.follow(space.root, actions))
        assert again == actions


def test_a_pass_has_the_first_name_of_its_effect(space):
    variant, plain = _numbers(space, "algsimp:one-pass algsimp")
    variants = [n for n, p in enumerate(hlograph.passes) if p.name.startswith("algsimp")]
    same = [n for n in variants if space.step(space.root, n) is space.step(space.root, plain)]
    assert len(same) > 1
    end = space.step(space.root, same[-1])
    assert tidied(space, end) == [plain]
    assert variant in variants
