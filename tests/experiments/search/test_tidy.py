"""Tests that tidying adds no instructions and no passes, and has one order."""

import pytest

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.search.budget import Budget
from experiments.search.space import PassSpace
from experiments.search.tidy import tidied
from hlograph import corpus


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
