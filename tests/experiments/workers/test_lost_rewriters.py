"""Training to rewrite goes on when rewrites, and listings of them, end its workers."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from experiments.policies.checkpoint import Checkpoint
from experiments.policies.kinds import policy_kind
from experiments.training.program import train
from experiments.workers.pools import pool_of
from experiments.workers.run_events import EVENTS
from experiments.workers.task_runner import QUARANTINE, TaskRunner
from hlograph import Module
from hlograph.isolation import Reproducer, repro
from hlograph.isolation.pass_call import RUN, listing
from tests.experiments.tiny_run import results
from tests.experiments.training.test_train_rewrites import tiny_rewrite_config
from tests.experiments.workers.saboteur import make_cursed_worker, make_sabotaged_worker
from tests.slow_module import SLOW_FOLDING_AT_ONCE

RULES = ("algebraic", "merge", "remove", "inline")


@pytest.fixture
def config(tmp_path):
    return replace(
        tiny_rewrite_config(),
        workers="processes",
        num_workers=2,
        rules=RULES,
        total_steps=24,
        out=tmp_path / "run",
    )


def events(config):
    return [json.loads(line) for line in (config.out / EVENTS).read_text().splitlines()]


def saved(config):
    return [Reproducer.load(path) for path in (config.out / QUARANTINE).iterdir()]


def test_what_aborts_each_time_is_left_out_and_training_ends(config):
    # A single benchmark, in a single task: each loss takes its time.
    config = replace(config, benchmarks=config.benchmarks[1:], num_envs=2, total_steps=12)
    config = replace(config, test_count=1, validation_count=0)
    worker = partial(make_cursed_worker, ["remove"], ["inline"])
    assert train(config, "train_rewrites", worker) == 0
    assert {event["event"] for event in events(config)} == {"crashed"}
    pairs = set(Checkpoint.load(config.out / "rewrites" / "checkpoint.pt").quarantine)
    listed = Counter(name for _, name in pairs if name.startswith("rewrites by"))
    # On each benchmark first the whole listing, then of its rules the one.
    assert set(listed) == {listing(RULES), listing(["remove"])}
    assert len(set(listed.values())) == 1
    places = [name for _, name in pairs if "(" in name]
    assert places
    assert all(place.startswith("inline(") for place in places)
    assert len(events(config)) >= len(pairs) == listed.total() + len(places)
    reproducers = saved(config)
    assert pairs <= {reproducer.call.pair for reproducer in reproducers}
    for reproducer in reproducers:
        module = Module.from_text(reproducer.module)
        assert module.fingerprint() == reproducer.call.fingerprint
    by_benchmark = results(config.out)["passes"]["rewrites"].values()
    rewritten = list(itertools.chain(*by_benchmark))
    assert rewritten
    assert {place.partition("(")[0] for place in rewritten} <= {"algebraic", "merge"}


def test_states_that_abort_when_they_are_run_are_not_run_again(config):
    config = replace(config, reward="run-time", num_envs=1, total_steps=6, validation_count=0)
    config = replace(config, benchmarks=config.benchmarks[:1], horizon=3, test_count=1)
    assert train(config, "train_rewrites", partial(make_cursed_worker, [], [RUN])) == 0
    pairs = Checkpoint.load(config.out / "rewrites" / "checkpoint.pt").quarantine
    assert {name for _, name in pairs} == {RUN}
    calls = [reproducer.call for reproducer in saved(config)]
    assert {call.pair for call in calls} >= set(pairs)
    assert all(call.applied for call in calls)


def test_workers_killed_from_outside_change_nothing(config, tmp_path):
    undisturbed = replace(config, out=tmp_path / "undisturbed")
    assert train(undisturbed, "train_rewrites") == 0
    memory = tmp_path / "done"
    memory.mkdir()
    assert train(config, "train_rewrites", partial(make_sabotaged_worker, ["kill"], memory)) == 0
    assert [event["event"] for event in events(config)] == ["killed"]
    assert not (config.out / QUARANTINE).exists()
    assert results(config.out) == results(undisturbed.out)


def test_a_rule_of_xla_that_hangs_when_it_is_listed(config, tmp_path, capsys):
    path = tmp_path / "slow.hlo"
    path.write_text(SLOW_FOLDING_AT_ONCE)
    rules = ("merge", "constant_folding")
    config = replace(config, benchmarks=(str(path),), rules=rules, num_envs=1, pass_seconds=1.0)
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
