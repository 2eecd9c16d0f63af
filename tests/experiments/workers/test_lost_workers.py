"""Training goes on when its workers are aborted, killed, stopped and bloated, in all processes."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from experiments.policies.checkpoint import Checkpoint
from experiments.policies.kind import policy_kind
from experiments.train.program import FAILED, train
from experiments.workers.run_events import EVENTS
from experiments.workers.task_runner import QUARANTINE, TaskRunner
from experiments.workers.worker import pool_of
from hlograph import Module
from hlograph.errors import WorkerLostError
from hlograph.isolation import Reproducer, repro
from hlograph.isolation.pass_call import RUN, listing
from tests.experiments.tiny_run import (
    RULES,
    checkpoints,
    results,
    same_policies,
    tiny_config,
    tiny_rewrite_config,
)
from tests.experiments.train.test_train_fusion import tiny_fusion_config
from tests.experiments.train.test_train_tuning import SAFE, tiny_tuning_config
from tests.experiments.workers.saboteur import (
    AbortsAlways,
    KilledOnce,
    make_cursed_worker,
    make_sabotaged_worker,
)
from tests.slow_module import SLOW_FOLDING, SLOW_FOLDING_AT_ONCE


def _sabotaged(config, deeds):
    """Trains with workers that do each deed once, and returns the exit status."""
    memory = config.out.parent / "done"
    memory.mkdir()
    status = train(config, partial(make_sabotaged_worker, deeds, memory))
    assert {path.name for path in memory.iterdir()} == set(deeds)
    return status


def _events(folder):
    return [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]


def _reproducers(folder):
    """The reproducers of a run; each has the module that its call was made on."""
    saved = [Reproducer.load(path) for path in (folder / QUARANTINE).iterdir()]
    for reproducer in saved:
        module = Module.from_text(reproducer.module)
        assert module.fingerprint() == reproducer.call.fingerprint
    return saved


def _rewriting(out, **changes):
    config = replace(tiny_rewrite_config(), workers="processes", num_workers=2, out=out)
    return replace(config, **changes)


def test_neither_losses_nor_the_number_of_workers_change_results(finished, tmp_path):
    folder = tmp_path / "run"
    assert _sabotaged(tiny_config(out=folder, num_workers=3), ["kill", "stop"]) == 0
    assert sorted(event["event"] for event in _events(folder)) == ["killed", "timed_out"]
    assert not (folder / QUARANTINE).exists()
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)


def test_rewriting_workers_killed_from_outside_change_nothing(finished_rewrites, tmp_path):
    folder = tmp_path / "run"
    assert _sabotaged(_rewriting(folder), ["kill"]) == 0
    assert [event["event"] for event in _events(folder)] == ["killed"]
    assert not (folder / QUARANTINE).exists()
    assert results(finished_rewrites) == results(folder)


def test_passes_that_end_a_worker_are_put_in_quarantine(tmp_path):
    folder = tmp_path / "run"
    # A worker takes 0.5 GiB: a slow machine, too, fills the rest well within the time.
    config = tiny_config(out=folder, worker_memory_gib=1.25, pass_seconds=5.0)
    assert _sabotaged(config, ["abort", "bloat", "hang", "exit"]) == 0
    events = _events(folder)
    assert Counter(event["event"] for event in events) == {
        "crashed": 2,
        "out_of_memory": 1,
        "timed_out": 1,
    }
    assert all(event["seconds"] >= 5 for event in events if event["event"] == "timed_out")
    saved = _reproducers(folder)
    assert len(saved) == 4
    pairs = {(reproducer.call.fingerprint, reproducer.call.name) for reproducer in saved}
    assert set(checkpoints(folder)["op_counts"].quarantine) == pairs


def test_a_decision_that_ends_its_worker_is_put_in_quarantine(tmp_path):
    folder = tmp_path / "run"
    config = tiny_tuning_config(
        out=folder, decisions=SAFE, workers="processes", num_workers=1, measure_validation=False
    )
    assert _sabotaged(config, ["abort"]) == 0
    assert [event["event"] for event in _events(folder)] == ["crashed"]
    kept = Checkpoint.load(folder / "tuning" / "checkpoint.pt")
    assert len(list(kept.quarantine)) == 1
    # Decisions are no passes, so no module reproduces the loss.
    assert not (folder / QUARANTINE).exists()


def test_rules_and_rewrites_that_abort_each_time_are_left_out(tmp_path):
    # A single benchmark, in a single task: each loss takes its time.
    config = _rewriting(tmp_path / "run", num_envs=2, total_steps=12, validation_count=0)
    config = replace(config, benchmarks=config.benchmarks[1:], test_count=1)
    worker = partial(make_cursed_worker, ["remove"], ["inline"])
    assert train(config, worker) == 0
    assert {event["event"] for event in _events(config.out)} == {"crashed"}
    pairs = set(Checkpoint.load(config.out / "rewrites" / "checkpoint.pt").quarantine)
    listed = Counter(name for _, name in pairs if name.startswith("rewrites by"))
    # On each benchmark first the whole listing, then of its rules the one.
    assert set(listed) == {listing(RULES), listing(["remove"])}
    assert len(set(listed.values())) == 1
    places = [name for _, name in pairs if "(" in name]
    assert places
    assert all(place.startswith("inline(") for place in places)
    assert len(_events(config.out)) >= len(pairs) == listed.total() + len(places)
    assert pairs <= {reproducer.call.pair for reproducer in _reproducers(config.out)}
    by_benchmark = results(config.out)["passes"]["rewrites"].values()
    rewritten = list(itertools.chain(*by_benchmark))
    assert rewritten
    assert {place.partition("(")[0] for place in rewritten} <= {"algebraic", "merge"}


def test_fusions_that_abort_are_left_out_on_that_benchmark(tmp_path):
    config = tiny_fusion_config(
        out=tmp_path / "run",
        workers="processes",
        num_workers=1,
        num_envs=1,
        total_steps=8,
        horizon=4,
        validation_count=0,
        test_count=0,
    )
    worker = partial(make_cursed_worker, [], ["fusion"])
    assert train(config, worker) == 0
    assert {event["event"] for event in _events(config.out)} == {"crashed"}
    saved = _reproducers(config.out)
    assert saved
    for reproducer in saved:
        assert reproducer.call.name.startswith("fusion(")
        Module.from_text(reproducer.module).apply(reproducer.call.name)
    pairs = Checkpoint.load(config.out / "fusion" / "checkpoint.pt").quarantine
    assert {reproducer.call.pair for reproducer in saved} >= set(pairs)


def test_states_that_abort_when_they_are_run_are_not_run_again(tmp_path):
    config = _rewriting(tmp_path / "run", reward="run-time", validation_count=0, samples=0)
    config = replace(config, num_envs=1, total_steps=3, horizon=3, test_count=1)
    config = replace(config, benchmarks=config.benchmarks[:1])
    assert train(config, partial(make_cursed_worker, [], [RUN])) == 0
    pairs = Checkpoint.load(config.out / "rewrites" / "checkpoint.pt").quarantine
    assert {name for _, name in pairs} == {RUN}
    calls = [reproducer.call for reproducer in _reproducers(config.out)]
    assert {call.pair for call in calls} >= set(pairs)
    assert all(call.applied for call in calls)


def test_a_benchmark_that_a_pass_hangs_on_is_left_out(tmp_path, capsys):
    slow, damaged = tmp_path / "slow.hlo", tmp_path / "damaged.hlo"
    slow.write_text(SLOW_FOLDING)
    damaged.write_text("HloModule x")
    config = tiny_config(check_seconds=1.0, samples=0, total_steps=24, out=tmp_path / "run")
    own = replace(config, benchmarks=(str(slow), *config.benchmarks, str(damaged)))
    assert train(own) == 0
    (event,) = _events(tmp_path / "run")
    assert event["event"] == "timed_out"
    assert event["doing"] == f"reference pipelines of {slow}"
    said = capsys.readouterr().out
    assert f"left out: {slow}: an operation took longer than its 1 s" in said
    assert f"left out: {damaged}: " in said
    alone = replace(config, benchmarks=(str(damaged),), out=tmp_path / "alone")
    assert train(alone) == FAILED


def test_a_pass_of_xla_that_hangs_in_an_episode(tmp_path):
    path = tmp_path / "slow.hlo"
    path.write_text(SLOW_FOLDING)
    config = tiny_config(benchmarks=(str(path),), pass_seconds=1.0)
    (tmp_path / "run").mkdir()
    kind = policy_kind("op_counts", config)
    policy = kind.new_policy()
    with pool_of(config) as pool:
        runner = TaskRunner(config, pool, tmp_path / "run")
        for seed in itertools.count():  # until constant_folding was chosen
            if len(runner.quarantine):
                break
            runner.collect("op_counts", policy, config.benchmarks, [seed])
    for _, name in runner.quarantine:
        assert name.startswith("constant_folding")
    assert runner.events.take_counts()["timed_out"] >= 1


def test_a_rule_of_xla_that_hangs_when_it_is_listed(tmp_path, capsys):
    path = tmp_path / "slow.hlo"
    path.write_text(SLOW_FOLDING_AT_ONCE)
    rules = ("merge", "constant_folding")
    config = _rewriting(tmp_path / "run", rules=rules, num_envs=1, pass_seconds=1.0)
    config = replace(config, benchmarks=(str(path),))
    config.out.mkdir()
    policy = policy_kind("rewrites", config).new_policy()
    with pool_of(config) as pool:
        runner = TaskRunner(config, pool, config.out)
        runner.collect("rewrites", policy, config.benchmarks, [0])
        assert set(runner.quarantine) == {
            (str(path), listing(rules)),
            (str(path), listing(["constant_folding"])),
        }
        # What is known is not tried again.
        assert runner.events.take_counts()["timed_out"] >= 2
        runner.collect("rewrites", policy, config.benchmarks, [1])
        assert runner.events.take_counts() == {}
    (alone,) = (config.out / QUARANTINE).glob("*by.constant_folding.hlo")
    assert repro.main([str(alone), "--seconds", "0.5"]) == repro.REPRODUCED
    assert "reproduced: timed_out" in capsys.readouterr().out


def test_what_is_given_up_is_repeated_if_it_is_not_to_blame(tmp_path):
    config = tiny_config(out=tmp_path, num_workers=2)
    tasks = [KilledOnce(marker=tmp_path / name) for name in ("first", "second")]
    with pool_of(config) as pool:
        runner = TaskRunner(config, pool, tmp_path)
        assert runner.run(tasks, "a task", give_up=True) == ["done", "done"]
    assert runner.events.take_counts() == {"killed": 2}


def test_a_call_that_ends_workers_although_it_is_in_quarantine_ends_the_run(tmp_path):
    config = replace(tiny_config(out=tmp_path), num_workers=1)
    with pool_of(config) as pool:
        runner = TaskRunner(config, pool, tmp_path)
        with pytest.raises(WorkerLostError):
            runner.run([AbortsAlways(benchmark=config.benchmarks[0])], "a task")
        kept = runner.run([AbortsAlways(benchmark=config.benchmarks[0])], "it", keep_losses=True)
    assert isinstance(kept[0], WorkerLostError)
