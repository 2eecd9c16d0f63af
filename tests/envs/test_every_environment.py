"""Tests of the contract that all environments keep."""

import dataclasses
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import envs
import hlograph
from envs import PassDecisionsEnv, PassOrderingEnv, RewriteEnv, TuningEnv
from envs.decision_env import DecisionEnv
from hlograph import Module
from hlograph.execution.equivalence import NotComparableError
from tests.envs.conftest import DYNAMIC, NETWORK
from tests.hlograph.transforms.test_fusion_rules import DIAMOND
from tests.tiny_module import TINY

NAMES = sorted(name for name in gymnasium.registry if name.startswith("hlograph/"))
ORDERING, REWRITE, DECISIONS, TUNING = (
    f"hlograph/{name}-v0" for name in ("PassOrdering", "Rewrite", "PassDecisions", "Tuning")
)

KEYS = {
    *("benchmark", "step_name", "step_time", "changed", "error", "num_steps", "fingerprint"),
    *("op_count", "start_op_count", "size", "start_size", "action_mask"),
}
COSTS = {"flops", "transcendentals", "bytes_accessed", "cost_changes"}
EXTRAS = {
    ORDERING: set(),
    REWRITE: {"num_applicable"},
    DECISIONS: {"kernels", "start_kernels", "decision"},
    TUNING: {"point", "num_offers"},
}
TEXTS = {DECISIONS: DIAMOND, TUNING: NETWORK}
"""Benchmarks where something can be done: in the tiny module nothing can be fused."""
CUSTOM_CALL = 'HloModule c\nENTRY e { ROOT c = f32[4] custom-call(), custom_call_target="c" }'

every_environment = pytest.mark.parametrize("name", NAMES)


def make(name: str, text: str | None = None, **settings: Any) -> DecisionEnv:
    text = text or TEXTS.get(name, TINY)
    # That of tuning has a price for each step by default.
    settings.setdefault("reward", "op-count-drop")
    env = gymnasium.make(name, benchmarks=[Module.from_text(text)], **settings).unwrapped
    assert isinstance(env, DecisionEnv)
    return env


def change(env: DecisionEnv) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Takes an action that changes the module."""
    if isinstance(env, PassOrderingEnv):
        return env.step(hlograph.passes.index("cse"))
    return env.step(1 if isinstance(env, PassDecisionsEnv) else 0)


def masked_action(env: DecisionEnv) -> int:
    """Returns a masked action; the pair that decisions are about must be in quarantine."""
    return int(env.action_masks().argmin())


def make_with_mask(name: str, **settings: Any) -> DecisionEnv:
    """Makes an environment that has a masked action after reset, and resets it."""
    if name == DECISIONS:
        plain = make(name)
        _, info = plain.reset()
        pair = (plain.benchmarks[0], str(info["decision"]))
        settings["quarantine"] = hlograph.isolation.Quarantine([pair])
    env = make(name, **settings)
    env.reset()
    assert not env.action_masks().all()
    return env


def same(one: Any, other: Any) -> bool:
    return gymnasium.utils.env_checker.data_equivalence(one, other)


def test_all_environments_are_registered_by_import():
    assert sorted(EXTRAS) == NAMES
    classes = {type(make(name)) for name in NAMES}
    assert classes == {PassOrderingEnv, RewriteEnv, PassDecisionsEnv, TuningEnv}
    assert {one.__name__ for one in classes} <= set(envs.__all__)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        (ORDERING, {"observation": "graph"}),
        (ORDERING, {"observation": "op_counts"}),
        (REWRITE, {}),
        (REWRITE, {"rules": ["for-time", "general"], "predict": True}),
        (REWRITE, {"reward": "predicted-seconds-drop"}),
        (DECISIONS, {"observation": "graph"}),
        (DECISIONS, {"observation": "op_counts"}),
        (TUNING, {}),
        (TUNING, {"max_offers": 3, "reward": "predicted-seconds-drop"}),
    ],
)
def test_gymnasiums_checker_accepts_it_without_a_warning(name, settings):
    env = make(name, render_mode="ansi", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


@every_environment
def test_infos_have_the_same_keys(name):
    env = make(name)
    _, start = env.reset(seed=0)
    *_, after = change(env)
    assert start.keys() == after.keys() == KEYS | COSTS | EXTRAS[name]
    assert make(name, costs=False).reset()[1].keys() == KEYS | EXTRAS[name]


@every_environment
def test_an_info_describes_the_step(name):
    env = make(name)
    _, start = env.reset(seed=0)
    assert (start["step_name"], start["step_time"], start["num_steps"]) == (None, 0.0, 0)
    assert (start["changed"], start["error"]) == (False, None)
    assert start["size"] == start["start_size"]
    *_, info = change(env)
    assert info["step_name"] == env.trajectory.passes[-1]
    assert (info["step_time"], info["num_steps"], info["changed"]) == (0.0, 1, True)
    assert (info["start_size"], info["start_op_count"]) == (start["size"], start["op_count"])
    assert info["op_count"] == env.module.op_count
    assert info["action_mask"].tolist() == env.action_masks().tolist()


@every_environment
def test_step_times_are_measured_on_request(name):
    env = make(name, timings=True)
    assert env.reset()[1]["step_time"] == 0.0
    assert change(env)[-1]["step_time"] > 0.0


@every_environment
def test_a_masked_action_changes_nothing_and_counts_as_a_step(name):
    env = make_with_mask(name, horizon=3)
    observation, before = env.reset()
    for step in (1, 2, 3):
        seen, reward, terminated, truncated, info = env.step(masked_action(env))
        assert (reward, terminated, truncated) == (0.0, False, step == 3)
        assert (info["changed"], info["error"], info["num_steps"]) == (False, None, step)
        assert same(seen, observation)
        for key in before.keys() - {"step_name", "num_steps"}:
            assert same(info[key], before[key]), key


@every_environment
def test_stopping_terminates_at_the_horizon_too(name):
    if name == DECISIONS:
        # It stops with the last decision.
        env = make(name)
        env.reset()
        while not env.step(0)[2]:
            pass
        horizon = len(env.trajectory.passes)
        env = make(name, horizon=horizon)
        env.reset()
        ends = [env.step(0)[2:4] for _ in range(horizon)]
        assert ends == [(False, False)] * (horizon - 1) + [(True, False)]
        return
    for horizon in (1, 2):
        env = make(name, horizon=horizon)
        _, info = env.reset()
        _, _, terminated, truncated, info = env.step(len(info["action_mask"]) - 1)
        assert (terminated, truncated, info["step_name"]) == (True, False, "stop")


@every_environment
def test_the_horizon_truncates(name):
    env = make(name, horizon=1)
    env.reset()
    assert change(env)[2:4] == (False, True)
    with pytest.raises(gymnasium.error.ResetNeeded, match="has ended"):
        change(env)
    env.reset()
    assert change(env)[2:4] == (False, True)


@every_environment
def test_without_an_episode_there_is_nothing_to_step(name):
    with pytest.raises(gymnasium.error.ResetNeeded, match="no episode has begun"):
        make(name).step(0)


@every_environment
def test_actions_that_do_not_exist_are_named(name):
    env = make(name)
    _, info = env.reset()
    last = len(info["action_mask"]) - 1
    for bad in (-1, last + 1):
        with pytest.raises(ValueError, match=f"expected an action from 0 to {last}, got {bad}"):
            env.step(bad)
    with pytest.raises(TypeError):
        env.step(0.5)  # pyright: ignore[reportArgumentType]
    assert env.trajectory.passes == ()


def test_one_name_is_as_good_as_a_list_of_one():
    one = PassOrderingEnv(Module.from_text(TINY), actions="cse")
    assert [each.name for each in one.passes] == ["cse"]
    module = Module.from_text(TINY)
    assert module.rewrites("merge") == module.rewrites(["merge"])
    assert module.places("algebraic") == module.places(["algebraic"])


@every_environment
def test_wrong_settings_are_named(name):
    for wrong in ({"horizon": 0}, {"selection": "best"}, {"reward": "fun"}):
        with pytest.raises((ValueError, KeyError)):
            make(name, **wrong)
    with pytest.raises(TypeError, match="cost_analysis"):
        make(name, cost_analysis=True)


def failing_step(name: str) -> tuple[DecisionEnv, int]:
    """Returns an environment whose next action fails in XLA, and that action."""
    if name == ORDERING:
        env = make(name, DYNAMIC)
        env.reset()
        return env, hlograph.passes.index("dynamic_padder")
    env = make(name)
    env.reset()
    player: Any = env._current.player
    if name == REWRITE:
        # An exponential cannot be merged with its operand.
        assert player.state.offered[0].place == "merge(b, a)"
        player.state.offered[0] = dataclasses.replace(player.state.offered[0], other="p")
        return env, 0
    if name == TUNING:
        wrong = {"knob": "flags xla_no_such_flag", "value": "true"}
        player.state.offered[0] = player.state.offered[0]._replace(**wrong)
        return env, 0
    # The pair is offered once more, where it is gone.
    gone = player.state.pair
    env.step(1)
    player.walk.pair = player.state.pair = gone
    return env, 1


@every_environment
def test_a_step_that_fails_leaves_the_module_as_it_was(name):
    env, action = failing_step(name)
    before, text = env.module.fingerprint(), env.module.to_text()
    _, reward, terminated, truncated, info = env.step(action)
    assert info["error"]
    assert (reward, terminated, truncated, info["changed"]) == (0.0, False, False, False)
    assert info["fingerprint"] == before
    assert env.module.to_text() == text
    assert len(env.trajectory.passes) == len(env.trajectory.op_counts) == info["num_steps"]
    if name == DECISIONS:
        assert info["step_name"].startswith("keep ")
    else:
        assert info["action_mask"][action] == 0
        again = env.step(action)[-1]
        assert (again["error"], again["fingerprint"]) == (None, before)


@every_environment
def test_observations_do_not_share_their_arrays(name):
    env = make_with_mask(name)
    observation, _ = env.reset()
    original = env.fork()

    def spoil(value: Any) -> None:
        if isinstance(value, dict):
            value = value.values()
        if isinstance(value, np.ndarray):
            value.fill(0)
            return
        for part in value:
            spoil(part)

    expected, *_ = original.step(masked_action(original))
    spoil(observation)
    assert same(env.step(masked_action(env))[0], expected)


@every_environment
def test_a_fork_draws_actions_of_its_own(name):
    env = make(name)
    env.reset(seed=0)
    env.action_space.seed(7)
    fork = env.fork()
    drawn = [fork.action_space.sample() for _ in range(20)]
    assert drawn == [env.action_space.sample() for _ in range(20)]


@every_environment
def test_a_fork_goes_on_as_its_origin_does(name):
    env = make(name)
    env.reset(seed=0)
    change(env)
    fork = env.fork()
    first, second = env.step(0), fork.step(0)
    assert same(first, second)
    assert fork.trajectory == env.trajectory


@every_environment
def test_an_episode_is_replayed(name):
    env = make(name)
    env.reset(seed=0)
    change(env)
    trajectory = envs.Trajectory.from_json(env.trajectory.to_json())
    other = make(name)
    _, info = other.replay(trajectory)
    assert info["fingerprint"] == trajectory.fingerprint == env.module.fingerprint()
    assert other.trajectory == trajectory


@every_environment
def test_the_module_of_an_episode_can_be_validated(name):
    env = make(name)
    env.reset(seed=0)
    change(env)
    if name == TUNING:
        with pytest.raises(NotComparableError, match=r"hlograph\.optimize\(function, plan="):
            env.validate()
    else:
        assert env.validate(samples=1)


@every_environment
def test_costs_of_custom_calls_which_xla_does_not_know(name):
    env = make(name, CUSTOM_CALL, reward="shaped")
    _, info = env.reset()
    assert info["flops"] == -1
    assert info["cost_changes"] == (0, 0)
    assert env.step(env.action_space.n - 1)[1] == 0  # pyright: ignore[reportAttributeAccessIssue]


def test_import_does_not_read_the_extension():
    program = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        "import envs\n"
        "print([path for path in opened if 'hlograph/_' in path and path.endswith('.so')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
