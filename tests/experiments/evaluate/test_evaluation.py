"""Outcomes are checked by the engine alone."""

from dataclasses import replace

import pytest

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Check, Checker, Outcome, least_on_the_way
from hlograph import corpus
from hlograph.errors import WorkerTimedOutError


@pytest.mark.parametrize("samples", [0, 1])
def test_outcomes_are_checked_by_running_their_passes_again(samples):
    benchmark = min(corpus.load(split="train"), key=lambda b: b.op_count)
    module = load(benchmark.name)
    passes = ("call-inliner", "algsimp", "cse", "dce")
    for name in passes:
        module.run(name)
    outcome = Outcome(benchmark.name, benchmark.op_count, module.op_count, passes, calls=4)
    assert module.op_count < benchmark.op_count
    found = Checker().check(outcome, samples)
    assert found.problem is None
    assert found.verdict in (("equal", "close") if samples else ("not compared",))
    assert Checker().check(replace(outcome, op_count=outcome.op_count - 1), samples).problem
    assert Checker().check(replace(outcome, passes=()), samples).problem


def test_a_check_that_lost_its_worker_has_failed():
    found = Check.lost(WorkerTimedOutError("too long"))
    assert found.problem == "its check timed out: too long"


def test_a_pipeline_is_followed_to_its_smallest_module():
    module = load("dense-linear-algebra/slogdet/one")
    smallest, ended, again = module.clone(), module.clone(), module.clone()
    passes, op_count, calls, called = least_on_the_way(ended, "xla-simplify")
    for name in passes:
        smallest.run(name)
    assert op_count == smallest.op_count
    assert [name for name in called if again.run(name)] == list(passes)
    assert len(passes) < len(called) < calls
    assert smallest.op_count < ended.op_count < module.op_count  # a later pass adds some
    # Where nothing that it does makes the module smaller, nothing is taken.
    assert least_on_the_way(smallest, "xla-simplify")[0] == ()


def test_a_pass_of_the_pipeline_that_fails_changes_nothing(monkeypatch):
    run = hlograph.Module.run

    def failing(module, entry):
        if entry.name == "algsimp":
            raise hlograph.PassError("not today")
        return run(module, entry)

    module = load("dense-linear-algebra/slogdet/one")
    monkeypatch.setattr(hlograph.Module, "run", failing)
    passes, *_ = least_on_the_way(module, "xla-simplify")
    assert passes
    assert "algsimp" not in passes
