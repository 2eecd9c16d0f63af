"""Rules that run a pass at one place: the excerpt of the module that the pass gets."""

import pytest

import hlograph
from hlograph.transforms.rewriting import find_rewrites

LOOP = """
HloModule loop
condition {
  p = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i, ten), direction=LT
}
body {
  p = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  unused = f32[4] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  twice = f32[4] add(x, x)
  negated = f32[4] negate(unused)
  ROOT all = (s32[], f32[4], f32[4]) tuple(next, twice, negated)
}
ENTRY main {
  n = s32[] parameter(0)
  x = f32[4] parameter(1)
  start = (s32[], f32[4], f32[4]) tuple(n, x, x)
  loop = (s32[], f32[4], f32[4]) while(start), condition=condition, body=body
  ROOT x_end = f32[4] get-tuple-element(loop), index=1
}
"""
IOTAS = """
HloModule iotas
ENTRY main {
  x = s32[4] parameter(0)
  one = s32[4] iota(), iota_dimension=0
  two = s32[4] iota(), iota_dimension=0
  with_one = s32[4] add(x, one)
  with_two = s32[4] add(two, x)
  both = s32[4] multiply(one, two)
  ROOT all = (s32[4], s32[4], s32[4]) tuple(with_one, with_two, both)
}
"""
DEAD_REDUCTION = """
HloModule dead
inner { a = f32[] parameter(0) ROOT s = f32[] sine(a) }
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] call(b), to_apply=inner
  ROOT s = f32[] add(a, c)
}
ENTRY main {
  x = f32[4] parameter(0)
  zero = f32[] constant(0)
  reduced = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
  dead = f32[] negate(reduced)
  also = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
  buried = f32[] exponential(also)
  ROOT r = f32[4] negate(x)
}

"""
CONSTANTS = """
HloModule constants
scaled {
  x = f32[4] parameter(0)
  c = f32[] parameter(1)
  s = f32[] sine(c)
  scale = f32[4] broadcast(s), dimensions={}
  ROOT r = f32[4] multiply(x, scale)
}
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[4] parameter(0)
  two = f32[] constant(2)
  zero = f32[] constant(0)
  twos = f32[3] broadcast(two), dimensions={}
  six = f32[] reduce(twos, zero), dimensions={0}, to_apply=sum
  unused = f32[] negate(two)
  times_sine = f32[4] call(x, two), to_apply=scaled
  %s
  ROOT all = (f32[], f32[4]%s) tuple(six, times_sine%s)
}
"""


def _apply_all(module, rule):
    while listed := module.rewrites([rule]):
        for rewrite in listed:
            module.apply(rewrite)
            module.verify()
    return module


def _by_pass(module, name):
    copy = module.clone()
    while copy.run_with_snapshot(hlograph.passes[name]).snapshot is not None:
        pass
    return copy


def _is_listed_alone(module, rules):
    return module.rewrites(rules) == find_rewrites(module._native, rules, shared_copies=False)


def test_a_loop_is_seen_with_what_is_taken_of_its_result():
    module = hlograph.Module.from_text(LOOP)
    assert [r.instruction for r in module.rewrites(["simplify-while-loops"])] == ["loop"]
    expected = _by_pass(module, "simplify-while-loops")
    original = module.clone()
    _apply_all(module, "simplify-while-loops")
    # What nobody takes is not carried any more.
    assert "(s32[], f32[4]{0}) while" in module.to_text()
    assert module.op_count == expected.op_count
    assert module.fingerprint() == expected.fingerprint()
    assert module.equivalent_to(original).verdict == "equal"


@pytest.mark.parametrize(
    "end",
    [
        "ROOT x_end = (s32[], f32[4], f32[4]) copy(loop)",
        "ROOT x_end = f32[4] get-tuple-element(loop), index=2",
    ],
)
def test_a_loop_whose_whole_result_is_taken_keeps_it(end):
    text = LOOP.replace("ROOT x_end = f32[4] get-tuple-element(loop), index=1", end)
    module = hlograph.Module.from_text(text)
    original = module.clone()
    expected = _by_pass(module, "simplify-while-loops")
    _apply_all(module, "simplify-while-loops")
    assert module.op_count == expected.op_count
    assert module.equivalent_to(original).verdict == "equal"


def test_users_of_equal_iotas_are_merged_and_one_takes_one_of_them_twice():
    module = hlograph.Module.from_text(IOTAS)
    original = module.clone()
    listed = module.rewrites(["merge"])
    assert {(r.instruction, r.other) for r in listed} == {("with_two", "with_one"), ("both", None)}
    assert _is_listed_alone(module, ["merge"])
    _apply_all(module, "merge")
    assert module.fingerprint() == _by_pass(original, "cse").fingerprint()
    assert module.equivalent_to(original).verdict == "equal"


def test_computations_go_with_the_last_of_the_dead_that_calls_them():
    module = hlograph.Module.from_text(DEAD_REDUCTION)
    dead, buried = module.rewrites(["remove"])
    assert _is_listed_alone(module, ["remove"])
    assert (dead.op_count, buried.op_count) == (-2, -2)
    module.apply(dead)
    (last,) = module.rewrites(["remove"])
    assert last.op_count == -3 - 4 - 2  # with zero, sum, and inner, which sum calls
    module.apply(last)
    module.verify()
    assert module.op_count == 2


def test_constants_are_folded_where_they_are_broadcast_and_where_they_are_passed():
    module = hlograph.Module.from_text(CONSTANTS % ("", "", ""))
    listed = {rewrite.instruction for rewrite in module.rewrites(["constant_folding"])}
    assert listed == {"six", "times_sine"}  # what nobody uses is left alone
    assert _is_listed_alone(module, ["constant_folding"])
    original = module.clone()
    _apply_all(module, "constant_folding")
    expected = _by_pass(original, "constant_folding")
    expected.run("dce")  # a computation that the pass leaves without callers
    module.run("dce")
    assert module.fingerprint() == expected.fingerprint()
    assert module.equivalent_to(original)


def test_a_constant_is_not_moved_into_what_others_call_too():
    again = "again = f32[4] call(x, two), to_apply=scaled"
    module = hlograph.Module.from_text(CONSTANTS % (again, ", f32[4]", ", again"))
    listed = {rewrite.instruction for rewrite in module.rewrites(["constant_folding"])}
    assert listed == {"six"}


def test_a_loop_of_one_round_is_taken_apart_as_on_the_devices_that_the_module_is_for():
    permuted = "twice = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}"
    text = LOOP.replace("twice = f32[4] add(x, x)", permuted).replace("constant(10)", "constant(1)")
    text = text.replace("HloModule loop", "HloModule loop, num_partitions=8")
    text = text.replace("n = s32[] parameter(0)", "n = s32[] constant(0)")
    module = hlograph.Module.from_text(text.replace("parameter(1)", "parameter(0)"))
    expected = _by_pass(module, "simplify-while-loops")
    _apply_all(module, "simplify-while-loops")
    for one in (module, expected):
        one.run("dce")
    assert module.fingerprint() == expected.fingerprint()
    assert "while(" not in module.to_text()
