"""Tests of KnownSteps: known steps are not made again, and episodes stay the same, bit by bit."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import hlograph
from envs import KnownNoOps, KnownSteps, PassOrderingEnv
from hlograph import Module, corpus
from hlograph.isolation import FlightRecorder
from tests.envs.conftest import DYNAMIC, PassCounter
from tests.tiny_module import COUNTED_LOOP, TINY

NUM_PASSES = len(hlograph.passes)


def _env(
    source: corpus.Benchmark | Module,
    steps: KnownSteps | None,
    recorder: FlightRecorder | None = None,
    **settings: object,
) -> PassOrderingEnv:
    return PassOrderingEnv(
        source,
        known=KnownNoOps(max_bytes=1 << 16),
        known_steps=steps,
        recorder=recorder,
        **settings,  # pyright: ignore[reportArgumentType]
    )


def _bits(observation: object) -> list[bytes]:
    """Returns the arrays of an observation of the graph, in the order of their memory."""
    assert isinstance(observation, dict)
    graph = observation["graph"]
    arrays = [*graph, observation["op_counts"], observation["action_mask"]]
    return [array.tobytes() + str((array.shape, array.dtype)).encode() for array in arrays]


def _play(env: PassOrderingEnv, actions: list[int], seed: int | None = 0) -> list[object]:
    """Returns all that an episode shows, and its module's graph at the end."""
    observation, info = env.reset(seed=seed)
    seen: list[object] = []
    for action in [None, *actions]:
        reward = 0.0
        if action is not None:
            observation, reward, *_, info = env.step(action)
        info["action_mask"] = info["action_mask"].tolist()
        seen.append((_bits(observation), reward, info))
    seen += [env.trajectory, env.module.fingerprint(cached=False)]
    return [*seen, *(array.tobytes() for array in env.module.features())]


def _walks(seed: int, count: int = 4, length: int = 30) -> list[list[int]]:
    """Returns actions of episodes that share their beginnings, as those of a policy do."""
    rng = np.random.default_rng(seed)
    first = rng.integers(NUM_PASSES, size=length).tolist()
    walks = [first]
    for _ in range(count - 1):
        shared = int(rng.integers(length))
        walks.append(first[:shared] + rng.integers(NUM_PASSES, size=length - shared).tolist())
    return [*walks, first]


@pytest.mark.parametrize("costs", [False, True])
def test_episodes_are_the_same_with_and_without(small_benchmarks, costs):
    steps = KnownSteps()
    for number, benchmark in enumerate(small_benchmarks[::2]):
        known = _env(benchmark, steps, costs=costs)
        plain = _env(benchmark, None, costs=costs)
        for actions in _walks(number):
            assert _play(known, actions) == _play(plain, actions), benchmark.name


def test_a_table_that_forgets_changes_nothing(small_benchmarks):
    steps = KnownSteps(max_bytes=100_000)
    known, plain = _env(small_benchmarks[0], steps), _env(small_benchmarks[0], None)
    for seed in range(3):
        for actions in _walks(seed):
            assert _play(known, actions) == _play(plain, actions)
            assert steps.size <= steps.max_bytes


@pytest.mark.parametrize("text", [DYNAMIC, COUNTED_LOOP])
def test_failures_and_reports_of_no_change_are_as_without(text):
    """A pass fails on one module, another reports a change of the other each time."""
    module = Module.from_text(text)
    actions = [hlograph.passes.index("dynamic_padder")]
    actions += [hlograph.passes.index("while-loop-trip-count-annotator")] * 2
    actions += [hlograph.passes.index("algsimp"), hlograph.passes.index("dce")]
    known, plain = _env(module, KnownSteps()), _env(module, None)
    for _ in range(3):
        assert _play(known, actions) == _play(plain, actions)


def test_known_steps_are_not_made_again(small_benchmarks):
    steps, counter = KnownSteps(), PassCounter()
    env = _env(small_benchmarks[0], steps, counter)
    actions = _walks(0)[0]
    for expected in (True, False):
        env.reset(seed=0)
        begun = counter.begun
        infos = [env.step(action)[4] for action in actions]
        assert (counter.begun > begun) == expected
        assert any(info["changed"] for info in infos)


def test_the_module_follows_when_it_is_asked_for():
    counter = PassCounter()
    env = _env(Module.from_text(TINY), KnownSteps(), counter)
    for expected in (0, 2):
        env.reset(seed=0)
        begun = counter.begun
        for name in ("call-inliner", "cse"):
            info = env.step(hlograph.passes.index(name))[4]
        assert counter.begun - begun == 2 - expected
        assert env.module.op_count == info["op_count"] == 4
        assert env.module.fingerprint(cached=False) == info["fingerprint"]
        assert counter.begun - begun == 2
        assert env.module.op_count == 4
        assert counter.begun - begun == 2


def test_a_new_pass_runs_after_the_known_ones_that_it_needs():
    counter = PassCounter()
    env = _env(Module.from_text(TINY), KnownSteps(), counter, timings=True)
    env.reset(seed=0)
    env.step(hlograph.passes.index("call-inliner"))
    env.reset(seed=0)
    assert env.step(hlograph.passes.index("call-inliner"))[4]["step_time"] == 0
    assert counter.begun == 1
    info = env.step(hlograph.passes.index("cse"))[4]
    assert counter.begun == 3
    assert info["step_time"] > 0


def test_forks_in_the_middle_of_an_episode_are_as_without(small_benchmarks):
    known, plain = (_env(small_benchmarks[0], steps) for steps in (KnownSteps(), None))
    first, second = _walks(1, count=2)[:2]
    _play(known, first)
    ends = []
    for env in (known, plain):
        env.reset(seed=0)
        for action in first[:10]:
            env.step(action)
        fork = env.fork()
        ends.append([])
        for one, actions in ((fork, second), (env, first)):
            for action in actions[10:20]:
                observation, reward, _, _, info = one.step(action)
                ends[-1].append((_bits(observation), reward, info["fingerprint"]))
            ends[-1].append([array.tobytes() for array in one.module.features()])
    assert ends[0] == ends[1]


def test_a_replay_makes_the_steps():
    counter = PassCounter()
    env = _env(Module.from_text(TINY), KnownSteps(), counter)
    env.reset(seed=0)
    env.step(hlograph.passes.index("call-inliner"))
    env.replay(env.trajectory)
    assert counter.begun == 2


def test_without_known_no_ops_every_step_is_made(tiny):
    counter = PassCounter()
    env = PassOrderingEnv(tiny, known=None, known_steps=KnownSteps(), recorder=counter)
    for _ in range(2):
        env.reset(seed=0)
        env.step(hlograph.passes.index("call-inliner"))
    assert counter.begun == 2


def test_the_steps_of_a_module_go_with_it():
    steps, counter = KnownSteps(), PassCounter()
    for _ in range(2):
        env = _env(Module.from_text(TINY), steps, counter)
        env.reset(seed=0)
        env.step(hlograph.passes.index("call-inliner"))
        assert len(steps) == 1
        del env
        gc.collect()
        assert len(steps) == 0
    assert counter.begun == 2


def test_copies_are_the_table_itself():
    steps = KnownSteps(1 << 20)
    assert copy.deepcopy(steps) is steps
    assert pickle.loads(pickle.dumps(steps)).max_bytes == 1 << 20


def test_too_small_a_table_is_named():
    with pytest.raises(ValueError, match="bytes for known steps, got 100"):
        KnownSteps(100)
