"""Tests of RewriteEnv with rules for time: their choice, preparation, predictions and rewards."""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import hlograph
from envs import PassOrderingEnv, RewriteEnv, Trajectory
from hlograph import Module, UnknownNameError
from hlograph.decisions.rewrites import CANDIDATE_FEATURES, PREDICTED_FEATURE, chosen
from hlograph.plans import Program


def module_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Module:
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return Program.of(jax.jit(function).lower(*arguments)).module()


def depthwise(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(
        x,
        kernel,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=32,
    )


def smallest(x: jax.Array) -> jax.Array:
    return jnp.sort(x)[:, :10]  # a call of a function of jax.numpy, with a sort in it


PROGRAMS = {
    "depthwise-as-products": lambda: module_of(depthwise, (2, 28, 28, 32), (3, 3, 1, 32)),
    "sort-prefix-as-top-k": lambda: module_of(smallest, (8, 1024)),
}


def make(module: Module, **settings: Any) -> RewriteEnv:
    settings = {"rules": "for-time", "reward": "predicted-seconds-drop", "costs": False} | settings
    env = gymnasium.make("hlograph/Rewrite-v0", benchmarks=[module], **settings).unwrapped
    assert isinstance(env, RewriteEnv)
    return env


def take(env: RewriteEnv, rule: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    return env.step([candidate.rule for candidate in env.candidates].index(rule))


@pytest.mark.parametrize("rule", PROGRAMS)
def test_an_episode_with_the_rule_lowers_the_predicted_seconds(rule):
    env = make(PROGRAMS[rule]())
    env.reset(seed=0)
    start = env.module.seconds()
    rewrite = next(one for one in env.candidates if one.rule == rule)
    _, reward, *_ = take(env, rule)
    assert env.module.seconds() < start
    assert reward == pytest.approx(100 * (start - env.module.seconds()) / start)
    assert reward == pytest.approx(-100 * rewrite.seconds / start)
    assert env.step(env.action_space.n - 1)[1] == 0  # pyright: ignore[reportAttributeAccessIssue]
    assert env.validate(samples=1)


def test_an_episode_is_the_same_again():
    module = PROGRAMS["sort-prefix-as-top-k"]()
    rules = ["for-time", "general"]
    first, second = (make(module, rules=rules, predict=True) for _ in range(2))
    for env in (first, second):
        env.reset(seed=0)
    for _ in range(4):
        assert first.candidates == second.candidates
        action = len(first.candidates) - 1
        assert data_equivalence(first.step(action), second.step(action))
    again = make(module, rules=rules)
    again.replay(Trajectory.from_json(first.trajectory.to_json()))
    assert again.trajectory == first.trajectory


def test_rules_are_chosen_by_groups_patterns_and_names(tiny):
    def names(rules: Any) -> list[str]:
        return [rule.name for rule in RewriteEnv(tiny, rules=rules).rules]

    every = hlograph.rules
    assert names("for-time") == [rule.name for rule in every.for_time]
    assert names(None) == names("general") == [rule.name for rule in every.general]
    assert names("sort-*") == [name for name in every.names if name.startswith("sort-")]
    assert names(["merge", "merge*", every["algebraic"]])[0] == "merge"
    both = names(["merge*", "general"])
    assert sorted(both) == sorted(names("general"))
    with pytest.raises(UnknownNameError, match="merj"):
        names("merj*")


def test_calls_are_inlined_first_where_a_rule_is_for_time():
    rule = "sort-prefix-as-top-k"
    module = PROGRAMS[rule]()
    assert " call(" in module.to_text()
    env = make(module)
    env.reset()
    assert " call(" not in env.module.to_text()
    plain = make(module, prepare=())
    plain.reset()
    assert rule not in {candidate.rule for candidate in plain.candidates}
    general = make(module, rules="general")
    _, info = general.reset()
    assert info["fingerprint"] == module.fingerprint()
    with pytest.raises(UnknownNameError):
        make(module, prepare=["call-inlinr"])


def test_candidates_have_predictions_on_request():
    env = make(PROGRAMS["sort-prefix-as-top-k"](), predict=True)
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    (*_, column) = observation["candidates"][: len(env.candidates)].T
    nanoseconds = np.array([candidate.seconds * 1e9 for candidate in env.candidates])
    expected = np.sign(nanoseconds) * np.log2(1 + np.abs(nanoseconds)) / 16
    np.testing.assert_allclose(column, expected, rtol=1e-6)
    assert observation["candidates"].shape[1] == len(CANDIDATE_FEATURES) + 1
    assert PREDICTED_FEATURE not in CANDIDATE_FEATURES


def test_those_that_save_most_are_offered_where_there_are_too_many():
    module = PROGRAMS["sort-prefix-as-top-k"]()
    module.run("call-inliner")
    found = module.rewrites(hlograph.rules.for_time)
    best = min(found, key=lambda rewrite: rewrite.seconds)
    assert chosen(found, 1, predict=True) == [best]
    assert chosen(found, 1) != [best]


def test_passes_are_rewarded_by_predicted_seconds_too(tiny):
    env = PassOrderingEnv(tiny, reward="predicted-seconds-drop")
    env.reset()
    start = env.module.seconds()
    _, reward, *_ = env.step(hlograph.passes.index("cse"))
    assert reward == pytest.approx(100 * (start - env.module.seconds()) / start)
