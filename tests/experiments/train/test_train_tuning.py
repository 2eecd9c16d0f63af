"""Training to tune: what a run leaves, that it repeats, and what its policy sees."""

from dataclasses import replace

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

from envs import TuningEnv
from experiments.evaluate.evaluation import Measure, Outcome
from experiments.policies.checkpoint import Checkpoint, load_policy
from experiments.policies.config import TuningTrainConfig
from experiments.policies.kind import policy_kind
from experiments.policies.tuning import COSTS
from experiments.train.command_line import TUNING_PRESETS
from experiments.train.measured_plans import MeasuredPlan, MeasurePlan, PredictTimes
from experiments.train.program import train
from experiments.train.time_table import table_text
from experiments.workers.worker import make_rollout_worker
from hlograph import Module
from hlograph.decisions.plans import PLAN_FEATURES
from hlograph.graph.vocabulary import OPCODES
from hlograph.isolation import FlightRecorder
from hlograph.plans import Plan
from hlograph.storage.checked_file import read_checked_json
from models.config import ActionConfig
from models.pointer import PointerActorCritic
from tests.envs.conftest import NETWORK
from tests.experiments.tiny_run import tiny_config
from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]


SAFE = ("rule predicted", "rule gather-after-dot", "library none", "partitions 1", "partitions 2")
"""Kinds of decisions that no program gets much slower by, so that its plan can be measured."""


def tiny_tuning_config(**changes) -> TuningTrainConfig:
    """Returns two iterations on one small program, compared on another."""
    like = tiny_config()
    same = ("num_envs", "envs_per_task", "cloning", "gat")
    config = replace(
        TUNING_PRESETS["quick"],
        benchmarks=("selection/last-sorted/b16-n8192",),
        test_op_limit=20,
        workers="in-process",
        threads=1,
        evaluations=1,
        total_steps=2 * 4 * like.num_envs,
        horizon=4,
        play_horizon=4,
        validation_count=1,
        test_count=1,
        budget=0.1,
        scaled=1,
        checkpoint_every=1,
        candidates=ActionConfig(width=8, score_width=8),
        **{name: getattr(like, name) for name in same},
    )
    return replace(config, **changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, own_lock):
    folder = tmp_path_factory.mktemp("tuning") / "run"
    assert train(tiny_tuning_config(out=folder, decisions=SAFE)) == 0
    return folder


def test_the_plans_of_a_run_are_measured(finished):
    rows = read_checked_json(finished / "results.json", "tuning results", 2)["programs"]
    assert [row["policy"] for row in rows] == ["tuning", "tuning_counts"]
    text = (finished / "table.txt").read_text()
    for row in rows:
        assert row["error"] or row["low"] <= row["ratio"] <= row["high"]
        plan = Plan.from_json(row["plan"])
        assert plan.num_decisions >= len(row["decisions"])
        assert text.count(row["benchmark"]) == 2
    assert text.count("predicted: default / policy ") == 2
    assert "GNN on decisions" in text
    assert "op counts on decisions" in text
    assert len(list(finished.glob("**/events.out.tfevents.*"))) == 3


def test_programs_in_other_sizes_are_trained_on(finished):
    scaled = list((finished / "scaled").glob("*.hlo.zst"))
    assert len(scaled) == 1
    assert read_checked_json(finished / "config.json", "run settings", 2)["config"]["scaled"] == 1


def test_the_plans_on_validation_are_measured_while_training(finished):
    events = EventAccumulator(str(finished / "tuning"), size_guidance={SCALARS: 0}).Reload()
    kept = events.Scalars("measured_validation/kept")
    assert [each.step for each in kept] == [0, 2 * 4 * tiny_config().num_envs]  # imitation, PPO
    assert all(each.value >= 1 for each in kept)
    best = Checkpoint.load(finished / "tuning" / "checkpoint.pt").best
    assert best.score == pytest.approx(max(each.value for each in kept))
    tags = {tag for tag in events.Tags()[SCALARS] if tag.startswith("measured_validation/")}
    plans = events.Scalars("measured_validation/plans")
    gaps = events.Scalars("measured_validation/predicted_over_measured")
    predicted = events.Scalars("predicted_time_ratio_validation/default")
    for plan, gap, ratio in zip(plans, gaps, predicted, strict=True):
        assert gap.value * plan.value == pytest.approx(ratio.value, rel=1e-3)
    assert len(tags) == 3


def test_a_baseline_takes_the_place_of_the_policy_on_op_counts(finished, tmp_path):
    baseline, folder = finished / "tuning_counts" / "checkpoint.pt", tmp_path / "run"
    config = tiny_tuning_config(out=folder, decisions=SAFE, total_steps=0, baseline=str(baseline))
    assert train(config) == 0
    assert (folder / "tuning").exists()
    assert not (folder / "tuning_counts").exists()
    rows, before = (
        read_checked_json(run / "results.json", "tuning results", 2)["programs"]
        for run in (folder, finished)
    )
    assert rows[1]["policy"] == "tuning_counts"
    assert rows[1]["decisions"] == before[1]["decisions"]


def test_same_seed_same_policies(finished, tmp_path):
    again = tmp_path / "again"
    # Its policies are compared, not its tests.
    assert train(tiny_tuning_config(out=again, decisions=SAFE, test_count=0)) == 0
    for kind in ("tuning", "tuning_counts"):
        one, other = (Checkpoint.load(f / kind / "checkpoint.pt").policy for f in (finished, again))
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[key], other[key]) for key in one)


def test_a_run_begins_with_the_imitation_of_measured_plans(finished):
    for kind in ("tuning", "tuning_counts"):
        assert Checkpoint.load(finished / kind / "checkpoint.pt").imitated == 1
        events = EventAccumulator(str(finished / kind), size_guidance={SCALARS: 0}).Reload()
        assert any(tag.startswith("cloning") for tag in events.Tags()[SCALARS])


def test_its_checkpoint_is_a_policy_that_decides(finished):
    kind, policy = load_policy(finished / "tuning" / "checkpoint.pt")
    assert isinstance(policy, PointerActorCritic)
    assert kind.action_names == SAFE


def test_a_policy_goes_on_with_the_decisions_of_its_training(finished, tmp_path):
    stored = Checkpoint.load(finished / "tuning" / "checkpoint.pt")
    assert stored.config.pop("decisions") == list(SAFE)  # as before the setting and other rules
    stored.save(tmp_path / "checkpoint.pt")
    kind, _ = load_policy(tmp_path / "checkpoint.pt")
    assert kind.config.decisions == kind.action_names == SAFE
    config = tiny_tuning_config(
        out=tmp_path / "run",
        start=str(tmp_path / "checkpoint.pt"),
        baseline=str(finished / "tuning_counts" / "checkpoint.pt"),
        test_count=0,
        measure_validation=False,
    )
    assert train(config) == 0
    further = Checkpoint.load(tmp_path / "run" / "tuning" / "checkpoint.pt")
    assert further.actions == SAFE


def test_states_hold_the_offers_and_tell_flags_apart():
    config = tiny_tuning_config()
    kind = policy_kind("tuning", config)
    env = TuningEnv(Module.from_text(NETWORK), max_offers=config.max_offers)
    start = kind.encode(*env.reset())
    number = len(env.offers)
    assert start.item.features.shape == (number, len(PLAN_FEATURES))
    assert start.mask.sum() == number + 1
    flag = next(n for n, offer in enumerate(env.offers) if "vector_width" in offer.name)
    observation, *_, info = env.step(flag)
    after = kind.encode(observation, info)
    # XLA's final graph is the same; the point is not.
    assert np.array_equal(after.item.state.nodes, start.item.state.nodes)
    assert after.key != start.key
    policy = kind.new_policy()
    assert policy.encoder.encode_items([start.item, after.item]).shape == (2, policy.encoder.width)


def test_op_counts_stand_for_the_graph():
    config = tiny_tuning_config()
    kind = policy_kind("tuning_counts", config)
    env = TuningEnv(Module.from_text(NETWORK), max_offers=config.max_offers, costs=True)
    observation, info = env.reset()
    state = kind.encode(observation, info)
    assert state.item.state[: len(OPCODES)].sum() == info["op_count"]
    assert state.item.state[len(OPCODES) + COSTS.index("flops")] == max(info["flops"], 0)
    assert state.key == policy_kind("tuning", config).encode(observation, info).key
    with_graph = policy_kind("tuning", config).encode(observation, info)
    assert np.array_equal(state.item.features, with_graph.item.features)
    policy = kind.new_policy()
    assert policy.encoder.encode_items([state.item]).shape == (1, policy.encoder.width)


def test_decisions_that_are_not_offered_lose_their_measurement():
    worker = make_rollout_worker(tiny_tuning_config(), FlightRecorder())
    outcome = Outcome("selection/last-sorted/b16-n8192", 2, 1, ("rule of-another-version",), 1)
    found = MeasurePlan(outcome=outcome).do(worker)
    assert found.ratio == 0
    assert "of-another-version" in found.error


def test_programs_that_cannot_be_read_have_no_times(tmp_path):
    path = tmp_path / "broken.hlo"
    path.write_text("HloModule broken\nENTRY e { ROOT x = f32[4] add(x, y) }")
    worker = make_rollout_worker(tiny_tuning_config(), FlightRecorder())
    assert isinstance(PredictTimes(benchmark=str(path)).do(worker), str)
    found = PredictTimes(benchmark="selection/last-sorted/b16-n8192").do(worker)
    assert found["default"] > 5 * found["rules"]


def test_plans_that_are_not_faster_count_as_the_default():
    outcomes = [Outcome(name, 100, 50, ("rule predicted",), 1) for name in "abc"]
    measured = [
        MeasuredPlan(Plan(), 2.0, 1.9, 2.1, ""),
        MeasuredPlan(Plan(), 0.5, 0.4, 0.6, ""),
        MeasuredPlan.lost("outputs differ"),
    ]
    measure = Measure("predicted_time", {name: {"default": 100, "rules": 25} for name in "abc"})
    text = table_text(outcomes, measured, measure)
    assert f"not faster: {2 ** (1 / 3):.3f} " in text
    assert "2 plans: 1.000" in text
    assert "default / policy 2.000, rules / policy 0.500" in text
    assert "outputs differ" in text
    assert table_text([], [], measure) == "no benchmark was held out"
