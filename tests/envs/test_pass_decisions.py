"""Tests of PassDecisionsEnv and of the policies without learning."""

import subprocess
import sys

import gymnasium
import pytest

from envs import PassDecisionsEnv, ReplayError, Trajectory
from envs.fusion_policies import Greedy, PickFirst, Uniform, play
from hlograph import OPCODES, Module, UnknownNameError, corpus
from hlograph.decisions.fusion import FUSION_PASSES
from hlograph.execution.executable import Executable, random_inputs
from hlograph.isolation import Quarantine
from hlograph.transforms.xla_cpu import before_fusion
from tests.hlograph.transforms.test_fusion_rules import DIAMOND, assert_close, fused_computations

KEEP, APPLY = 0, 1
NOTHING = "HloModule nothing\nENTRY e {\n x = f32[4] parameter(0)\n ROOT y = f32[4] negate(x)\n}"


@pytest.fixture
def diamond() -> Module:
    return Module.from_text(DIAMOND)


@pytest.fixture
def env(diamond) -> PassDecisionsEnv:
    return PassDecisionsEnv(diamond, observation="op_counts")


def test_an_episode_by_hand(env):
    observation, info = env.reset(seed=0)
    assert (info["kernels"], info["start_kernels"]) == (5, 5)
    # The last consumer comes first, with the last of its operands.
    assert str(info["decision"]) == "fusion(right, wave)"
    assert [OPCODES[code] for code in observation["decision"]] == ["negate", "exponential"]

    observation, reward, terminated, _, info = env.step(KEEP)
    assert (reward, terminated, info["changed"]) == (0, False, False)
    assert str(info["decision"]) == "fusion(sum, row)"

    _, reward, _, _, info = env.step(APPLY)
    assert reward == pytest.approx(100 / 5)
    assert (info["kernels"], info["changed"], info["step_name"]) == (4, True, "fusion(sum, row)")
    # The producers of the fusion come before those of other consumers.
    assert str(info["decision"]) == "fusion(sum, left)"
    *_, info = env.step(APPLY)
    assert str(info["decision"]) == "fusion(sum, wave)"
    *_, info = env.step(KEEP)
    # A pair that was kept apart is not offered again; the other pass is next.
    assert info["decision"].rule == "multi-output-fusion"
    while not terminated:
        observation, _, terminated, _, info = env.step(KEEP)
    assert info["decision"] is None
    assert observation["decision"].tolist() == [-1, -1]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(KEEP)


def test_the_graph_shows_which_instructions_the_decision_is_about(diamond):
    env = PassDecisionsEnv(diamond)
    observation, info = env.reset()
    graph = env.module.graph()
    names = [graph.name(int(node)) for node in observation["decision"]]
    assert names == [info["decision"].instruction, info["decision"].other]
    assert observation["module"]["graph"].nodes.shape[0] == graph.num_nodes


def test_rewards_sum_to_the_drop_of_kernels(env):
    _, info = env.reset(seed=0)
    total, terminated = 0.0, False
    while not terminated:
        _, reward, terminated, _, info = env.step(APPLY)
        total += reward
    assert total == pytest.approx(100 * (info["start_kernels"] - info["kernels"]) / 5)


def test_bytes_can_be_the_reward(diamond):
    env = PassDecisionsEnv(diamond, reward="bytes-drop", costs=False)
    _, start = env.reset()
    assert "bytes_accessed" not in start
    env.step(KEEP)
    _, reward, *_ = env.step(APPLY)  # row is neither written nor read
    before, after = before_fusion(diamond).cost(), env.module.cost()
    assert reward == pytest.approx(100 * (1 - after.bytes_accessed / before.bytes_accessed))


def test_one_pass_alone(diamond):
    env = PassDecisionsEnv(diamond, passes=["multi-output-fusion"])
    _, info = env.reset()
    assert info["decision"].rule == "multi-output-fusion"


def test_without_a_decision_the_first_step_is_the_last():
    env = PassDecisionsEnv(Module.from_text(NOTHING))
    _, info = env.reset()
    assert info["decision"] is None
    _, reward, terminated, truncated, info = env.step(APPLY)
    assert (reward, terminated, truncated, info["changed"]) == (0, True, False, False)


def test_a_fork_is_independent(env):
    env.reset(seed=0)
    env.step(APPLY)
    fork = env.fork()
    before = fork.module.fingerprint()
    env.step(APPLY)
    assert fork.module.fingerprint() == before
    fork.step(APPLY)
    assert fork.module.fingerprint() == env.module.fingerprint()
    assert fork.trajectory == env.trajectory


def test_a_trajectory_is_replayed_and_differences_are_found(diamond):
    env = PassDecisionsEnv(diamond)
    env.reset()
    play(env, Uniform(seed=1))
    record = Trajectory.from_json(env.trajectory.to_json())
    _, info = PassDecisionsEnv(diamond).replay(record)
    assert info["fingerprint"] == record.fingerprint
    other = Trajectory(**{**_fields(record), "passes": record.passes[::-1]})
    with pytest.raises(ReplayError, match="at the next decision"):
        env.replay(other)


def _fields(trajectory):
    return {name: getattr(trajectory, name) for name in Trajectory.__dataclass_fields__}


def test_the_same_actions_give_the_same_module_in_another_process(diamond):
    program = (
        "from envs import PassDecisionsEnv\n"
        "from envs.fusion_policies import Uniform, play\n"
        "from hlograph import Module\n"
        "from tests.hlograph.transforms.test_fusion_rules import DIAMOND\n"
        "env = PassDecisionsEnv(Module.from_text(DIAMOND)); env.reset()\n"
        "print(play(env, Uniform(seed=3))['fingerprint'])\n"
    )
    there = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()
    env = PassDecisionsEnv(diamond)
    env.reset()
    assert play(env, Uniform(seed=3))["fingerprint"] == there


def test_names_that_do_not_exist_are_named(diamond):
    with pytest.raises(UnknownNameError, match="did you mean 'fusion"):
        PassDecisionsEnv(diamond, passes=["fuson"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnknownNameError, match="observation"):
        PassDecisionsEnv(diamond, observation="text")  # pyright: ignore[reportArgumentType]


def test_pick_first_leaves_nothing_to_fuse(env):
    env.reset()
    info = play(env, PickFirst())
    assert env.module.places(FUSION_PASSES) == []
    assert info["kernels"] == 1
    assert not any(step.startswith("keep ") for step in env.trajectory.passes)


def test_policies_keep_apart_what_is_in_quarantine(diamond):
    (name,) = PassDecisionsEnv(diamond).benchmarks
    pair = "fusion(sum, row)"
    env = PassDecisionsEnv(diamond, quarantine=Quarantine([(name, pair)]))
    env.reset()
    info = play(env, PickFirst())
    assert info["decision"] is None
    assert f"keep {pair}" in env.trajectory.passes
    assert pair not in env.trajectory.passes


def test_greedy_does_not_try_what_is_in_quarantine(diamond, monkeypatch):
    (name,) = PassDecisionsEnv(diamond).benchmarks
    env = PassDecisionsEnv(diamond, quarantine=Quarantine([(name, "fusion(right, wave)")]))
    _, info = env.reset()
    assert str(info["decision"]) == "fusion(right, wave)"
    monkeypatch.delattr(Module, "apply")  # so that trying it would be an error
    assert Greedy()(env) == KEEP


def test_a_file_that_has_changed_is_lowered_again(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(DIAMOND)
    env = PassDecisionsEnv(path)
    _, info = env.reset()
    assert info["decision"] is not None
    path.write_text(NOTHING)
    _, info = env.reset()
    assert info["decision"] is None


def test_uniform_goes_by_its_seed(env):
    ends = []
    for seed in (0, 0, 1, 2):
        env.reset()
        play(env, Uniform(seed))
        ends.append(env.trajectory.passes)
    assert ends[0] == ends[1]
    assert len(set(ends)) > 1


def test_greedy_fuses_what_saves_bytes_and_does_not_compute_again(env):
    env.reset()
    info = play(env, Greedy())
    assert "fusion(sum, left)" in env.trajectory.passes
    # The exponential is computed once, as few bytes as that saves.
    assert info["transcendentals"] == 64 * 64
    start = before_fusion(Module.from_text(DIAMOND)).cost()
    assert Greedy().cost(env.module.cost()) < Greedy().cost(start)


def test_with_free_arithmetic_greedy_computes_again(env):
    env.reset()
    info = play(env, Greedy(bytes_per_flop=0, bytes_per_transcendental=0))
    assert info["transcendentals"] >= 64 * 64


@pytest.mark.parametrize(
    "policy", [PickFirst(), Uniform(5), Greedy()], ids=lambda p: type(p).__name__
)
def test_the_code_is_what_the_policy_chose(policy):
    benchmark = corpus.benchmark("loss/fenchel-young/grad")
    env = PassDecisionsEnv(benchmark)
    env.reset()
    info = play(env, policy)
    env.module.verify()
    code = Executable(env.module, lowered=True)
    assert code.kernels == info["kernels"]
    chosen = fused_computations(env.module)
    generated = fused_computations(code.optimized())
    assert {name: generated[name] for name in chosen} == chosen
    assert all(name.startswith("wrapped_") for name in generated.keys() - chosen.keys())
    assert chosen.keys() <= {step.instruction for step in code.steps()}
    inputs = random_inputs(benchmark.load())
    assert_close(code.run(inputs), Executable(benchmark.load()).run(inputs))
