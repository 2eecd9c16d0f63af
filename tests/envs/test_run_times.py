"""Tests of rewards of measured run time."""

import copy
import math
import pickle
import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from envs import PassDecisionsEnv, PassOrderingEnv, RewriteEnv, RunTimes, run_times
from envs.rewards import ModuleState, RunTimeDrop
from envs.run_times import Start
from hlograph import Module, passes
from hlograph.errors import HloError, NotExecutableError
from hlograph.execution.equivalence import Limits
from hlograph.isolation import Quarantine
from hlograph.isolation.pass_call import RUN
from tests.hlograph.transforms.test_fusion_rules import DIAMOND

# Two square matrices for one column: multiplied from the right it is a hundredth of the flops.
CHAIN = """HloModule chain
ENTRY e {
  a = f32[300,300] parameter(0)
  b = f32[300,300] parameter(1)
  c = f32[300,1] parameter(2)
  ab = f32[300,300] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  abc = f32[300,1] dot(ab, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  left = f32[300,1] exponential(abc)
  right = f32[300,1] exponential(abc)
  ROOT sum = f32[300,1] add(left, right)
}
"""
MERGED, TURNED = "merge(right, left)", "reassociate-dots:right(abc)"
SMOOTH = "HloModule s\nENTRY e {\n x = f32[64] parameter(0)\n ROOT y = f32[64] logistic(x)\n}"
NOWHERE = """HloModule n
ENTRY e {
  x = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(x), custom_call_target="nowhere"
}
"""


@pytest.fixture
def times() -> RunTimes:
    """Quick and rough, which is enough for differences by factors."""
    return RunTimes(pairs=3, sample_seconds=0.002)


@pytest.fixture
def timed(monkeypatch) -> list[int]:
    """Grows by one whenever two executables are run in turn."""
    calls: list[int] = []
    real = run_times.time_in_turn
    monkeypatch.setattr(run_times, "time_in_turn", lambda *a, **k: calls.append(1) or real(*a, **k))
    return calls


@pytest.fixture
def chain() -> Module:
    return Module.from_text(CHAIN)


def play(env: RewriteEnv, places: list[str]) -> tuple[list[float], list[float | None]]:
    """Applies rewrites and stops; rewards of the steps, and run times from the start on."""
    info = env.reset()[1]
    rewards, ratios = [], [info["run_time"]]
    for place in [*places, "stop"]:
        offered = [candidate.place for candidate in env.candidates]
        action = 64 if place == "stop" else offered.index(place)
        _, reward, _, _, info = env.step(action)
        assert info["run_time_error"] is None
        rewards.append(reward)
        ratios.append(info["run_time"])
    return rewards, ratios


def test_rewards_of_run_time_are_drops_and_sum_to_the_total_drop(chain, times):
    env = RewriteEnv(chain, reward="run-time", costs=False, run_times=times)
    rewards, ratios = play(env, [MERGED, TURNED])
    assert ratios[0] == 1
    assert ratios[2] == ratios[3] < 0.5
    assert sum(rewards) == pytest.approx(100 * (1 - ratios[2]))
    assert rewards[1] == pytest.approx(100 * (ratios[1] - ratios[2]))
    assert rewards[2] == 0


def test_a_state_is_measured_once_on_all_paths_to_it(chain, times, timed):
    env = RewriteEnv(chain, reward="run-time", costs=False, run_times=times)
    first, _ = play(env, [MERGED, TURNED])
    assert len(timed) == len(times) == 2
    other = RewriteEnv(chain, reward="run-time", costs=False, run_times=times)
    assert play(other, [MERGED, TURNED])[0] == first
    assert len(timed) == 2
    # The other order passes through another state and ends in the same.
    assert sum(play(other, [TURNED, MERGED])[0]) == pytest.approx(sum(first))
    assert len(timed) == len(times) == 3


def test_a_forgotten_state_is_measured_again(chain, timed):
    times = RunTimes(pairs=1, sample_seconds=0, max_states=1, max_starts=1)
    env = RewriteEnv(chain, reward="run-time", costs=False, run_times=times)
    for _ in range(2):
        play(env, [MERGED, TURNED])
    assert len(timed) == 4
    assert len(times) == 1


def test_with_final_run_time_only_the_last_state_is_timed(chain, times, timed):
    env = RewriteEnv(chain, reward="final-run-time", costs=False, run_times=times)
    rewards, ratios = play(env, [MERGED, TURNED])
    assert (rewards[:2], ratios[:3]) == ([0, 0], [1, None, None])
    assert ratios[3] is not None
    assert rewards[2] == pytest.approx(100 * (1 - ratios[3]))
    assert len(timed) == 1
    assert play(env, []) == ([0], [1, 1])
    assert len(timed) == 1


def test_the_horizon_terminates_with_final_run_time(chain, times):
    env = RewriteEnv(chain, rules=["merge"], reward="final-run-time", horizon=1, run_times=times)
    env.reset()
    _, reward, terminated, truncated, info = env.step(0)
    assert (terminated, truncated) == (True, False)
    assert reward == pytest.approx(100 * (1 - info["run_time"]))
    env = RewriteEnv(chain, rules=["merge"], reward="run-time", horizon=1, run_times=times)
    env.reset()
    assert env.step(0)[2:4] == (False, True)


def test_a_fork_shares_measurements(chain, times, timed):
    env = RewriteEnv(chain, reward="run-time", costs=False, run_times=times)
    play(env, [MERGED])
    env.reset()
    fork = env.fork()
    places = [candidate.place for candidate in fork.candidates]
    fork.step(places.index(MERGED))
    assert len(timed) == 1


def test_a_benchmark_that_does_not_run_is_refused_by_reset(times):
    env = RewriteEnv([Module.from_text(NOWHERE)], reward="run-time", run_times=times)
    with pytest.raises(NotExecutableError, match=r"cannot be run here.*nowhere"):
        env.reset()
    RewriteEnv([Module.from_text(NOWHERE)], reward="cost-drop").reset()


def test_a_state_that_does_not_run_counts_as_twice_the_time():
    few = RunTimes(limits=Limits(compiled_ops=3), pairs=1)
    module = Module.from_text(SMOOTH)
    env = RewriteEnv(module, rules=["logistic-expander"], reward="run-time", run_times=few)
    env.reset()
    _, reward, _, _, info = env.step(0)
    assert info["op_count"] > 3
    assert math.isinf(info["run_time"])
    assert "instructions" in info["run_time_error"]
    assert reward == -100
    assert RunTimeDrop(unable=3)(*_states(1, 1, math.inf)) == -200


def test_a_state_that_ended_a_process_is_not_run_again(chain, times, timed):
    merged = chain.clone()
    merged.apply(MERGED)
    pair = (merged.fingerprint(), RUN)
    env = PassOrderingEnv(
        chain, reward="run-time", run_times=times, quarantine=Quarantine([pair]), actions=["cse"]
    )
    env.reset()
    *_, info = env.step(0)
    assert info["fingerprint"] == pair[0]
    assert info["run_time_error"] == "compiling or running it ended a process before"
    assert not timed
    start = (chain.fingerprint(), RUN)
    env = PassOrderingEnv(chain, reward="run-time", quarantine=Quarantine([start]))
    with pytest.raises(NotExecutableError, match="ended a process before"):
        env.reset()


def test_all_environments_can_be_paid_for_run_time(chain, times):
    env = PassOrderingEnv(chain, reward="run-time", run_times=times, costs=False)
    env.reset()
    _, reward, _, _, info = env.step(passes["cse"].index)
    assert reward == pytest.approx(100 * (1 - info["run_time"]))
    known = gymnasium.make(
        "hlograph/PassOrdering-v0",
        benchmarks=[chain],
        reward="run-time",
        run_times=times,
        actions=["cse"],
        render_mode="ansi",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(known.unwrapped)


@pytest.mark.parametrize("reward", ["run-time", "final-run-time"])
def test_run_times_of_fusions_are_in_units_of_the_code_without_any(reward, times):
    env = PassDecisionsEnv(Module.from_text(DIAMOND), reward=reward, run_times=times, costs=False)
    env.reset()
    total, ended = 0.0, False
    while not ended:
        _, paid, ended, _, info = env.step(1)
        total += paid
    assert info["run_time"] > 0
    assert info["run_time_error"] is None
    assert total == pytest.approx(100 * (1 - info["run_time"]))


def test_untimed_states_are_paid_nothing():
    drop = RunTimeDrop()
    assert drop(*_states(1, 0.5, math.nan)) == 0
    assert drop(*_states(1, math.nan, 0.75)) == 25
    assert drop(*_states(1, 0.5, 0.75)) == -25


def _states(*run_times: float) -> list[ModuleState]:
    return [ModuleState(5, run_time=seconds) for seconds in run_times]


def test_a_pickled_table_keeps_its_settings_only(chain, times):
    times.of(Start(chain, chain), Module.from_text(CHAIN.replace("exponential", "tanh")))
    assert len(times) == 1
    there = pickle.loads(pickle.dumps(times))
    assert len(there) == 0
    assert there.__reduce__()[0].keywords == times.__reduce__()[0].keywords
    assert copy.deepcopy(times) is times


def test_wrong_settings_and_modules_are_refused(chain, times):
    with pytest.raises(ValueError, match="at least 1"):
        RunTimes(pairs=0)
    other = Module.from_text(SMOOTH)
    assert times.of(Start(chain, chain), other).error is not None
    with pytest.raises(HloError, match="nowhere"):
        times.check(Start(Module.from_text(NOWHERE), chain))
