"""Trials of searches end at their limits, and a study can be continued."""

from dataclasses import replace

import pytest

from experiments.evaluate.study import STUDY, Study
from experiments.paper.rewriting import competitors_of, run
from experiments.paper.settings import REWRITING, SEARCH
from experiments.paper.trials import PlannedTrial, run_trials
from experiments.search.task import SearchTask
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import pool_of
from tests.experiments.paper.hanging_search import HangingSearch
from tests.experiments.tiny_run import tiny_rewrite_config

BENCHMARK, OTHER = "vgg/keras-hub-r1x1x2/forward-b2", "hypernetwork/d1/forward"
LIMITED = replace(
    REWRITING["quick"],
    seeds=(0,),
    benchmarks=(BENCHMARK,),
    other_benchmarks=(),
    methods=("random",),
    references=(),
    checkpoints=(),
    objectives=("op-count",),
    calls=1_000_000,
    seconds=None,
    limit_seconds=0.5,
    workers="in-process",
    checks=0,
    timed_trials=0,
)


def test_a_search_at_its_time_limit_keeps_its_best_state_and_is_named(tmp_path):
    study = run(LIMITED, tmp_path)
    ((outcome,),) = [trial.counted() for trial in study.trials]
    assert outcome.op_count < outcome.start
    assert outcome.replay().op_count == outcome.op_count
    assert 0.5 <= study.trials[0].seconds[0] < 60
    (note,) = [note for note in study.notes if "time limit of 0.5 s" in note]
    assert f"random, seed 0, on {BENCHMARK}" in note
    # A search that spends its budget before is not named.
    study = run(replace(LIMITED, calls=5, limit_seconds=600.0), tmp_path / "other")
    assert not any("time limit" in note for note in study.notes)


@pytest.mark.parametrize("preset", ["quick", "full"])
def test_every_search_has_a_time_limit_below_that_of_its_worker(preset):
    config = replace(REWRITING[preset], guided=())
    for competitor in competitors_of(config)[0]:
        task = competitor.task(BENCHMARK, "op-count", 0)
        if isinstance(task, SearchTask):
            assert task.seconds is not None
            assert task.seconds <= config.limit_seconds
    assert SEARCH[preset].limit_seconds > 0


def test_a_search_that_hangs_counts_as_the_unchanged_benchmark(tmp_path):
    config = replace(tiny_rewrite_config(), workers="processes", num_workers=1, samples=0)
    starts = {OTHER: 77, BENCHMARK: 35}
    tasks = {
        OTHER: HangingSearch(benchmark=OTHER),
        BENCHMARK: SearchTask(
            over="rewrites",
            benchmark=BENCHMARK,
            method="greedy",
            objective="op-count",
            seed=0,
            calls=5,
        ),
    }
    planned = [PlannedTrial("group", "greedy", 0, tasks, starts=starts)]
    empty = Study("rewriting", "quick", {}, {}, [])
    with pool_of(config) as pool:
        study = run_trials(TaskRunner(config, pool, tmp_path), empty, planned, tmp_path)
    (trial,) = study.trials
    assert [o.benchmark for o in trial.outcomes] == [OTHER, BENCHMARK]
    hung, good = trial.counted()
    assert (hung.op_count, hung.passes) == (77, ())
    assert good.op_count < good.start
    problems = [check.problem for check in trial.checks]
    assert problems[0] is not None
    assert "timed out" in problems[0]
    assert problems[1] is None
    # The trial is kept and not run again: without a runner it could not be.
    kept = Study.load(tmp_path / STUDY).trials
    assert [t.counted() for t in kept] == [trial.counted()]
    assert run_trials(None, empty, planned, tmp_path).trials == kept  # pyright: ignore
