"""Tests of PassOrderingEnv."""

import subprocess
import sys

import numpy as np
import pytest

import hlograph
from envs import PassOrderingEnv, ReplayError, Trajectory
from hlograph import Module, UnknownNameError
from tests.tiny_module import COUNTED_LOOP

STOP = len(hlograph.passes)


def action(name: str) -> int:
    return hlograph.passes.index(name)


@pytest.fixture
def env(tiny) -> PassOrderingEnv:
    return PassOrderingEnv(tiny, observation="op_counts", horizon=5)


def test_an_episode_by_hand(env):
    observation, info = env.reset(seed=0)
    assert info["op_count"] == info["start_op_count"] == 8
    assert observation.sum() == 8
    assert (info["step_name"], info["changed"], info["error"]) == (None, False, None)

    observation, reward, terminated, truncated, info = env.step(action("call-inliner"))
    assert reward == pytest.approx(100 * 3 / 8)
    assert (info["op_count"], info["changed"], terminated, truncated) == (5, True, False, False)
    assert info["step_name"] == "call-inliner"
    assert observation[hlograph.OPCODES.index("call")] == 0

    _, reward, _, _, info = env.step(action("call-inliner"))
    assert (reward, info["changed"], info["op_count"]) == (0, False, 5)
    assert info["action_mask"][action("call-inliner")] == 0

    _, reward, terminated, truncated, info = env.step(STOP)
    assert (reward, terminated, truncated, info["step_name"]) == (0, True, False, "stop")


def test_rewards_sum_to_the_total_reduction(env):
    env.reset(seed=0)
    rewards = [env.step(action(name))[1] for name in ("dce", "call-inliner", "cse")]
    assert sum(rewards) == pytest.approx(100 * (8 - 4) / 8)


def test_the_papers_reward_is_the_negative_count(tiny):
    env = PassOrderingEnv(tiny, observation="op_counts", reward="op-count")
    env.reset()
    assert env.step(action("call-inliner"))[1] == pytest.approx(-5 / 8)


def test_a_reward_can_be_any_callable(tiny):
    env = PassOrderingEnv(tiny, reward=lambda start, before, after: before.op_count)
    env.reset()
    assert env.step(action("dce"))[1] == 8


def test_no_ops_stay_known_in_later_episodes(env):
    pad = action("dynamic_padder")
    _, first = env.reset()
    assert first["action_mask"][pad] == 1
    env.step(pad)
    _, again = env.reset()
    assert again["action_mask"][pad] == 0
    assert again["action_mask"].sum() == first["action_mask"].sum() - 1
    assert env.action_masks()[STOP] == 1


def test_seeding_forgets_known_no_ops(env):
    _, first = env.reset(seed=1)
    env.step(action("dynamic_padder"))
    assert env.reset(seed=1)[1]["action_mask"].tolist() == first["action_mask"].tolist()


def test_masks_hide_passes_with_nothing_to_act_on(env, tiny):
    """They follow the module: what inlining leaves has no calls."""
    _, info = env.reset()
    assert info["action_mask"][:STOP].tolist() == hlograph.passes.may_act(tiny.op_counts()).tolist()
    assert info["action_mask"][action("call-inliner")] == 1
    assert info["action_mask"][action("map-inline")] == 0
    _, _, _, _, info = env.step(action("call-inliner"))
    assert info["changed"]
    assert info["action_mask"][action("call-inliner")] == 0
    chosen = PassOrderingEnv(tiny, observation="op_counts", actions=["map-inline", "call-inliner"])
    assert chosen.reset()[1]["action_mask"].tolist() == [0, 1, 1]


def test_a_change_that_leaves_the_state_as_it_was_is_none():
    """The trip-count annotator reports a change whenever it writes what is already there."""
    env = PassOrderingEnv(Module.from_text(COUNTED_LOOP), observation="op_counts")
    env.reset()
    annotate = action("while-loop-trip-count-annotator")
    first, second = env.step(annotate)[4], env.step(annotate)[4]
    assert first["changed"]
    assert not second["changed"]
    assert second["fingerprint"] == first["fingerprint"]
    assert second["action_mask"][annotate] == 0


def test_masked_passes_change_nothing_when_run():
    benchmark = min(hlograph.corpus.load(split="train"), key=lambda b: b.op_count)
    env = PassOrderingEnv(benchmark.name, observation="op_counts")
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(30):
        env.step(int(rng.integers(STOP)))
    masked = np.flatnonzero(env.action_masks() == 0)
    assert masked.size
    for index in masked:
        module = env.module.clone()
        before = module.fingerprint()
        module.run(hlograph.passes[int(index)])
        assert Module.from_proto(module.to_proto()).fingerprint() == before


def test_costs_are_xlas(tiny):
    env = PassOrderingEnv(tiny, observation="op_counts")
    _, info = env.reset()
    assert info["transcendentals"] == 8
    _, _, _, _, info = env.step(action("cse"))
    assert info["transcendentals"] == 4
    assert {"flops", "bytes_accessed"} <= info.keys()
    quick = PassOrderingEnv(tiny, observation="op_counts", costs=False)
    assert "flops" not in quick.reset()[1]


def test_graph_observation_follows_the_module(tiny):
    env = PassOrderingEnv(tiny, observation="graph", share_observations=True)
    observation, info = env.reset()
    assert observation["graph"].nodes.shape[0] == 8 + 2
    assert observation["op_counts"].sum() == 8
    assert (observation["action_mask"] == info["action_mask"]).all()
    after, _, _, _, _ = env.step(action("call-inliner"))
    assert after["graph"].nodes.shape[0] == 5 + 1
    assert env.observation_space.contains(after)
    same, _, _, _, _ = env.step(action("call-inliner"))
    assert same["graph"] is after["graph"]
    assert same["action_mask"].tolist() == after["action_mask"].tolist()


def test_benchmarks_by_name_path_and_module(tiny, tmp_path):
    path = tmp_path / "tiny.hlo"
    path.write_text(tiny.to_text())
    name = hlograph.corpus.load(split="train")[0].name
    env = PassOrderingEnv([name, path, tiny], selection="round-robin")
    seen = [env.reset()[1]["benchmark"] for _ in range(4)]
    assert seen[0] == seen[3] == name
    assert seen[1] == str(path)
    assert seen[2].startswith("tiny@")
    assert env.reset(options={"benchmark": name})[1]["benchmark"] == name
    with pytest.raises(UnknownNameError, match="benchmark"):
        env.reset(options={"benchmark": "gpt2"})
    with pytest.raises(UnknownNameError, match="no benchmark is called"):
        PassOrderingEnv("gpt2/none/such")


def test_uniform_choice_is_seeded():
    names = [benchmark.name for benchmark in hlograph.corpus.load(max_op_count=600)]
    draws = []
    for _ in range(2):
        env = PassOrderingEnv(names, observation="op_counts", costs=False)
        env.reset(seed=3)
        draws.append([env.reset()[1]["benchmark"] for _ in range(8)])
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 1


def test_later_passes_on_the_users_module_change_no_episode(tiny):
    env = PassOrderingEnv(tiny)
    tiny.run("call-inliner")
    assert env.reset()[1]["op_count"] == 8


def test_fork_is_independent(env):
    env.reset()
    env.step(action("call-inliner"))
    fork = env.fork()
    fork.step(action("cse"))
    assert (env.module.op_count, fork.module.op_count) == (5, 4)
    assert env.trajectory.passes == ("call-inliner",)
    assert fork.trajectory.passes == ("call-inliner", "cse")
    fork.step(STOP)
    env.step(action("map-inline"))
    assert env.module.op_count == 5


def test_a_fork_does_not_share_the_no_ops_of_its_masks(env):
    pad, expand = action("dynamic_padder"), action("dce")
    env.reset()
    fork = env.fork()
    assert fork.step(pad)[4]["action_mask"][pad] == 0
    assert env.step(action("map-inline"))[4]["action_mask"][pad] == 1
    assert env.reset()[1]["action_mask"][pad] == 1
    env.step(expand)
    late = env.fork()
    env.step(pad)
    assert env.action_masks()[pad] == 0
    assert late.step(action("map-inline"))[4]["action_mask"][pad] == 1


def test_a_fork_goes_on_as_its_origin_does(corpus_walk):
    env, rest = corpus_walk
    fork = env.fork()
    for index in rest:
        env.step(index)
        fork.step(index)
    assert fork.trajectory == env.trajectory


@pytest.fixture
def corpus_walk():
    names = [b.name for b in hlograph.corpus.load(split="train") if b.op_count < 900]
    env = PassOrderingEnv(names, observation="op_counts", horizon=60, costs=False)
    env.reset(seed=5)
    walk = np.random.default_rng(5).integers(STOP, size=40).tolist()
    for index in walk[:20]:
        env.step(index)
    return env, walk[20:]


def test_replay_leads_to_the_same_state(corpus_walk):
    env, _ = corpus_walk
    trajectory = Trajectory.from_json(env.trajectory.to_json())
    assert trajectory == env.trajectory
    other = PassOrderingEnv(trajectory.benchmark, observation="op_counts")
    _, info = other.replay(trajectory)
    assert info["fingerprint"] == trajectory.fingerprint
    assert other.trajectory == trajectory


def test_replay_in_another_process(corpus_walk):
    trajectory = corpus_walk[0].trajectory
    program = (
        "import sys, envs\n"
        "trajectory = envs.Trajectory.from_json(sys.argv[1])\n"
        "env = envs.PassOrderingEnv(trajectory.benchmark, observation='op_counts')\n"
        "print(env.replay(trajectory)[1]['fingerprint'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, trajectory.to_json()], capture_output=True, text=True
    )
    assert done.stdout.strip() == trajectory.fingerprint, done.stderr


def test_a_trajectory_of_another_module_does_not_replay(env, tiny):
    env.reset()
    env.step(action("cse"))
    fields = env.trajectory.to_json().replace('"op_counts": [7]', '"op_counts": [6]')
    with pytest.raises(ReplayError, match=r"step 1 \(cse\)"):
        env.replay(Trajectory.from_json(fields))
    with pytest.raises(ReplayError, match="expected the JSON"):
        Trajectory.from_json("[1, 2]")
    with pytest.raises(ReplayError, match="an op count for each of 1 passes, got 2"):
        Trajectory.from_json(fields.replace("[6]", "[6, 6]"))


def test_render_is_a_table(tiny):
    env = PassOrderingEnv(tiny, render_mode="ansi")
    env.reset()
    env.step(action("call-inliner"))
    env.step(action("map-inline"))
    lines = env.render().splitlines()
    assert lines[2].split() == ["0", "start", "8", "100.0%"]
    assert lines[3].split() == ["1", "call-inliner", "5", "-3", "62.5%"]
    assert lines[4].split() == ["2", "map-inline", "5", "=", "62.5%"]


def test_a_subset_of_the_passes(tiny):
    env = PassOrderingEnv(tiny, actions=["dce", "cse"])
    env.reset()
    assert env.action_space.n == 3
    assert env.step(0)[4]["step_name"] == "dce"


@pytest.mark.parametrize(
    "options",
    [{"horizon": 0}, {"observation": "pixels"}, {"selection": "best"}, {"reward": "fun"},
     {"benchmarks": []}, {"actions": ["dse"]}, {"render_mode": "human"}],
)  # fmt: skip
def test_wrong_options_are_named(tiny, options):
    with pytest.raises((ValueError, KeyError)):
        PassOrderingEnv(**{"benchmarks": tiny, **options})
