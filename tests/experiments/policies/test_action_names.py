"""Policies know their actions by name, whatever other passes and rules there are."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from experiments.evaluate.benchmarks import load
from experiments.policies.checkpoint import Checkpoint, load_policy
from experiments.policies.explored import load_player
from experiments.policies.kind import policy_kind
from experiments.policies.shipped import available, checkpoint_location, one_of_each
from experiments.train.program import train
from experiments.workers.task_runner import parameters_of
from experiments.workers.tasks import Play
from experiments.workers.worker import RolloutWorker
from hlograph import passes, rules
from hlograph.errors import DamagedFileError
from hlograph.explorer.player import Move
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.storage.checked_file import write_checked
from models.ppo import PPO
from tests import changed_registry
from tests.changed_registry import RARE
from tests.experiments.tiny_run import RULES, tiny_config, tiny_rewrite_config

BENCHMARK = "hypernetwork/d1/forward"
SLOW = "selection/last-sorted/b16-n8192"
"""Benchmark of which policies for time decide something."""
LIMIT = 8
ROWS = "encoder.rule.weight"
FIRST = [str(path) for path in one_of_each().values()]
OTHERS = [str(path) for path in available().values() if str(path) not in FIRST]


def _played(policy: str) -> list[Move]:
    benchmark = SLOW if Path(policy).stem.startswith("tuning") else BENCHMARK
    return list(load_player(policy).play(load(benchmark), (), LIMIT))


def _assert_same(moves: list[Move], expected: list[Move]) -> None:
    assert [move.step.name for move in moves] == [move.step.name for move in expected]
    for move, other in zip(moves, expected, strict=True):
        assert move.value == other.value
        if _names(move) == _names(other):
            assert np.array_equal(move.probabilities, other.probabilities)
        else:  # the decisions of tuning are offered in the order of the rules
            assert _by_name(move) == pytest.approx(_by_name(other), rel=1e-5)


def _names(move: Move) -> list[str]:
    return [choice.name for choice in move.choices.values()]


def _by_name(move: Move) -> dict[str, float]:
    return {c.name: float(move.probabilities[action]) for action, c in move.choices.items()}


# A value that no version of jaxlib heeds. Policies that know it are older than its removal.
IDLE = 'flags xla_cpu_scheduler_type "CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED"'


@pytest.mark.parametrize(
    "policy",
    [*FIRST, *(pytest.param(policy, marks=pytest.mark.slow) for policy in OTHERS)],
    ids=lambda policy: Path(policy).stem,
)
def test_shipped_policies_play_as_before_in_other_versions(policy, monkeypatch):
    expected = _played(policy)
    assert len(expected) > 1
    for change in (changed_registry.enlarge, changed_registry.reverse):
        with monkeypatch.context() as changing:
            change(changing)
            _assert_same(_played(policy), expected)
    taken = _taken(expected)
    gone = [name for name in (*passes.names, *rules.names) if name in taken] or [RARE]
    changed_registry.remove(monkeypatch, *gone)
    stored = Checkpoint.load(policy)
    gone.append(IDLE)
    kept = [n for n, name in enumerate(stored.actions) if name.removeprefix("rule ") not in gone]
    assert len(kept) < len(stored.actions)
    kind, network = load_policy(policy)
    assert kind.action_names == tuple(stored.actions[number] for number in kept)
    if ROWS in stored.policy:
        assert torch.equal(network.state_dict()[ROWS], stored.policy[ROWS][kept])
    assert _taken(_played(policy)).isdisjoint(gone)


def _taken(moves: list[Move]) -> set[str]:
    """Returns the passes, rules and kinds of decisions of an episode."""
    return {move.step.name.partition("(")[0].removeprefix("rule ") for move in moves}


@pytest.mark.parametrize("config", [tiny_config(workers="in-process"), tiny_rewrite_config()])
def test_training_goes_on_without_a_removed_action(config, tmp_path, monkeypatch):
    folder, more = tmp_path / "run", 2 * config.total_steps
    assert train(replace(config, out=folder)) == 0
    paths = [folder / name / "checkpoint.pt" for name in config.kinds]
    before = [Checkpoint.load(path) for path in paths]
    gone = before[0].actions[1]
    changed_registry.enlarge(monkeypatch)
    changed_registry.remove(monkeypatch, gone)
    further = replace(config, out=folder, resume=str(folder), total_steps=more)
    assert train(further) == 0
    for path, earlier in zip(paths, before, strict=True):
        after = Checkpoint.load(path)
        assert after.steps == more
        assert after.actions == tuple(name for name in earlier.actions if name != gone)
        kind, policy = load_policy(path)
        assert kind.action_names == after.actions
        assert after.best is not None
        for parameters in (after.policy, after.best.policy):
            policy.load_state_dict(parameters)


def test_a_new_training_has_all_actions_that_there_are(monkeypatch):
    changed_registry.enlarge(monkeypatch)
    assert {"new first", "new last"} < set(policy_kind("gnn", tiny_config()).action_names)
    some = tiny_config(passes=("dce", "new last"))
    assert policy_kind("op_counts", some).action_names == ("dce", "new last")


def test_a_worker_plays_a_policy_that_knows_other_actions_than_its_run():
    kind = policy_kind("op_counts", tiny_config(passes=("cse", "algsimp", "dce")))
    policy = kind.new_policy()
    torch.nn.init.constant_(policy.get_parameter("policy_head.2.bias")[-1], -20)  # does not stop
    parameters = parameters_of(policy)
    run, own = (RolloutWorker(c, FlightRecorder()) for c in (tiny_config(), kind.config))
    task = Play("op_counts", parameters, [BENCHMARK], kind.action_names)
    (outcome,) = run(task)
    assert outcome.passes
    assert [outcome] == own(replace(task, actions=()))


def test_a_policy_needs_one_of_its_actions(monkeypatch):
    path = checkpoint_location("rewrites")
    changed_registry.remove(monkeypatch, *Checkpoint.load(path).actions)
    with pytest.raises(ValueError, match="none of the policy's rules exists any more"):
        load_policy(path)


@pytest.fixture
def former(tmp_path) -> tuple[Path, Checkpoint]:
    """A file of version 3, and the checkpoint with rows of all rules that was stored in it."""
    numbered = tuple(rule.name for rule in rules if not (rule.for_time or rule.kernel))
    kind = policy_kind("rewrites", replace(tiny_rewrite_config(), rules=numbered))
    ppo = PPO(kind.new_policy(), kind.ppo)
    for parameter in ppo.policy.parameters():
        parameter.grad = torch.randn_like(parameter)
    ppo.optimizer.step()
    stored = Checkpoint.take(kind, ppo, 3, 1_920, None, Quarantine(), None)
    config = stored.config | {"rules": list(RULES)}
    return _write_former(stored, tmp_path, passes=RULES, config=json.dumps(config)), stored


def _write_former(stored: Checkpoint, folder: Path, **changes: Any) -> Path:
    content = vars(stored) | {"learner": stored.kind} | changes
    del content["kind"], content["actions"]
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_checked(folder / "former.checkpoint", "checkpoint", 3, buffer.getvalue())
    return folder / "former.checkpoint"


def test_files_of_version_3_have_rows_by_number(former):
    path, stored = former
    loaded = Checkpoint.load(path)
    assert loaded.actions == RULES
    kind = policy_kind("rewrites", tiny_rewrite_config())
    ppo = PPO(kind.new_policy(), kind.ppo)
    loaded.restore(kind, ppo)
    numbers = [rules[name].index for name in RULES]
    assert torch.equal(ppo.policy.state_dict()[ROWS], stored.policy[ROWS][numbers])
    (place,) = (n for n, name in enumerate(stored.policy) if name == ROWS)
    moments = ppo.optimizer.state_dict()["state"][place]
    for name in ("exp_avg", "exp_avg_sq"):
        assert torch.equal(moments[name], stored.optimizer["state"][place][name][numbers])
    loaded.save(path)
    assert Checkpoint.load(path).actions == RULES


def test_files_of_version_3_are_refused_if_rules_have_other_numbers(former, monkeypatch):
    path, _ = former
    changed_registry.enlarge(monkeypatch)
    with pytest.raises(DamagedFileError, match="made with other rules"):
        Checkpoint.load(path)


def test_files_of_version_3_name_passes(tmp_path):
    stored = Checkpoint.load(checkpoint_location("op-counts"))
    config, best = json.dumps(stored.config), vars(stored.best)
    path = _write_former(stored, tmp_path, passes=stored.actions, config=config, best=best)
    loaded = Checkpoint.load(path)
    assert (loaded.kind, loaded.actions, loaded.best) == (stored.kind, stored.actions, stored.best)
    assert loaded.settings() == stored.settings()
