"""Every search keeps its budget, repeats itself, and finds what a fresh module confirms."""

import numpy as np
import pytest

from experiments.benchmarks import measured
from experiments.search.budget import BudgetSpentError
from experiments.search.guide import STOP, Guide
from experiments.search.local import effective, shortened
from experiments.search.methods import GUIDED, METHODS
from experiments.search.task import Search

CALLS = 120


def _search(worker, benchmark, method, seed=0, **settings):
    settings = {"calls": CALLS, "seconds": None} | settings
    return worker(Search(benchmark=benchmark, method=method, seed=seed, **settings))


def _check(found, replayed, calls):
    outcome = found.outcome
    assert outcome.calls <= calls
    module = replayed(outcome.passes)
    assert module.op_count == outcome.op_count == found.curve[-1][2]
    module.verify()


@pytest.mark.parametrize("method", METHODS)
def test_searches(worker, benchmark, replayed, method):
    found = _search(worker, benchmark, method)
    _check(found, replayed, CALLS)
    assert found.outcome.calls == CALLS
    assert found.outcome.op_count < found.outcome.start
    again = _search(worker, benchmark, method)
    assert again.outcome == found.outcome
    assert [(c, n) for c, _, n in again.curve] == [(c, n) for c, _, n in found.curve]


@pytest.mark.parametrize("method", ["random", "evolution"])
def test_seeds_matter(worker, benchmark, method):
    curves = [
        [(calls, count) for calls, _, count in _search(worker, benchmark, method, seed).curve]
        for seed in range(3)
    ]
    assert curves[0] != curves[1] or curves[1] != curves[2]


@pytest.mark.parametrize("method", GUIDED)
def test_searches_with_a_policy(worker, benchmark, policy, replayed, method):
    found = _search(worker, benchmark, method, policy=policy, calls=60)
    _check(found, replayed, 60)
    assert method == "policy-greedy" or found.outcome.calls == 60
    assert _search(worker, benchmark, method, policy=policy, calls=60).outcome == found.outcome


def test_local_search_is_as_good_as_the_references(worker, benchmark):
    reference = measured(benchmark)
    found = _search(worker, benchmark, "local", calls=800).outcome
    assert found.op_count <= min(reference.after.values())


def test_a_search_of_some_seconds_ends(worker, benchmark):
    found = _search(worker, benchmark, "random", calls=None, seconds=0.2)
    assert found.seconds < 5
    assert found.outcome.calls > 0


def test_wrong_searches_are_refused(worker, benchmark):
    with pytest.raises(ValueError, match="expected a search among"):
        _search(worker, benchmark, "no-such")
    with pytest.raises(ValueError, match="needs a policy"):
        _search(worker, benchmark, "mcts")


def test_a_guide_masks_what_is_known_to_change_nothing(make_space, policy):
    space = make_space(200)
    guide = Guide(space, policy)
    before = guide.judge(space.root)
    assert before.log_probs.shape == (STOP + 1,)
    assert np.exp(before.log_probs).sum() == pytest.approx(1, abs=1e-5)
    assert 1 <= before.op_count <= space.root.op_count
    useless = [a for a in range(STOP) if space.step(space.root, a) is space.root]
    probabilities = np.exp(guide.judge(space.root).log_probs)
    assert useless
    assert probabilities[useless].max() == 0
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)


def test_a_guide_needs_all_passes(make_space, policy):
    space = make_space(10)
    space.passes = space.passes[:5]
    with pytest.raises(ValueError, match="got 5"):
        Guide(space, policy)


def test_shortening_never_harms(make_space):
    space = make_space(3000)
    random = np.random.default_rng(0)
    for _ in range(5):
        order = random.integers(len(space.passes), size=30).tolist()
        end, actions = effective(space, order)
        found = shortened(space, actions)
        assert space.follow(space.root, found).op_count <= end.op_count
        assert len(found) <= len(actions) <= 30
        assert effective(space, found)[1] == found


def test_shortening_leaves_out_a_detour(make_space):
    space = make_space(3000)
    names = ("flatten-call-graph", "call-inliner", "algsimp", "dce", "cse", "dce")
    long = [space.number(entry) for entry in space.passes if entry.name in names] * 2
    end, actions = effective(space, [n for n in long if n is not None])
    short = shortened(space, actions)
    for place in range(len(short)):
        less = space.follow(space.root, short[:place] + short[place + 1 :])
        assert less.op_count > end.op_count


def test_a_budget_of_nothing_leaves_the_start(make_space):
    space = make_space(0)
    with pytest.raises(BudgetSpentError):
        METHODS["random"]()(space, np.random.default_rng(0))
    assert space.best is space.root
    assert space.shortest() == ()
