"""Predicted gains of actions: what they are about, and the decisions that follow from them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import (
    LEAST_LOG_RATIO,
    _KernelsAbout,
    _promising,
    decision_rows,
    descended,
    descent,
    log_ratios,
)
from hlograph.errors import HloError
from hlograph.plans import Program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernel_trees import Context, KernelTrees, feature_names
from hlograph.profiling.optimized_module import OptimizedModule


def prefix(x):
    return jnp.sort(x)[:, :4]


def steps(x):
    return jax.lax.fori_loop(0, 50, lambda i, y: jnp.sin(y @ x) + i, x)


def program_of(function, *shape):
    return Program.of(jax.jit(function).lower(jax.ShapeDtypeStruct(shape, jnp.float32)))


@pytest.fixture(scope="module")
def trees():
    return KernelTrees.load()


@pytest.fixture(scope="module")
def sorts():
    return PlanStates(program_of(prefix, 64, 4096))


def test_flags_are_about_all_kernels_and_rules_about_some(sorts, trees):
    state = sorts.state(Point())
    rows, shares, _ = decision_rows(state, trees, state.actions)
    flags = np.array([action.knob.startswith("flags ") for action in state.actions])
    time = trees(state.kernels, {})
    assert shares[flags] == pytest.approx(sum(time.kernels) / time.seconds)
    assert all(shares >= 0)
    assert all(shares <= 1)
    seconds, of_call, kernels = rows[flags][:, len(feature_names()) :].T[:3]
    assert set(kernels) == {len(state.kernels)}
    calls = sum(kernel.calls for kernel in state.kernels)
    assert seconds - of_call == pytest.approx(np.log(calls))
    by_name = dict(zip(state.by_name, shares, strict=True))
    assert by_name["rule sort-prefix-as-top-k"] > 0.5


def test_trees_see_how_much_is_decided(sorts, trees):
    column = len(feature_names()) + 3 + Context._fields.index("log_decided")
    for point, decided in (
        (Point(), 0),
        (sorts.follow(["rule sort-prefix-as-top-k"]), 1),
        (Point.of({"flags xla_cpu_prefer_vector_width": "512"}), 1),
    ):
        state = sorts.state(point)
        rows, *_ = decision_rows(state, trees, state.actions[:2])
        assert rows[:, column] == pytest.approx(np.log1p(decided))


def test_what_decisions_are_predicted_to_bring_is_bounded_by_their_share(sorts, trees):
    state = sorts.state(Point())
    _, shares, _ = decision_rows(state, trees, state.actions)
    predicted = log_ratios(state, trees, state.actions)
    assert np.all(predicted <= -np.log1p(-np.minimum(shares, 1 - 1e-9)) + 1e-9)
    nowhere = state.actions[0]._replace(touched=(), knob="kernel none", value="library none")
    assert log_ratios(state, trees, [nowhere]).tolist() == [0.0]
    assert log_ratios(state, trees, []).tolist() == []


def test_a_rule_about_what_xla_made_something_else_of_may_be_about_all_kernels(sorts, trees):
    state = sorts.state(Point())
    rule = state.by_name["rule sort-prefix-as-top-k"]._replace(touched=())
    _, (share,), _ = decision_rows(state, trees, [rule])
    time = trees(state.kernels, {})
    assert share == pytest.approx(sum(time.kernels) / time.seconds)
    assert log_ratios(state, trees, [rule]) > LEAST_LOG_RATIO


def test_an_instruction_is_about_the_kernels_that_contain_it_and_those_within_it():
    state = PlanStates(program_of(steps, 64, 64)).state(Point())
    names = [kernel.name for kernel in state.kernels]
    opcodes = [state.program.instructions[name].opcode for name in names]
    loop = opcodes.index("while")
    about = _KernelsAbout(state.program, state.kernels)
    within = about([names[loop]])
    assert loop in within
    assert len(within) > 2
    for number in within:
        assert {number, loop} <= set(about([names[number]]))
    fusion = next(number for number in within if opcodes[number] == "fusion")
    (called,) = state.program.instructions[names[fusion]].calls
    inner = state.program.computations[called][-1].name
    assert fusion in about([inner])
    assert about(["no-such-instruction"]).tolist() == []


def test_kernels_that_call_the_same_computation_are_not_within_each_other():
    program = OptimizedModule.from_text(
        """HloModule sums, is_scheduled=true

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %both = f32[] add(%a, %b)
}

ENTRY %main (x: f32[8,4]) -> f32[] {
  %x = f32[8,4]{1,0} parameter(0)
  %zero = f32[] constant(0)
  %first = f32[8]{0} reduce(%x, %zero), dimensions={1}, to_apply=%add
  ROOT %second = f32[] reduce(%first, %zero), dimensions={0}, to_apply=%add
}
"""
    )
    about = _KernelsAbout(program, kernel_modules(program))
    assert [about([name]).tolist() for name in ("first", "second")] == [[0], [1]]
    assert about(["both"]).tolist() == [0, 1]


def test_a_descent_takes_decisions_that_are_predicted_to_bring_something(sorts, trees):
    point = descended(sorts, trees)
    plan = sorts.plan(point)
    assert any(step.startswith(("sort-", "kernel-sort")) for step in plan.steps)
    path = list(descent(sorts, trees))
    assert path[-1] == point
    assert len(set(path)) == len(path)
    state = sorts.state(point)
    left = [a for a in state.actions if a.knob and a.knob not in point.values]
    assert log_ratios(state, trees, left).max(initial=0.0) < LEAST_LOG_RATIO
    assert (
        trees(state.kernels, plan.flags).seconds < trees(sorts.state(Point()).kernels, {}).seconds
    )


class AlikeTrees(KernelTrees):
    """Trees that predict of all decisions that the kernels they are about take half as long."""

    def log_gains(self, rows):
        return np.full(len(rows), np.log(2.0))


def layers(x):
    return jnp.tanh(jnp.tanh(x @ x) @ x).sum(0), jnp.sin(x.T @ x).max(1)


def test_decisions_about_other_kernels_each_are_taken_together(monkeypatch):
    trees = AlikeTrees(KernelTrees.load().weights)
    states = PlanStates(program_of(layers, 256, 256))
    state = states.state(Point())
    placements = [a for a in state.actions if a.knob and not a.knob.startswith("flags ")]
    together = _promising(state, trees, placements)
    assert len(together) > 1
    about = _KernelsAbout(state.program, state.kernels)
    kernels = [n for action in together for n in about(action.touched)]
    assert len(kernels) == len(set(kernels))
    # What may change all kernels comes alone.
    (alone,) = _promising(state, trees, state.actions)
    assert alone.knob.startswith("flags ")
    assert _promising(state, trees, []) == []
    # Each point has one decision more, but the program is optimized for the last one only.
    optimized = []
    offered = state._replace(actions=tuple(placements))
    after = state._replace(actions=())

    def optimize(point):
        optimized.append(point)
        return offered if point == Point() else after

    monkeypatch.setattr(states, "state", optimize)
    path = list(descent(states, trees))
    assert [len(point.values) for point in path] == list(range(1, len(together) + 1))
    assert optimized == [Point(), path[-1]]


def test_the_first_decision_is_taken_where_several_do_not_compile_together(monkeypatch):
    trees = AlikeTrees(KernelTrees.load().weights)
    states = PlanStates(program_of(layers, 256, 256))
    state = states.state(Point())
    placements = [a for a in state.actions if a.knob and not a.knob.startswith("flags ")]

    def optimize(point):
        if len(point.values) > 1:
            raise HloError("refused")
        return state._replace(actions=tuple(placements))

    monkeypatch.setattr(states, "state", optimize)
    path = list(descent(states, trees))
    first, *others = _promising(state, trees, placements)
    assert others
    assert path == [states.after(Point(), first)]


def test_a_descent_ends_in_time_and_leaves_out_what_does_not_compile(sorts, trees, monkeypatch):
    (first,) = descent(sorts, trees, seconds=0)  # the decision predicted best
    assert len(first.values) == 1
    assert descended(sorts, trees, seconds=0) == first
    tried = []

    def refuse(point, action):
        tried.append(action.knob or action.value)
        raise HloError("refused")

    monkeypatch.setattr(sorts, "after", refuse)
    assert descended(sorts, trees) == Point()
    assert len(tried) == len(set(tried)) > 1


def test_a_program_with_nothing_to_gain_keeps_the_default(trees):
    states = PlanStates(program_of(lambda x: x, 8))
    assert descended(states, trees) == Point()
    state = states.state(Point())
    empty = state._replace(kernels=())
    assert log_ratios(empty, trees, state.actions).tolist() == [0.0] * len(state.actions)
