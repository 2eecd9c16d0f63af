"""Tests of RewriteEnv."""

import gymnasium
import numpy as np
import pytest

import hlograph
from envs import RewriteEnv, Trajectory
from hlograph import Module, UnknownNameError
from hlograph.decisions.rewrites import CANDIDATE_FEATURES, ROLES, feature_names
from hlograph.isolation import FlightRecorder, PassCall, Quarantine
from hlograph.isolation.pass_call import listing
from hlograph.transforms.sweeping import Sweep

TWO_ZEROS = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[4] broadcast(zero), dimensions={}
  left = f32[4] add(x, zeros)
  right = f32[4] exponential(left)
  again = f32[4] exponential(left)
  ROOT r = (f32[4], f32[4]) tuple(right, again)
}
"""
STOP = 64


@pytest.fixture
def two_zeros() -> Module:
    return Module.from_text(TWO_ZEROS)


@pytest.fixture
def env(two_zeros) -> RewriteEnv:
    return RewriteEnv(two_zeros, horizon=5)


def action(env: RewriteEnv, place: str) -> int:
    return [candidate.place for candidate in env.candidates].index(place)


def at_random(env: RewriteEnv, name: str, steps: int) -> None:
    """Plays rewrites drawn from a fixed seed, as long as any are offered."""
    random = np.random.default_rng(0)
    _, info = env.reset(options={"benchmark": name})
    for _ in range(steps):
        (offered,) = np.nonzero(info["action_mask"][:-1])
        if not len(offered):
            return
        *_, info = env.step(int(random.choice(offered)))


def test_an_episode_by_hand(env):
    _, info = env.reset(seed=0)
    assert (info["op_count"], info["start_op_count"]) == (7, 7)
    assert (info["step_name"], info["changed"], info["error"]) == (None, False, None)
    assert info["num_applicable"] == len(env.candidates) == info["action_mask"][:-1].sum()
    assert info["action_mask"][STOP] == 1

    _, reward, terminated, truncated, info = env.step(action(env, "merge(again, right)"))
    assert reward == pytest.approx(100 / 7)
    assert (info["step_name"], info["changed"], info["op_count"]) == (
        "merge(again, right)",
        True,
        6,
    )
    assert not terminated
    assert not truncated
    assert "merge" not in {candidate.rule for candidate in env.candidates}

    _, reward, terminated, truncated, info = env.step(STOP)
    assert (reward, terminated, truncated, info["step_name"]) == (0, True, False, "stop")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(STOP)


def test_observations_link_candidates_to_the_nodes_that_they_touch(env):
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    names = env.module.graph().names()
    merge = action(env, "merge(again, right)")
    links = observation["candidate_links"]
    touched = {(names[node], ROLES[role]) for c, node, role in links if c == merge}
    (gone,) = env.candidates[merge].gone
    assert touched == {("again", "instruction"), ("right", "other"), (gone, "gone")}
    row = dict(zip(CANDIDATE_FEATURES, observation["candidates"][merge], strict=True))
    assert row["rule"] == hlograph.rules["merge"].index
    assert (row["log_added"], row["log_removed"]) == (0, 0.25)
    assert row["log_flops"] == 0  # exponentials are no flops
    assert row["log_bytes"] == pytest.approx(-np.log2(1 + 32) / 16)
    assert not observation["candidates"][len(env.candidates) :].any()


def test_rules_can_be_chosen(two_zeros):
    env = RewriteEnv(two_zeros, rules=["merge"])
    env.reset()
    assert {candidate.rule for candidate in env.candidates} == {"merge"}
    with pytest.raises(UnknownNameError, match="did you mean"):
        RewriteEnv(two_zeros, rules=["marge"])


def test_rules_take_turns_where_more_rewrites_apply_than_there_are_actions(small_benchmarks):
    names = [benchmark.name for benchmark in small_benchmarks]
    every = RewriteEnv(names, max_candidates=1000, costs=False)
    few = RewriteEnv(names, max_candidates=8, costs=False)
    cut = 0
    for name in names:
        for env in (every, few):
            _, info = env.reset(options={"benchmark": name})
        offered, found = few.candidates, every.candidates
        assert info["num_applicable"] == len(found)
        assert len(offered) == min(8, len(found))
        assert set(offered) <= set(found)
        rules_found = {candidate.rule for candidate in found}
        assert len({candidate.rule for candidate in offered}) == min(8, len(rules_found))
        best = min(candidate.op_count for candidate in found)
        assert min(candidate.op_count for candidate in offered) == best
        cut += len(found) > 8
    assert cut


def test_an_episode_is_replayed_from_its_trajectory_in_json(small_benchmarks):
    names = [benchmark.name for benchmark in small_benchmarks[:4]]
    env = RewriteEnv(names, costs=False)
    for name in names:
        at_random(env, name, 12)
        trajectory = env.trajectory
        assert len(trajectory.passes) > 0
        again = RewriteEnv(names, costs=False)
        _, info = again.replay(Trajectory.from_json(trajectory.to_json()))
        assert info["fingerprint"] == trajectory.fingerprint
        assert again.trajectory == trajectory


def test_the_module_of_an_episode_computes_the_same(small_benchmarks):
    names = [benchmark.name for benchmark in small_benchmarks[4:7]]
    env = RewriteEnv(names, horizon=100, costs=False)
    for name in names:
        at_random(env, name, 25)
        assert env.validate(samples=1), name


def test_a_fork_is_independent(env):
    env.reset()
    fork = env.fork()
    fork.step(action(fork, "merge(again, right)"))
    assert (fork.module.op_count, env.module.op_count) == (6, 7)
    assert "merge" in {candidate.rule for candidate in env.candidates}
    env.step(action(env, "algebraic(left)"))
    assert env.trajectory.passes == ("algebraic(left)",)
    assert fork.trajectory.passes == ("merge(again, right)",)


def test_cost_drop_is_the_drop_of_xlas_estimate(two_zeros):
    env = RewriteEnv(two_zeros, reward="cost-drop", costs=False, timings=True)
    _, info = env.reset()
    assert "flops" not in info
    start = two_zeros.cost()
    _, reward, *_, info = env.step(action(env, "merge(again, right)"))
    assert info["step_time"] > 0
    seconds = [
        c.flops / 3e10 + c.transcendentals / 1e9 + c.bytes_accessed / 1e10
        for c in (start, env.module.cost())
    ]
    assert reward == pytest.approx(100 * (seconds[0] - seconds[1]) / seconds[0])


def test_episodes_are_shown_as_a_table(tiny):
    env = RewriteEnv(tiny, render_mode="ansi")
    env.reset()
    env.step(0)
    place = env.trajectory.passes[0]
    assert place in (env.render() or "")


def offered(env: RewriteEnv) -> list[str]:
    env.reset()
    return [candidate.place for candidate in env.candidates]


def test_rewrites_in_quarantine_are_left_out_on_that_benchmark(two_zeros):
    every = offered(RewriteEnv(two_zeros, rules=["algebraic", "merge"]))
    (name,) = RewriteEnv(two_zeros).benchmarks
    place = "merge(again, right)"
    assert place in every

    def without(*names: str) -> list[str]:
        quarantine = Quarantine((name, one) for one in names)
        return offered(RewriteEnv(two_zeros, rules=["algebraic", "merge"], quarantine=quarantine))

    assert without(place) == [one for one in every if one != place]
    # A listing that ended a process is done rule by rule, which gives the same.
    assert without(listing(["algebraic", "merge"])) == every
    both = (listing(["algebraic", "merge"]), listing(["merge"]))
    assert without(*both) == [one for one in every if one.startswith("algebraic")]
    assert without(*both, listing(["algebraic"])) == []
    # Other benchmarks are as they were.
    other = Quarantine([("other", place)])
    assert offered(RewriteEnv(two_zeros, rules=["algebraic", "merge"], quarantine=other)) == every


def test_each_listing_and_rewrite_is_noted_while_it_runs(two_zeros):
    notes: list[PassCall] = []

    class Listening(FlightRecorder):
        def begin(self, note: bytes, seconds: float | None = None) -> None:
            super().begin(note, seconds)
            notes.append(PassCall.from_note(note))

    recorder = Listening()
    env = RewriteEnv(two_zeros, rules=["algebraic", "merge"], recorder=recorder)
    _, start = env.reset()
    *_, info = env.step(action(env, "merge(again, right)"))
    assert recorder.operation is None
    (name,) = env.benchmarks
    listed = listing(["algebraic", "merge"])
    assert notes == [
        PassCall(listed, start["fingerprint"], name, ()),
        PassCall("merge(again, right)", start["fingerprint"], name, ()),
        PassCall(listed, info["fingerprint"], name, ("merge(again, right)",)),
    ]


def test_sweeps_are_offered_beside_rewrites(small_benchmarks):
    names = [benchmark.name for benchmark in small_benchmarks[:4]]
    env = RewriteEnv(names, sweeps=True, costs=False, horizon=100)
    random = np.random.default_rng(0)
    for name in names:
        observation, info = env.reset(options={"benchmark": name})
        swept = 0
        while info["action_mask"][:-1].any() and swept < 3:
            sweeps = [n for n, one in enumerate(env.candidates) if isinstance(one, Sweep)]
            assert len(env.candidates) == info["action_mask"][:-1].sum()
            rows = dict(zip(feature_names(False, True), observation["candidates"].T, strict=True))
            for n in sweeps:
                rewrites = env.candidates[n].rewrites
                assert rows["log_places"][n] == pytest.approx(np.log2(1 + len(rewrites)) / 4)
                links = observation["candidate_links"]
                assert (links[links[:, 0] == n][:, 2] == 0).sum() == len(rewrites)
            if not sweeps:
                break
            before = info["op_count"]
            expected = env.module.clone()
            chosen = int(random.choice(sweeps))
            expected.apply(env.candidates[chosen])
            observation, *_, info = env.step(chosen)
            assert info["step_name"].endswith(("(*)", "(-)"))
            assert info["error"] is None
            assert info["fingerprint"] == expected.fingerprint()
            assert info["op_count"] == expected.op_count
            swept += info["op_count"] != before
        assert swept, name
        again = RewriteEnv(names, sweeps=True, costs=False)
        _, replayed = again.replay(env.trajectory)
        assert replayed["fingerprint"] == info["fingerprint"]


def test_sweeps_take_at_most_half_of_the_room(small_benchmarks):
    env = RewriteEnv(
        [small_benchmarks[0].name], sweeps=True, max_candidates=4, rules="general", costs=False
    )
    env.reset()
    kinds = [isinstance(candidate, Sweep) for candidate in env.candidates]
    assert kinds == [False, False, True, True]


def test_a_place_in_quarantine_keeps_its_rule_from_being_swept():
    module = Module.from_text(TWO_ZEROS.replace("exponential(left)", "add(left, zeros)"))
    (name,) = RewriteEnv(module).benchmarks

    def without(*places: str) -> list[str]:
        quarantine = Quarantine((name, one) for one in places)
        rules = ["algebraic", "merge"]
        return offered(RewriteEnv(module, rules=rules, sweeps=True, quarantine=quarantine))

    every = without()
    swept = [one for one in every if one.endswith("(*)")]
    assert swept == ["algebraic(*)"]
    assert without("algebraic(*)") == [one for one in every if one != "algebraic(*)"]
    place = next(one for one in every if one.startswith("algebraic"))
    assert without(place) == [one for one in every if one not in (place, "algebraic(*)")]
