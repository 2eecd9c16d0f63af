"""Tests of the validation of episodes."""

import gymnasium
import pytest

import hlograph
from envs import PassOrderingEnv
from envs.validation import validate
from hlograph import Module
from hlograph.execution.equivalence import Limits, NotComparableError


def test_before_reset_there_is_nothing_to_validate(tiny):
    with pytest.raises(gymnasium.error.ResetNeeded):
        PassOrderingEnv([tiny]).validate()


def test_an_episode_computes_the_same(tiny):
    env = PassOrderingEnv([tiny])
    env.reset(seed=0)
    for name in ("dce", "call-inliner", "cse"):
        env.step(hlograph.passes.index(name))
    result = env.validate(samples=1)
    assert result
    assert result.verifier_error is None
    assert result.equivalence is not None
    assert result.equivalence.verdict == "equal"
    assert result.equivalence.samples == 1
    assert env.module.op_count == 4


def test_the_start_is_the_module_that_the_episode_began_with(tiny):
    other = Module.from_text(tiny.to_text().replace("exponential(p)", "negate(p)"))
    result = validate(other, tiny, samples=1)
    assert not result
    assert result.equivalence is not None
    assert result.equivalence.verdict == "different"
    assert "output 0" in str(result)


INVALID = """HloModule broken
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[5] negate(x)
}"""


def test_a_module_that_the_verifier_rejects_is_not_run(tiny):
    result = validate(tiny, Module.from_text(INVALID))
    assert not result
    assert result.equivalence is None
    assert result.verifier_error is not None
    assert "verifier" in str(result)


def test_modules_that_cannot_be_compared_are_neither_valid_nor_invalid(tiny):
    env = PassOrderingEnv([tiny])
    env.reset(seed=0)
    env.step(hlograph.passes.index("dce"))
    result = env.validate(limits=Limits(memory=1))
    with pytest.raises(NotComparableError, match="limit of 1"):
        bool(result)


def test_a_fork_validates_against_the_same_start(tiny):
    env = PassOrderingEnv([tiny])
    env.reset(seed=0)
    env.step(hlograph.passes.index("dce"))
    assert env.fork().validate(samples=1).equivalence == env.validate(samples=1).equivalence


def test_exact_passes_are_an_action_space(tiny):
    env = PassOrderingEnv([tiny], actions=hlograph.passes.exact, horizon=100)
    assert {"dce", "cse", "call-inliner"} <= {entry.name for entry in env.passes}
    assert "algsimp" not in {entry.name for entry in env.passes}
    env.reset(seed=0)
    for action in range(len(env.passes)):
        env.step(action)
    assert env.module.op_count < tiny.op_count
    result = env.validate(samples=1)
    assert result.equivalence is not None
    assert result.equivalence.verdict == "equal"
