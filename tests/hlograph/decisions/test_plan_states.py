"""Decisions about a program, one by one: what is possible, what follows, and what it is worth."""

from contextlib import contextmanager

import pytest

from hlograph import HloError, Module, UnknownNameError, corpus
from hlograph.decisions.plan_states import PlanStates, action_kinds
from hlograph.errors import PlanError
from hlograph.plans import Program
from hlograph.plans.knobs import Point
from hlograph.plans.versions import STEPS
from hlograph.profiling.kernel_seconds import RatedKernels
from hlograph.transforms.rules import rules

LOOP = """HloModule loop
body {
  state = (s32[], f32[4096]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[4096] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4096] sine(x)
  ROOT both = (s32[], f32[4096]) tuple(next, y)
}
condition {
  state = (s32[], f32[4096]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  end = s32[] constant(100)
  ROOT go = pred[] compare(i, end), direction=LT
}
ENTRY main {
  x = f32[4096] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[4096]) tuple(zero, x)
  loop = (s32[], f32[4096]) while(start), condition=condition, body=body
  ROOT y = f32[4096] get-tuple-element(loop), index=1
}
"""


# Such a loop is one kernel by the default of jaxlib 0.12.
KERNELS = Point.of({"flags xla_cpu_small_while_loop_byte_threshold": "0"})


@pytest.fixture(scope="module")
def process():
    return PlanStates(Program.of(Module.from_text(LOOP)))


def test_states_are_made_in_the_context_that_is_given():
    entered = []

    @contextmanager
    def computing():
        entered.append(len(entered))
        yield

    process = PlanStates(Program.of(Module.from_text(LOOP)), computing=computing)
    state = process.state(Point())
    process.state(process.after(Point(), state.actions[0]))
    process.state(Point())  # which is known
    assert entered == [0, 1]


def test_actions_on_a_loop(process):
    state = process.state(Point())
    actions = {action.name: action for action in state.actions}
    assert len(actions) == len(state.actions)
    assert {action.kind for action in state.actions} <= set(action_kinds())
    unrolled = actions["rule unroll-loop:4"]
    assert unrolled.places == 1
    # What rules are about is found again in the optimized module.
    names = state.module.graph().names()
    assert set(unrolled.touched) <= set(names)
    state = process.state(KERNELS)
    one = next(action for action in state.actions if action.kind == "one-kernel")
    assert set(one.touched) <= set(state.by_name["rule unroll-loop:4"].touched)
    small = next(action for action in state.actions if "small_while_loop" in action.name)
    assert one.share == small.share == pytest.approx(1, abs=0.01)
    assert not any("dot" in action.kind for action in state.actions)


def test_a_decision_leads_to_a_point_and_its_plan(process):
    actions = {action.name: action for action in process.state(Point()).actions}
    unrolled = process.after(Point(), actions["rule unroll-loop:4"])
    assert set(unrolled.values) == {STEPS}
    assert process.plan(unrolled).steps[-1].startswith("unroll-loop:4(")
    wide = actions["flags xla_cpu_prefer_vector_width = 512"]
    both = process.after(unrolled, wide)
    assert process.plan(both).flags == {"xla_cpu_prefer_vector_width": 512}
    assert process.plan(both).steps == process.plan(unrolled).steps
    assert process.follow(["rule unroll-loop:4", wide.name]) == both
    with pytest.raises(UnknownNameError, match="no action is called"):
        process.follow(["rule gather-after-dot"])


def test_a_loop_of_one_kernel_is_predicted_to_be_faster(process):
    state = process.state(KERNELS)
    one = next(action for action in state.actions if action.kind.startswith("one-kernel"))
    after = process.state(process.after(KERNELS, one))
    assert after.time.seconds < state.time.seconds
    assert after.time.seconds == pytest.approx(1e-5 + sum(after.time.kernels))


def test_decisions_that_cannot_be_taken(process):
    with pytest.raises(PlanError, match="xla_no_such_flag"):
        process.state(Point.of({"flags xla_no_such_flag": "true"}))
    action = next(o for o in process.state(Point()).actions if o.name == "rule unroll-loop:4")
    with pytest.raises(HloError, match="rule unroll-loop:4 applies nowhere"):
        process.after(process.after(Point(), action), action)


def test_all_rules_that_are_predicted_to_save_time_are_one_action():
    name = "selection/last-sorted/b16-n8192"
    process = PlanStates(Program.of(corpus.benchmark(name).load()))
    state = process.state(Point())
    action = next(action for action in state.actions if action.name == "rule predicted")
    assert action.saved > 0.5
    after = process.state(process.after(Point(), action))
    assert after.time.seconds < state.time.seconds / 5


def test_kinds_of_actions_have_fixed_numbers():
    kinds = action_kinds()
    assert len(set(kinds)) == len(kinds)
    assert kinds[0] == "other"
    assert [kind for kind in kinds if kind.startswith("rule ")] == [
        "rule predicted",
        *(f"rule {rule.name}" for rule in (*rules.for_time, *rules.of_kernels)),
    ]


def test_a_kernel_is_rated_once_and_takes_time_however_small():
    rated = RatedKernels()
    process = PlanStates(Program.of(Module.from_text(LOOP)), predict=rated)
    time = process.state(Point()).time
    assert all(seconds >= 1e-7 for seconds in time.kernels)
    before = dict(rated._known)
    assert process.state(Point().but("flags xla_cpu_prefer_vector_width", "512")).time == time
    assert rated._known == before
