"""Greedy episodes are written down as they happened, and checked by the engine alone."""

from dataclasses import replace

import pytest
import torch

from experiments.benchmarks import load
from experiments.evaluation import Outcome, evaluate, verified
from hlograph import corpus


@pytest.fixture
def counting_down(countdown_policy):
    """A policy that counts down where it may, does nothing once, then stops."""
    head = countdown_policy.policy_head[2]
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.tensor([3.0, 2.0, 1.0]))
    return countdown_policy


def test_greedy_episodes(make_countdown, counting_down):
    found = evaluate(
        make_countdown(12), counting_down, ["3", "1", "40"], num_envs=2, threads=2, node_budget=9
    )
    # From 3: two steps down, one that changes nothing, the useless pass, and stop.
    assert found[0] == Outcome("3", 3, 1, ("countdown",) * 2, calls=4)
    assert found[1] == Outcome("1", 1, 1, (), calls=2)
    assert found[2] == Outcome("40", 40, 28, ("countdown",) * 12, calls=12)


def test_neither_threads_nor_groups_change_outcomes(make_countdown, counting_down):
    names = [str(n) for n in range(2, 9)]
    runs = [
        evaluate(make_countdown(5), counting_down, names, num_envs=n, threads=t, node_budget=9)
        for n, t in ((1, 1), (3, 2), (7, 4))
    ]
    assert runs[0] == runs[1] == runs[2]


def test_outcomes_are_verified_by_running_their_passes_again():
    benchmark = min(corpus.load(split="train"), key=lambda b: b.op_count)
    module = load(benchmark.name)
    for name in ("call-inliner", "algsimp", "cse", "dce"):
        module.run(name)
    passes = ("call-inliner", "algsimp", "cse", "dce")
    outcome = Outcome(benchmark.name, benchmark.op_count, module.op_count, passes, calls=4)
    assert module.op_count < benchmark.op_count
    assert verified(outcome)
    assert not verified(replace(outcome, op_count=outcome.op_count - 1))
    assert not verified(replace(outcome, passes=()))
