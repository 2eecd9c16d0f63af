"""Searches over rewrites: what they find is really there, and the study holds it."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.paper.rewriting import PRESETS, run
from experiments.rewriting.methods import METHODS
from experiments.rewriting.space import RewriteSpace
from experiments.search.budget import Budget, BudgetSpentError
from experiments.study import Study
from hlograph import Module

# Merging the exponentials is the best first step by instructions; the sum with zero costs more.
TWO_ZEROS = """HloModule m
ENTRY e {
  x = f32[400] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[400] broadcast(zero), dimensions={}
  left = f32[400] add(x, zeros)
  right = f32[400] negate(left)
  again = f32[400] negate(left)
  ROOT r = (f32[400], f32[400]) tuple(right, again)
}
"""
LEAST = 3  # the parameter, one negation, the tuple


@pytest.fixture
def module() -> Module:
    return Module.from_text(TWO_ZEROS)


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("objective", ["op-count", "cost"])
def test_every_method_finds_the_best_of_a_small_program(method, objective, module):
    before = module.fingerprint()
    space = RewriteSpace(module, Budget(calls=2000), objective)
    METHODS[method](space, np.random.default_rng(0))
    best = space.best
    assert best.op_count == LEAST
    assert best.seconds < space.root.seconds
    again = module.clone()
    for place in best.places():
        again.apply(place)
    assert again.fingerprint() == best.module.fingerprint()
    assert space.curve[-1][2] == LEAST
    assert module.fingerprint() == before


def test_a_state_is_come_to_once_whatever_the_way(module):
    space = RewriteSpace(module, Budget(calls=100))
    first = {rewrite.rule: rewrite.place for rewrite in space.rewrites(space.root)}
    one = space.step(space.root, "algebraic(left)")
    assert one is not None
    other = space.step(space.root, first["merge"])
    assert other is not None
    calls = space.budget.calls
    assert space.step(space.root, "algebraic(left)") is one
    assert space.budget.calls == calls == 2
    both = space.step(one, first["merge"])
    assert both is not None
    assert space.step(other, "algebraic(left)") is both


def test_what_a_rewrite_says_of_itself_is_what_comes_of_it(module):
    for objective in ("op-count", "cost"):
        space = RewriteSpace(module, Budget(calls=100), objective)
        for rewrite in space.rewrites(space.root):
            child = space.step(space.root, rewrite.place)
            assert child is not None
            assert space.expected(space.root, rewrite) == pytest.approx(space.worth(child))


def test_the_budget_is_kept(module):
    space = RewriteSpace(module, Budget(calls=2))
    with pytest.raises(BudgetSpentError):
        METHODS["random"](space, np.random.default_rng(0))
    assert space.budget.calls == 2


def test_the_study_holds_checked_results_of_every_method(tmp_path):
    config = replace(
        PRESETS["quick"],
        benchmarks=("vgg/keras-hub-r1x1x2/forward-b2",),
        seeds=(0, 1),
        calls=20,
        workers="in-process",
        checks=1,
    )
    study = run(config, tmp_path)
    study.save(tmp_path)
    loaded = Study.load(tmp_path / "study.json")
    assert loaded.groups() == ["inference graphs, op-count", "inference graphs, cost"]
    assert [t.method for t in loaded.trials] == ["random", "random", "greedy", "beam-4"] * 2
    for trial in loaded.trials:
        assert [check.problem for check in trial.checks] == [None]
        assert trial.outcomes[0].calls <= 20
    (greedy,) = loaded.of("greedy", "inference graphs, op-count")
    assert greedy.outcomes[0].op_count < greedy.outcomes[0].start
    ratios = loaded.measurements["cost_ratios"]["inference graphs, cost: greedy, seed 0"]
    assert all(0 < ratio <= 1 for ratio in ratios.values())
