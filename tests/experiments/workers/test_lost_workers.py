"""Training goes on when its workers are aborted, killed, stopped and bloated."""

import itertools
import json
from dataclasses import replace
from functools import partial

import pytest

from experiments.policies.kinds import policy_kind
from experiments.training.program import FAILED, train
from experiments.workers.pools import pool_of
from experiments.workers.run_events import EVENTS
from experiments.workers.task_runner import QUARANTINE, TaskRunner
from hlograph import Module
from hlograph.isolation import Reproducer
from tests.experiments.tiny_run import checkpoints, results, same_policies, tiny_config
from tests.experiments.workers.saboteur import make_sabotaged_worker
from tests.slow_module import SLOW_FOLDING


def _train(tmp_path, deeds, **changes):
    memory = tmp_path / "done"
    memory.mkdir()
    folder = tmp_path / "run"
    config = tiny_config(out=folder, **changes)
    status = train(config, "train_gnn", partial(make_sabotaged_worker, deeds, memory))
    assert {path.name for path in memory.iterdir()} == set(deeds)
    return folder, status


def _events(folder):
    return [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]


def test_workers_killed_from_outside_change_nothing(finished, tmp_path):
    folder, status = _train(tmp_path, ["kill", "stop"])
    assert status == 0
    assert sorted(event["event"] for event in _events(folder)) == ["killed", "timed_out"]
    assert not (folder / QUARANTINE).exists()
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)


def test_passes_that_end_a_worker_are_put_in_quarantine(tmp_path):
    folder, status = _train(
        # A worker takes 0.5 GiB: a slow machine, too, fills the rest well within the time.
        tmp_path,
        ["abort", "bloat", "hang", "exit"],
        worker_memory_gib=1.25,
        pass_seconds=10.0,
    )
    assert status == 0
    events = {event["event"]: event for event in _events(folder)}
    assert sorted(event["event"] for event in _events(folder)) == [
        "crashed",
        "crashed",
        "out_of_memory",
        "timed_out",
    ]
    assert events["timed_out"]["seconds"] >= 10
    saved = [Reproducer.load(path) for path in (folder / QUARANTINE).iterdir()]
    assert len(saved) == 4
    pairs = set()
    for reproducer in saved:
        call = reproducer.call
        # The module is the one that the pass was called on.
        assert Module.from_text(reproducer.module).fingerprint() == call.fingerprint
        pairs.add((call.fingerprint, call.name))
    assert set(checkpoints(folder)["op_counts"].quarantine) == pairs


def test_a_benchmark_that_a_pass_hangs_on_is_left_out(tmp_path, capsys):
    slow, damaged = tmp_path / "slow.hlo", tmp_path / "damaged.hlo"
    slow.write_text(SLOW_FOLDING)
    damaged.write_text("HloModule x")
    config = tiny_config(check_seconds=2.0, samples=0, total_steps=24, out=tmp_path / "run")
    own = replace(config, benchmarks=(str(slow), *config.benchmarks, str(damaged)))
    assert train(own, "train_gnn") == 0
    (event,) = _events(tmp_path / "run")
    assert event["event"] == "timed_out"
    assert event["doing"] == f"reference pipelines of {slow}"
    said = capsys.readouterr().out
    assert f"left out: {slow}: an operation took longer than its 2 s" in said
    assert f"left out: {damaged}: " in said
    alone = replace(config, benchmarks=(str(damaged),), out=tmp_path / "alone")
    assert train(alone, "train_gnn") == FAILED


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


@pytest.mark.parametrize("changes", [{"workers": "in-process"}, {"num_workers": 1}])
def test_results_do_not_depend_on_workers(finished, tmp_path, changes):
    folder = tmp_path / "run"
    assert train(tiny_config(out=folder, **changes), "train_gnn") == 0
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)
