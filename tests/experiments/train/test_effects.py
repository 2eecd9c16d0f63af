"""A trained policy learns which passes change a module, from episodes of its own."""

import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

import experiments.train.program as train_module
import hlograph
from experiments.policies.checkpoint import Checkpoint, policy_of
from experiments.policies.kind import policy_kind
from experiments.train.effects import ObserveEffects, held_out_errors, learn_effects
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import RolloutWorker
from hlograph import corpus
from hlograph.isolation import FlightRecorder, InProcessPool
from models.effects import ObservedEffects
from tests.experiments.tiny_run import LEARNERS, checkpoints, tiny_config

NAME = min(corpus.load(split="train"), key=lambda b: b.op_count).name


@pytest.fixture(scope="module")
def tiny():
    return tiny_config(workers="in-process")


@pytest.fixture(scope="module")
def observed(tiny):
    policy = policy_kind("op_counts", tiny).new_policy()
    task = ObserveEffects(
        kind="op_counts",
        parameters=parameters_of(policy),
        benchmarks=[NAME],
        episodes=3,
        seed=2,
    )
    return ObservedEffects.joined(task.do(RolloutWorker(tiny, FlightRecorder())))


def test_where_nothing_can_be_called_nothing_is_learned(tiny, tmp_path):
    file = tmp_path / "one.hlo"
    file.write_text("HloModule m\nENTRY main { ROOT p = f32[] parameter(0) }\n")
    config = replace(tiny, passes=("conditional-to-select",))
    kind = policy_kind("op_counts", config)
    policy = kind.new_policy()
    runner = TaskRunner(config, InProcessPool(partial(RolloutWorker, config)), tmp_path)
    assert list(learn_effects(runner, kind, policy, [str(file)], config.effects)) == []
    assert not policy.predicts_effects
    assert held_out_errors(runner, kind, policy, [str(file)]) is None


def test_calls_are_observed_with_what_they_did(observed, tiny):
    names = policy_kind("op_counts", tiny).action_names
    start = corpus.benchmark(NAME).load()
    at_start = np.flatnonzero(~observed.recency.any(axis=1))
    assert at_start[0] == 0
    assert len(at_start) > 3  # one of each episode, and calls that changed nothing
    for row in at_start:
        changed = start.clone().run(hlograph.passes[names[observed.action[row]]])
        assert bool(changed) == bool(observed.changed[row])
    # What a call changed is the most recent change of the next one.
    (changing,) = np.nonzero(observed.changed[:-1])
    within = [row for row in changing if observed.recency[row + 1].any()]
    assert within
    assert all(observed.recency[row + 1].max() == 1.0 for row in within)


def test_what_comes_later_is_observed_of_each_call(observed, tiny):
    kind = policy_kind("op_counts", tiny)
    stop = len(kind.action_names)
    # No episode stops by itself.
    longest = kind.config.longest_play
    assert len(observed) == 3 * longest
    assert observed.action.max() < stop
    assert 0 < observed.changed.sum() < len(observed)
    assert observed.improved.any()
    assert not observed.improved.all()
    assert observed.encoded.dtype == observed.context.dtype == observed.recency.dtype == np.float32
    module, sizes = corpus.benchmark(NAME).load(), []
    for action in observed.action[:longest]:
        module.run(hlograph.passes[kind.action_names[action]])
        sizes.append(module.op_count)
    start = corpus.benchmark(NAME).load().op_count
    before = np.minimum.accumulate([start, *sizes[:-1]])
    later = np.minimum.accumulate(sizes[::-1])[::-1]
    assert observed.improved[:longest].tolist() == (later < before).tolist()


def test_training_ends_with_predictions_of_the_kept_policy(finished):
    for name, checkpoint in checkpoints(finished).items():
        _, policy = policy_of(checkpoint)
        assert policy.effects is not None, name
        assert policy.effects.trained
        learned = [each for each in policy.parameters() if each.requires_grad]
        assert len(checkpoint.optimizer["param_groups"][0]["params"]) == len(learned)


def test_no_episodes_teach_nothing(tiny, tmp_path):
    effects = replace(tiny.effects, episodes=0)
    config = replace(tiny, total_steps=24, baseline="op-counts", effects=effects)
    assert train_module.train(replace(config, out=tmp_path / "run")) == 0
    _, policy = policy_of(Checkpoint.load(tmp_path / "run" / "gnn" / "checkpoint.pt"))
    assert policy.effects is not None
    assert not policy.effects.trained


def test_a_policy_without_predictions_learns_them_alone(finished, tiny, tmp_path):
    checkpoint = checkpoints(finished)["gnn"]
    older = {k: v for k, v in checkpoint.kept().items() if not k.startswith("effects.")}
    path = tmp_path / "older.pt"
    replace(checkpoint.without_training(), policy=older).save(path)
    config = replace(tiny, baseline="op-counts", start=str(path), total_steps=0)
    assert train_module.train(replace(config, out=tmp_path / "run")) == 0
    learned = Checkpoint.load(tmp_path / "run" / "gnn" / "checkpoint.pt").kept()
    for name, value in checkpoint.kept().items():
        if not name.startswith("effects."):
            assert torch.equal(learned[name], value), name
    assert learned["effects.output.weight"].any()


def test_a_finished_run_learns_them_once(finished, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    config = replace(tiny_config(out=run, workers="in-process"), resume=str(run))
    before = {name: checkpoints(finished)[name].kept() for name in LEARNERS}
    assert train_module.train(config) == 0
    assert "are predicted" not in capsys.readouterr().out
    for name, checkpoint in checkpoints(run).items():
        for key, value in checkpoint.kept().items():
            assert torch.equal(before[name][key], value)
