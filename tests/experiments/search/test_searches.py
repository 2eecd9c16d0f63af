"""Tests that searches keep their budget, are reproducible, and hold on a fresh module."""

import time
from dataclasses import replace

import numpy as np
import pytest

import hlograph
from experiments.evaluate.benchmarks import ALL_REFERENCES, measured
from experiments.policies.config import STOP_ABOVE
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.guide import Guide, NodeEvaluation, TrainedPolicy, expected_op_count
from experiments.search.local import effective, shortened
from experiments.search.space import PassSpace
from experiments.search.state_space import run, taken
from experiments.search.task import SearchTask
from hlograph.decisions.searches import SEARCHES, Stepwise, maker, names
from hlograph.errors import UnknownNameError
from tests.tiny_module import TINY

METHODS, GUIDED = names("passes"), names("passes", guided=True)
CALLS, GUIDED_CALLS = 120, 30
PASSES = len(hlograph.passes)


def _search(worker, benchmark, method, seed=0, **settings):
    settings = {"calls": CALLS, "seconds": None} | settings
    return worker(SearchTask(benchmark=benchmark, method=method, seed=seed, **settings))


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


def _search_tiny(search):
    space = PassSpace(hlograph.Module.from_text(TINY), "tiny", Budget(calls=10_000))
    begun = time.process_time()
    run(space, search(space, np.random.default_rng(0)))
    assert time.process_time() - begun < 60  # going round known states takes far longer
    return space


@pytest.mark.parametrize("method", METHODS)
def test_searches_end_when_a_small_space_is_exhausted(method):
    space = _search_tiny(maker(method, "passes"))
    assert space.best.op_count == 4
    assert space.budget.calls < 10_000
    assert space.exhausted or method not in ("random", "beam-4", "beam-16")


@pytest.mark.parametrize("method", GUIDED)
def test_guided_searches_end_when_a_small_space_is_exhausted(method, policy):
    def search(space, random):
        return maker(method, "passes")(space, random, Guide(space, policy))

    space = _search_tiny(search)
    assert space.exhausted or method != "policy-beam"
    # Drawn episodes end after sixty without a call: a rare pass of a rare state may be left.
    assert space.best.op_count == 4 or method == "policy-greedy"


@pytest.mark.parametrize("method", [name for name in GUIDED if not SEARCHES["passes"][name].draws])
def test_seedless_searches_draw_nothing(method, make_space, policy):
    curves = []
    for seed in range(2):
        space = make_space(60)
        run(
            space, maker(method, "passes")(space, np.random.default_rng(seed), Guide(space, policy))
        )
        curves.append([(calls, count) for calls, _, count in space.curve])
    assert curves[0] == curves[1]


@pytest.mark.parametrize("method", GUIDED)
def test_searches_with_a_policy(worker, benchmark, policy, replayed, method):
    settings = {"policy": policy, "calls": GUIDED_CALLS}
    found = _search(worker, benchmark, method, **settings)
    _check(found, replayed, GUIDED_CALLS)
    assert method == "policy-greedy" or found.outcome.calls == GUIDED_CALLS
    assert _search(worker, benchmark, method, **settings).outcome == found.outcome


def test_local_search_is_as_good_as_the_references(worker, benchmark):
    reference = measured(benchmark, ALL_REFERENCES)
    found = _search(worker, benchmark, "local", calls=800).outcome
    assert found.op_count <= min(reference.after.values())


def test_a_search_ends_after_its_seconds(worker, benchmark):
    found = _search(worker, benchmark, "random", calls=None, seconds=0.2)
    assert found.seconds < 5
    assert found.outcome.calls > 0


def test_wrong_searches_are_refused(worker, benchmark):
    with pytest.raises(UnknownNameError, match="no method is called"):
        _search(worker, benchmark, "no-such")
    with pytest.raises(ValueError, match="needs a policy"):
        _search(worker, benchmark, "mcts")


def test_a_guide_masks_passes_known_to_change_nothing(make_space, policy):
    space = make_space(200)
    guide = Guide(space, policy)
    before = guide.evaluate(space.root)
    assert before.log_probs.shape == (PASSES + 1,)
    assert np.exp(before.log_probs).sum() == pytest.approx(1, abs=1e-5)
    assert 1 <= guide.expected_op_count(space.root) <= space.root.op_count
    useless = [a for a in range(PASSES) if space.step(space.root, a) is space.root]
    probabilities = np.exp(guide.evaluate(space.root).log_probs)
    assert useless
    assert probabilities[useless].max() == 0
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)


def test_values_predict_op_counts():
    # By a tenth, where 300 of 400 instructions are left.
    assert expected_op_count("log-drop", -100 * np.log(0.9), 300, 400) == pytest.approx(270)
    assert expected_op_count("op-count-drop", 10.0, 300, 400) == pytest.approx(260)
    for reward in ("log-drop", "op-count-drop"):
        assert expected_op_count(reward, -5.0, 300, 400) == 300
        assert expected_op_count(reward, 1e6, 300, 400) == 1
    for reward in ("op-count", "shaped"):
        with pytest.raises(ValueError, match=f"reward {reward}, whose values predict no op count"):
            expected_op_count(reward, 1.0, 300, 400)


def test_values_are_read_by_the_reward_of_the_training(make_space, policy, monkeypatch):
    space = make_space(1)
    start = space.root.op_count
    evaluation = NodeEvaluation(
        np.zeros(PASSES + 1), 2.0
    )  # in training's scale, a tenth: 20 per cent
    expected = {"log-drop": start * np.exp(-0.2), "op-count-drop": 0.8 * start}
    for reward, count in expected.items():
        guide = Guide(space, _rewarded(policy, reward))
        monkeypatch.setattr(guide, "_new_evaluation", lambda node: evaluation)
        assert guide.expected_op_count(space.root) == pytest.approx(count)
    with pytest.raises(ValueError, match="shaped"):
        Guide(space, _rewarded(policy, "shaped")).expected_op_count(space.root)


def _rewarded(policy: TrainedPolicy, reward) -> TrainedPolicy:
    return replace(policy, config=replace(policy.config, reward=reward))


def test_a_policy_stops_where_that_is_likely_enough(make_space, policy, monkeypatch):
    guide = Guide(make_space(1), policy)
    for stopping, move in ((STOP_ABOVE - 0.01, 7), (STOP_ABOVE + 0.01, None)):
        odds = np.full(PASSES + 1, (1 - stopping) / PASSES)
        odds[7] += 1e-4
        odds[-1] = stopping
        evaluation = NodeEvaluation(np.log(odds / odds.sum()), 0.0)
        monkeypatch.setattr(
            guide, "_new_evaluation", lambda node, evaluation=evaluation: evaluation
        )
        guide._evaluated.clear()
        assert guide.greedy(guide._space.root) == move


def test_episodes_are_as_long_as_in_the_evaluation(make_space, policy, monkeypatch):
    policy = replace(policy, config=replace(policy.config, horizon=5, play_horizon=7))
    space = make_space(500)
    guide = Guide(space, policy)
    asked = []
    # It never stops, and calls passes in turn.
    monkeypatch.setattr(guide, "greedy", lambda node: asked.append(node) or len(asked))
    run(space, maker("policy-greedy", "passes")(space, np.random.default_rng(0), guide))
    assert len(asked) == space.budget.calls == 7


def test_shortening_never_harms(make_space):
    space = make_space(3000)
    random = np.random.default_rng(0)
    for _ in range(5):
        order = random.integers(len(hlograph.passes), size=30).tolist()
        end, actions = taken(space, effective(space, order))
        found = taken(space, shortened(space, taken(space, effective(space, actions))))
        assert space.follow(space.root, found.order) is found.end
        assert found.end.op_count <= end.op_count
        assert len(found.order) <= len(actions) <= 30
        assert taken(space, effective(space, found.order)) == found


def test_shortening_leaves_out_a_detour(make_space):
    space = make_space(3000)
    names = ("flatten-call-graph", "call-inliner", "algsimp", "dce", "cse", "dce")
    long = [entry.index for entry in hlograph.passes if entry.name in names] * 2
    candidate = taken(space, effective(space, long))
    end, short = taken(space, shortened(space, candidate))
    assert end.op_count <= candidate.end.op_count
    for place in range(len(short)):
        less = space.follow(space.root, short[:place] + short[place + 1 :])
        assert less.op_count > end.op_count


def test_a_budget_of_nothing_leaves_the_start(make_space):
    space = make_space(0)
    with pytest.raises(BudgetSpentError):
        taken(space, maker("random", "passes")(space, np.random.default_rng(0)))
    assert space.best is space.root
    assert space.shortest() == ()


@pytest.mark.parametrize("method", ["random", "greedy", "beam-4", "local"])
def test_a_search_that_is_asked_for_moves_makes_those_of_the_loop(method, make_space):
    looped, asked = make_space(60), make_space(60)
    run(looped, maker(method, "passes")(looped, np.random.default_rng(0)))
    search = Stepwise(maker(method, "passes")(asked, np.random.default_rng(0)))
    run(asked, search, most=8)
    assert [(calls, n) for calls, _, n in asked.curve] == [
        (calls, n) for calls, _, n in looped.curve
    ]
    assert list(asked.best.path()) == list(looped.best.path())


def test_steps_are_asked_for_in_batches():
    def steps():
        first = yield [1, 2, 3]
        second = yield [sum(first)]
        results.append((first, second))

    results = []
    search = Stepwise(steps())
    assert search.ask(2) == [1, 2]
    assert search.ask(2) == [3]
    assert not search.ask(2)  # results are due
    search.tell([10, 20])
    search.tell([30])
    assert search.ask() == [60]
    search.tell([0])
    assert not search.ask()
    assert results == [([10, 20, 30], [0])]
    assert not search.ask()
