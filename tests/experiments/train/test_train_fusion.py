"""Training to decide about fusions: what a run leaves, that it repeats, and what it sees."""

from dataclasses import replace

import numpy as np
import pytest

from envs import PassDecisionsEnv
from experiments.policies.checkpoint import Checkpoint, load_policy
from experiments.policies.config import FusionTrainConfig
from experiments.policies.fusion import DECISION_FEATURES, FusionActions
from experiments.policies.kind import policy_kind
from experiments.policies.player import Episodes
from experiments.train.command_line import FUSION_PRESETS
from experiments.train.program import train
from hlograph import Module
from hlograph.storage.checked_file import read_checked_json
from models.config import ActionConfig
from models.pointer import PointerActorCritic
from tests.experiments.tiny_run import tiny_config
from tests.hlograph.transforms.test_fusion_rules import DIAMOND


def tiny_fusion_config(**changes) -> FusionTrainConfig:
    """Returns two iterations on one small benchmark, compared on another."""
    like = tiny_config()
    same = ("train_op_limit", "num_envs", "envs_per_task", "gat")
    config = replace(
        FUSION_PRESETS["quick"],
        benchmarks=("loss/fenchel-young/grad",),
        test_op_limit=80,
        workers="in-process",
        threads=1,
        evaluations=1,
        total_steps=64,
        horizon=8,
        validation_count=1,
        test_count=1,
        samples=1,
        pairs=2,
        sample_seconds=0.0,
        checkpoint_every=1,
        candidates=ActionConfig(width=8, score_width=8),
        **{name: getattr(like, name) for name in same},
    )
    return replace(config, **changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fusion") / "run"
    assert train(tiny_fusion_config(out=folder)) == 0
    return folder


def results(folder):
    return read_checked_json(folder / "results.json", "fusion results", 1)


def test_a_run_is_compared_with_xla_and_the_heuristics(finished):
    found = results(finished)
    assert found["lost"] == {}
    (row,) = found["benchmarks"]
    for method in ("xla", "policy", "pick first", "uniform", "greedy"):
        assert row[method]["kernels"] >= 1
        assert row[method]["bytes_accessed"] > 0
        assert row[method]["speed"] > 0
        assert row[method]["verdict"] in ("equal", "close")
    assert row["xla"]["speed"] == 1
    assert row["benchmark"] in (finished / "table.txt").read_text()
    assert len(list(finished.glob("**/events.out.tfevents.*"))) == 2


def test_same_seed_same_policy(finished, tmp_path):
    again = tmp_path / "again"
    # Its policy is compared, not its tests.
    assert train(tiny_fusion_config(out=again, test_count=0)) == 0
    policies = [Checkpoint.load(f / "fusion" / "checkpoint.pt").policy for f in (finished, again)]
    assert policies[0].keys() == policies[1].keys()
    assert all(np.array_equal(policies[0][key], policies[1][key]) for key in policies[0])


def test_its_checkpoint_is_a_policy_that_decides(finished):
    kind, policy = load_policy(finished / "fusion" / "checkpoint.pt")
    assert isinstance(policy, PointerActorCritic)
    assert (kind.name, kind.outputs) == ("fusion", ("apply", "keep"))
    assert kind.action_names == ("fusion", "multi-output-fusion")


def test_the_pair_in_question_is_the_one_candidate():
    kind = policy_kind("fusion", tiny_fusion_config())
    env = FusionActions(PassDecisionsEnv(Module.from_text(DIAMOND)))
    observation, info = env.reset()
    state = kind.encode(observation, info)
    assert state.item.links.tolist() == [
        [0, observation["decision"][0], 0],
        [0, observation["decision"][1], 1],
    ]
    row = dict(zip(DECISION_FEATURES, state.item.features[0], strict=True))
    assert row["rule"] == kind.action_names.index("fusion")
    # The exponential has two users.
    assert row["log_users"] == pytest.approx(np.log2(3) / 4)
    assert state.mask.tolist() == [True, True]
    *_, info = env.step(1)
    assert info["step_name"] == "keep fusion(right, wave)"
    *_, info = env.step(0)
    assert info["step_name"] == "fusion(sum, row)"
    ended = False
    while not ended:
        observation, _, ended, _, info = env.step(1)
    state = kind.encode(observation, info)
    assert len(state.item.features) == 0
    assert state.mask.tolist() == [False, True]


def test_a_policy_judges_states_with_and_without_a_decision():
    config = tiny_fusion_config()
    kind = policy_kind("fusion", config)
    policy, module = kind.new_policy(), Module.from_text(DIAMOND)
    episodes = Episodes(kind, policy, lambda: FusionActions(PassDecisionsEnv(module)))
    name = episodes.envs[0].unwrapped.benchmarks[0]  # pyright: ignore[reportAttributeAccessIssue]
    episodes.begin({0: name})
    first = episodes.running[0]
    while not (after := episodes.step(lambda *_: [1]).after[0]).terminated:
        pass
    vectors = policy.encoder.encode_items([first.item, after.state.item])
    assert vectors.shape == (2, policy.encoder.width)
    assert vectors[1, -config.candidates.width :].abs().max() == 0


def test_run_time_can_be_the_reward(tmp_path, brief_run_times):
    folder = tmp_path / "run"
    config = tiny_fusion_config(
        out=folder,
        reward="final-run-time",
        total_steps=8,
        num_envs=2,
        horizon=4,
        validation_count=0,
    )
    assert train(config) == 0
    assert len(results(folder)["benchmarks"]) == 1
