"""Tests of Memory in episodes: they are the same with it, bit by bit, and XLA is called less."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import hlograph
from envs import Memory, PassOrderingEnv
from hlograph import Module, corpus
from hlograph.decisions.process import State
from hlograph.isolation import FlightRecorder
from tests.envs.conftest import DYNAMIC, PassCounter
from tests.tiny_module import COUNTED_LOOP, TINY

NUM_PASSES = len(hlograph.passes)


def _env(
    source: corpus.Benchmark | Module,
    memory: Memory | None,
    recorder: FlightRecorder | None = None,
    **settings: object,
) -> PassOrderingEnv:
    return PassOrderingEnv(source, memory=memory, recorder=recorder, **settings)  # pyright: ignore[reportArgumentType]


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
def test_episodes_are_the_same_with_and_without(small_benchmarks, costs, tmp_path):
    memory = Memory(tmp_path / "known")
    for number, benchmark in enumerate(small_benchmarks[::2]):
        known = _env(benchmark, memory, costs=costs)
        plain = _env(benchmark, None, costs=costs)
        for actions in _walks(number):
            assert _play(known, actions) == _play(plain, actions), benchmark.name


def test_a_table_that_forgets_changes_nothing(small_benchmarks):
    memory = Memory(step_bytes=100_000)
    known, plain = _env(small_benchmarks[0], memory), _env(small_benchmarks[0], None)
    for seed in range(3):
        for actions in _walks(seed):
            assert _play(known, actions) == _play(plain, actions)
            assert memory._used["states"] * 1_600 + memory._used["graph bytes"] <= 100_000


@pytest.mark.parametrize("text", [DYNAMIC, COUNTED_LOOP])
def test_failures_and_reports_of_no_change_are_as_without(text):
    """A pass fails on one module, another reports a change of the other each time."""
    module = Module.from_text(text)
    actions = [hlograph.passes.index("dynamic_padder")]
    actions += [hlograph.passes.index("while-loop-trip-count-annotator")] * 2
    actions += [hlograph.passes.index("algsimp"), hlograph.passes.index("dce")]
    known, plain = _env(module, Memory()), _env(module, None)
    for _ in range(3):
        assert _play(known, actions) == _play(plain, actions)


def test_known_steps_are_not_made_again(small_benchmarks):
    memory, counter = Memory(), PassCounter()
    env = _env(small_benchmarks[0], memory, counter)
    actions = _walks(0)[0]
    for expected in (True, False):
        env.reset(seed=0)
        begun = counter.begun
        infos = [env.step(action)[4] for action in actions]
        assert (counter.begun > begun) == expected
        assert any(info["changed"] for info in infos)


def test_the_module_follows_when_it_is_asked_for():
    counter = PassCounter()
    env = _env(Module.from_text(TINY), Memory(), counter)
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
    env = _env(Module.from_text(TINY), Memory(), counter, timings=True)
    env.reset(seed=0)
    env.step(hlograph.passes.index("call-inliner"))
    env.reset(seed=0)
    assert env.step(hlograph.passes.index("call-inliner"))[4]["step_time"] == 0
    assert counter.begun == 1
    info = env.step(hlograph.passes.index("cse"))[4]
    assert counter.begun == 3
    assert info["step_time"] > 0


def test_forks_in_the_middle_of_an_episode_are_as_without(small_benchmarks):
    known, plain = (_env(small_benchmarks[0], steps) for steps in (Memory(), None))
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
    env = _env(Module.from_text(TINY), Memory(), counter)
    env.reset(seed=0)
    env.step(hlograph.passes.index("call-inliner"))
    env.replay(env.trajectory)
    assert counter.begun == 2


def test_without_memory_every_step_is_made(tiny):
    counter = PassCounter()
    env = _env(tiny, None, counter)
    for _ in range(2):
        env.reset(seed=0)
        env.step(hlograph.passes.index("call-inliner"))
    assert counter.begun == 2


def test_the_steps_of_a_module_go_with_it():
    memory, counter = Memory(), PassCounter()
    for _ in range(2):
        env = _env(Module.from_text(TINY), memory, counter)
        env.reset(seed=0)
        env.step(hlograph.passes.index("call-inliner"))
        assert len(memory._starts) == 1
        del env
        gc.collect()
        assert len(memory._starts) == 0
    assert counter.begun == 2


def test_steps_are_remembered_by_key_and_no_ops_by_fingerprint(tiny):
    counter = PassCounter()
    env = _env(tiny, Memory(), counter)
    pad, inline = (hlograph.passes.index(name) for name in ("dynamic_padder", "call-inliner"))

    def calls(action: int) -> int:
        begun = counter.begun
        env.step(action)
        return counter.begun - begun

    ends, shown, no_ops, steps = [], [], [], []
    for names in (("cse", "dce"), ("dce", "cse"), ("dce", "cse")):
        info = env.reset()[1]
        for name in names:
            info = env.step(hlograph.passes.index(name))[4]
        assert env._current.player.state.path() == names
        ends.append(info["fingerprint"])
        shown.append(int(info["action_mask"][pad]))
        no_ops.append(calls(pad))
        steps.append(calls(inline))
    assert len(set(ends)) == 1
    # A no-op is shown, and not run again, on another way to the fingerprint.
    assert shown == no_ops == [1, 0, 0]
    # A step is made on each way, and once.
    assert steps == [1, 1, 0]


def test_no_ops_of_other_memories_are_not_shown(tiny):
    """Nor are they run again: what saves time does not show."""
    memory, counter = Memory(), PassCounter()
    pad = hlograph.passes.index("dynamic_padder")
    for calls in (1, 1):
        env = _env(tiny, memory, counter, horizon=1)
        assert env.reset()[1]["action_mask"][pad] == 1
        assert env.step(pad)[4]["action_mask"][pad] == 0
        assert counter.begun == calls


def test_only_exact_sizes_are_remembered(tiny):
    env = _env(tiny, Memory(), timings=True)
    inline = hlograph.passes.index("call-inliner")
    env.reset()
    first = env.step(inline)[4]
    state = env._current.player.state
    assert state is env._current.player.first.after["call-inliner"]
    # It has no place for a measurement.
    assert set(State.__slots__) == {"action", "after", "cost", "graph", "parent", "snapshot"}
    assert state.snapshot.op_count == env.module.op_count == first["op_count"]
    assert state.cost == env.module.cost()
    assert first["step_time"] > 0
    env.reset()
    again = env.step(inline)[4]
    assert env._current.player.state is state
    assert again["op_count"] == first["op_count"]
    assert again["step_time"] == 0


def test_known_no_ops_are_not_run_again(small_benchmarks):
    actions, counts = np.random.default_rng(0).integers(NUM_PASSES, size=80), []
    memory = Memory()
    for used in (memory, memory, None):
        # Another object is another module, whose steps are not known.
        module, counter = Module.from_proto(small_benchmarks[0].load().to_proto()), PassCounter()
        env = _env(module, used, counter, horizon=80)
        env.reset()
        changes = sum(env.step(action)[4]["changed"] for action in actions)
        counts.append(counter.begun)
    first, again, every = counts
    assert every == first
    assert changes <= again < first / 2


def test_a_pass_that_fails_is_run_again_for_its_message():
    memory = Memory()
    padder = hlograph.passes.index("dynamic_padder")
    for _ in range(2):
        env = _env(Module.from_text(DYNAMIC), memory, horizon=1)
        env.reset()
        assert env.step(padder)[4]["error"]


def test_a_change_that_leaves_the_fingerprint_is_run_again():
    text, annotate = Module.from_text(COUNTED_LOOP), "while-loop-trip-count-annotator"
    memory, counter = Memory(), PassCounter()
    for _ in range(2):
        module = text.clone()
        module.run(hlograph.passes[annotate])
        assert module.clone().run(hlograph.passes[annotate])  # it says so each time
        env = _env(module, memory, counter, horizon=1)
        env.reset()
        assert not env.step(hlograph.passes.index(annotate))[4]["changed"]
    assert counter.begun == 2


def test_modules_for_other_numbers_of_devices_are_other_states():
    memory, counter = Memory(), PassCounter()
    dce = hlograph.passes.index("dce")
    for attribute in ("", ", replica_count=2", ", num_partitions=2", ""):
        text = DYNAMIC.replace("dynamic", f"dynamic{attribute}")
        env = _env(Module.from_text(text), memory, counter, horizon=1)
        env.reset()
        assert not env.step(dce)[4]["changed"]
    assert counter.begun == 3


def test_forgetting_masks_forgets_no_known_no_ops(tiny):
    counter = PassCounter()
    env = _env(tiny, Memory(), counter)
    pad = hlograph.passes.index("dynamic_padder")
    for _ in range(3):
        assert env.reset(seed=1)[1]["action_mask"][pad] == 1
        assert env.step(pad)[4]["action_mask"][pad] == 0
    assert counter.begun == 1


def test_a_subset_of_the_passes_shares_what_is_known(tiny):
    memory, counter = Memory(), PassCounter()
    for actions in (None, ["dce", "dynamic_padder"], ["dynamic_padder"]):
        env = _env(tiny, memory, counter, actions=actions, horizon=1)
        env.reset()
        env.step([entry.name for entry in env.passes].index("dynamic_padder"))
    assert counter.begun == 1
