"""Agents of other libraries learn from as many calls as ours, and are judged like ours."""

import tempfile
from dataclasses import replace

import numpy as np
import pytest

from envs import PassOrderingEnv
from experiments.evaluate.evaluation import Checker
from experiments.paper.agents import (
    AgentTraining,
    DealtEpisodes,
    TrainAgent,
    greedy,
    log_counts,
    play,
    training_env,
)
from experiments.paper.training_settings import AGENTS, AgentSettings
from experiments.policies.kind import policy_kind
from experiments.workers.collecting import Deck
from experiments.workers.worker import RolloutWorker
from hlograph import corpus
from hlograph.isolation import FlightRecorder, Quarantine
from tests.experiments.tiny_run import tiny_config

SETTINGS = AgentSettings(width=16, dqn_learning_starts=8, dqn_target_interval=8, a2c_steps=3)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    config = tiny_config(out=tmp_path_factory.mktemp("run"))
    return RolloutWorker(config, FlightRecorder())


def _task(name, path, seed=0):
    smallest = sorted(corpus.load(), key=lambda b: b.op_count)
    splits = ("train", "validation", "test-unseen")
    names = [[b.name for b in smallest if b.split == split][:2] for split in splits]
    return TrainAgent(training=AgentTraining(name, SETTINGS, seed, *names), path=path)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_learns_from_all_its_calls_and_is_judged(name, worker, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    task = _task(name, tmp_path / "agent.json")
    learned = task.do(worker)
    assert not list(temporary.glob("SB3-*"))
    config = worker.config
    assert len(learned) == (1 if name == "maskable-ppo" else 2)
    for one in learned.values():
        assert [steps for steps, _ in one.curve] == [config.total_steps // 2, config.total_steps]
        played = [(task.training.validation, outcomes) for _, outcomes in one.curve]
        for benchmarks, outcomes in (*played, (task.training.held_out, one.outcomes)):
            assert [o.benchmark for o in outcomes] == list(benchmarks)
            assert all(o.calls <= config.horizon for o in outcomes)
            assert all(Checker().check(o, samples=0).problem is None for o in outcomes)
    # What was kept is what was found, and it is taken instead of another training.
    assert replace(task, training=replace(task.training, seed=9)).do(worker) == learned


@pytest.mark.parametrize("name", AGENTS)
def test_the_highest_score_is_the_libraries_own_greedy_choice(name, worker, tiny_env):
    from stable_baselines3.common.vec_env import DummyVecEnv

    from experiments.paper.third_party import make_agent, scores_of

    envs = [training_env(tiny_env.fork(), Deck(tiny_env.benchmarks, n), 0.1) for n in range(4)]
    agent = make_agent(
        name, SETTINGS, worker.config, DummyVecEnv([lambda e=env: e for env in envs]), seed=0
    )
    scores = scores_of(agent)
    random = np.random.default_rng(0)
    for _ in range(20):
        shape = envs[0].observation_space.shape
        seen = log_counts(random.integers(0, 50, shape).astype(np.float32))
        assert scores(seen).argmax() == agent.predict(seen, deterministic=True)[0]


def test_a_mask_in_play_leaves_out_what_did_nothing(tiny_env):
    def scores(seen):
        return np.arange(len(tiny_env.passes) + 1)[::-1].astype(np.float32)

    (stuck,), (masked,) = (
        play(scores, tiny_env.fork, tiny_env.benchmarks, masked=masked, draws=False)
        for masked in (False, True)
    )
    assert stuck.calls == masked.calls == tiny_env.horizon
    assert len(stuck.passes) <= 1 < len(masked.passes)


def test_who_draws_stops_where_stopping_is_likely_enough():
    everything, some = np.ones(4), np.array([0, 0, 1, 1])
    scores = np.log(np.array([0.3, 0.15, 0.1, 0.45], np.float32))
    # Stopping is the likeliest action, but below 0.8; values know no such thing.
    assert greedy(scores, everything, draws=True) == 0
    assert greedy(scores, everything, draws=False) == 3
    # Among what the mask leaves it is above that.
    assert greedy(scores, some, draws=True) == 3
    scores = np.log(np.array([0.1, 0.05, 0.04, 0.81], np.float32))
    assert greedy(scores, everything, draws=True) == 3


def test_a_seed_decides_what_is_learned(worker, tmp_path):
    curves = [
        _task("maskable-ppo", tmp_path / f"{n}.json", seed).do(worker)
        for n, seed in enumerate((1, 1, 2))
    ]
    assert curves[0] == curves[1] != curves[2]


def test_agents_see_logarithms_of_counts():
    counts = np.array([0, 1, 40_000], np.float32)
    seen = log_counts(counts)
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen, np.log1p(counts) / 7, rtol=1e-6)


def test_training_envs_deal_each_benchmark_and_scale_rewards(worker):
    names = _task("ppo", None).training.benchmarks
    make_env = worker.env_maker(policy_kind("op_counts", worker.config), names, Quarantine())
    env = training_env(make_env(), Deck(names, seed=0), reward_scale=0.1)
    plain = make_env()
    dealt = []
    for _ in range(4):
        observation, info = env.reset()
        assert env.observation_space.contains(observation)
        dealt.append(info["benchmark"])
        _, fresh = plain.reset(seed=0, options={"benchmark": info["benchmark"]})
        assert info["action_mask"].tolist() == fresh["action_mask"].tolist()
        for action in range(3):
            assert env.step(action)[1] == pytest.approx(0.1 * plain.step(action)[1])
    assert set(dealt[:2]) == set(dealt[2:]) == set(names)


def test_masks_reach_who_asks_for_them(tiny_env):
    env = training_env(tiny_env, Deck(tiny_env.benchmarks, 0), 0.1)
    env.reset()
    env.step(0)
    masks = env.get_wrapper_attr("action_masks")()
    assert isinstance(env.unwrapped, PassOrderingEnv)
    assert np.array_equal(masks, env.unwrapped.action_masks())


@pytest.fixture
def tiny_env():
    name = min(corpus.load(split="train"), key=lambda b: b.op_count).name
    return PassOrderingEnv([name], observation="op_counts")


def test_a_dealt_episode_forgets_what_was_tried(tiny_env):
    env = DealtEpisodes(tiny_env, Deck(tiny_env.benchmarks, 0))
    fresh = env.reset()[1]["action_mask"].tolist()
    pad = [entry.name for entry in tiny_env.passes].index("dynamic_padder")
    assert env.step(pad)[4]["action_mask"].tolist() != fresh
    assert env.reset()[1]["action_mask"].tolist() == fresh
