"""Rewrites: every listed one applies and makes exactly the changes that it lists."""

import pickle
import random
from dataclasses import replace

import pytest

import hlograph
from hlograph import corpus
from hlograph.errors import RewriteError, UnknownNameError
from hlograph.transforms.rewriting import find_rewrites
from tests import rules_table
from tests.hlograph.transforms.small_programs import small_programs

TWO_ZEROS = """
HloModule two_zeros
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[4] broadcast(zero), dimensions={}
  one = f32[4] multiply(x, zeros)
  left = f32[4] add(x, zeros)
  right = f32[4] add(y, zeros)
  again = f32[4] add(y, zeros)
  spare = f32[4] negate(y)
  ROOT all = (f32[4], f32[4], f32[4], f32[4]) tuple(one, left, right, again)
}
"""
CALLS = """
HloModule calls
double { p = f32[2] parameter(0) ROOT sum = f32[2] add(p, p) }
ENTRY main {
  x = f32[2] parameter(0)
  first = f32[2] call(x), to_apply=double
  ROOT second = f32[2] call(first), to_apply=double
}
"""


@pytest.fixture(scope="module", params=small_programs(12), ids=lambda b: b.name)
def program(request):
    return request.param.load()


@pytest.fixture
def two_zeros():
    return hlograph.Module.from_text(TWO_ZEROS)


def _walk(module, draw, steps):
    """Applies random rewrites, and compares each listing with one without known outcomes."""
    found = module.rewrites()
    for _ in range(steps):
        if not found:
            return
        rule = draw.choice(sorted({rewrite.rule for rewrite in found}))
        rewrite = draw.choice([rewrite for rewrite in found if rewrite.rule == rule])
        module.apply(rewrite)
        found = module.rewrites()
        assert found == find_rewrites(module._native, None, reuse=False), str(rewrite)


def _at(module, rule):
    return {r.instruction: r for r in module.rewrites([rule])}


def test_there_are_rules_enough_and_each_says_what_it_rests_on():
    assert len(hlograph.rules) >= 25
    assert len(set(hlograph.rules.names)) == len(hlograph.rules)
    assert all(rule.description.endswith(".") for rule in hlograph.rules)
    assert all(bool(rule.xla_code) != bool(rule.equation) for rule in hlograph.rules)
    assert "algebraic: " in str(hlograph.rules)


def test_the_page_of_the_rules_is_current():
    page = rules_table.PAGE.read_text(encoding="utf-8")
    assert page == rules_table.rewritten(page), "run: python -m tests.rules_table --write"
    kernels = rules_table.KERNELS.read_text(encoding="utf-8")
    assert kernels == rules_table.kernels_page(kernels), "run: python -m tests.rules_table --write"


def test_a_rule_is_the_same_in_another_process():
    rule = hlograph.rules["merge"]
    assert pickle.loads(pickle.dumps(rule)) is rule


def test_a_sum_with_zero_is_simplified_and_the_other_is_still_there(two_zeros):
    before = _at(two_zeros, "algebraic")
    assert {"left", "right", "again"} <= before.keys()
    left = before["left"]
    assert (left.rule, left.other, left.added, left.removed) == ("algebraic", None, 0, 1)
    assert left.gone == ("left",)
    assert left.flops == -4
    assert left.bytes_accessed == -3 * 4 * 4
    two_zeros.apply(left)
    two_zeros.verify()
    after = _at(two_zeros, "algebraic")
    assert "left" not in after
    assert {"right", "again"} <= after.keys()


def test_equal_instructions_are_merged_in_pairs(two_zeros):
    (pair,) = two_zeros.rewrites(["merge"])
    assert {pair.instruction, pair.other} == {"right", "again"}
    assert pair.op_count == -1
    count = two_zeros.op_count
    two_zeros.apply(pair)
    assert two_zeros.op_count == count - 1
    assert two_zeros.rewrites(["merge"]) == []


def test_what_nobody_uses_is_removed(two_zeros):
    (dead,) = two_zeros.rewrites(["remove"])
    assert dead.instruction == "spare"
    two_zeros.apply(dead)
    assert "spare" not in two_zeros.to_text()


def test_calls_are_inlined_one_by_one():
    module = hlograph.Module.from_text(CALLS)
    calls = _at(module, "inline")
    assert calls.keys() == {"first", "second"}
    assert calls["first"].op_count == 0
    module.apply(calls["first"])
    assert module.op_counts()[hlograph.OPCODES.index("call")] == 1
    (second,) = module.rewrites(["inline"])
    # The computation goes with its last call.
    assert second.op_count == -2
    module.apply(second)
    assert module.op_counts()[hlograph.OPCODES.index("call")] == 0
    assert module.op_count == 3


def test_each_rewrite_changes_what_it_says_and_keeps_the_module_valid(program):
    for rewrite in program.rewrites():
        module = program.clone()
        module.apply(rewrite)
        module.verify()
        assert module.op_count - program.op_count == rewrite.op_count, str(rewrite)


def test_rewrites_found_side_by_side_are_those_found_alone(program):
    assert program.rewrites() == find_rewrites(program._native, None, shared_copies=False)


def test_a_group_is_found_where_a_part_of_the_module_would_show_another():
    # A copy of what hangs together with it has no other users, and so another order.
    program = corpus.load()["swarm/diffusion-evolution/loop16-mlp"].load()
    found = program.rewrites(["reshape-mover"])
    assert [rewrite.instruction for rewrite in found] == ["sqrt.14", "add.143"]
    assert found == find_rewrites(program._native, ["reshape-mover"], shared_copies=False)


def test_after_each_of_a_walk_what_is_listed_is_what_a_listing_anew_finds(program):
    _walk(program.clone(), random.Random(0), 4)


def test_outcomes_that_hold_by_constants_are_tried_again_when_their_users_change():
    # With the sum goes the constant's other user, and with the product then the constant.
    module = hlograph.Module.from_text("""HloModule m
ENTRY e {
  x = f32[] parameter(0)
  c = f32[] constant(3)
  product = f32[] multiply(x, c)
  sum = f32[] add(x, c)
  ROOT r = f32[] negate(x)
}
""")
    before = {r.place: r.gone for r in module.rewrites(["remove"])}
    assert before == {"remove(product)": ("product",), "remove(sum)": ("sum",)}
    module.apply("remove(sum)")
    (left,) = module.rewrites(["remove"])
    assert left.gone == ("c", "product")


def test_a_call_that_becomes_the_last_takes_its_computation_along():
    module = hlograph.Module.from_text(CALLS)
    before = _at(module, "inline")
    assert before["second"].op_count == 0
    module.apply(before["first"])
    assert _at(module, "inline")["second"].op_count == -2


def test_a_computation_stays_that_is_called_where_a_copy_of_a_part_does_not_reach():
    module = corpus.benchmark("signal-transform/convolve-fft/one").load()
    found = module.rewrites(["inline"])
    assert found == find_rewrites(module._native, ["inline"], shared_copies=False)
    calls = {rewrite.instruction: rewrite for rewrite in found}
    assert calls["jit_fft_.3"].gone == ("jit_fft_.3",)
    assert calls["jit_fft_.4"].gone == ("jit_fft_.4",)


def test_clones_go_on_from_what_is_known_and_do_not_meet():
    module = hlograph.Module.from_text(TWO_ZEROS)
    before = module.rewrites()
    one, other = module.clone(), module.clone()
    one.apply("algebraic(left)")
    other.apply("merge(again, right)")
    for clone in (one, other):
        assert clone.rewrites() == find_rewrites(clone._native, None, reuse=False)
    assert module.rewrites() == before
    # A pass leaves another module behind, of which nothing is known.
    one.run("algsimp")
    assert one.rewrites() == find_rewrites(one._native, None, reuse=False)


def test_listing_leaves_the_module_as_it_is(program):
    before = program.fingerprint()
    program.rewrites()
    assert program.fingerprint() == before


@pytest.mark.parametrize(("rule", "entry"), [("merge", "cse"), ("inline", "call-inliner")])
def test_until_none_is_left_is_the_pass_until_it_changes_nothing(program, rule, entry):
    one, other = program.clone(), program.clone()
    for _ in range(1000):
        found = one.rewrites([rule])
        if not found:
            break
        one.apply(found[0])
    while other.run(entry):
        pass
    other.run("dce")
    one.run("dce")
    assert one.op_count == other.op_count


def test_what_a_rewrite_computes_is_what_was_computed(program):
    module = program.clone()
    for rule in ("inline", "algebraic", "merge"):
        found = module.rewrites([rule])
        if found:
            module.apply(found[len(found) // 2])
    assert module.equivalent_to(program).verdict in ("equal", "close", "not comparable")


def test_a_rewrite_that_does_not_apply_any_more_is_refused(two_zeros):
    left = _at(two_zeros, "algebraic")["left"]
    two_zeros.apply(left)
    before = two_zeros.fingerprint()
    with pytest.raises(RewriteError, match="does not apply"):
        two_zeros.apply(left)
    with pytest.raises(RewriteError, match="does not apply"):
        two_zeros.apply(replace(left, instruction="x"))
    assert two_zeros.fingerprint() == before


def test_rules_that_do_not_exist_are_named(two_zeros):
    with pytest.raises(UnknownNameError, match="did you mean 'merge'"):
        two_zeros.rewrites(["merg"])
    with pytest.raises(UnknownNameError, match="no rule is called"):
        two_zeros.apply(replace(two_zeros.rewrites(["merge"])[0], rule="no-such-rule"))


@pytest.mark.slow
def test_listings_after_rewrites_are_those_from_nothing_in_every_family():
    for benchmark in small_programs(1000):
        if benchmark.op_count <= 400:
            _walk(benchmark.load(), random.Random(benchmark.name), 8)


@pytest.mark.slow
def test_rewrites_found_side_by_side_are_those_found_alone_all_over_the_corpus():
    by_size = sorted(corpus.load(), key=lambda benchmark: benchmark.op_count)
    for benchmark in by_size[:700:10]:
        module = benchmark.load()
        found = module.rewrites()
        assert found == find_rewrites(module._native, None, shared_copies=False), benchmark.name
        for rewrite in found[:: max(1, len(found) // 4)]:
            copy = module.clone()
            copy.apply(rewrite)
            copy.verify()
            assert copy.op_count - module.op_count == rewrite.op_count, (benchmark.name, rewrite)


def test_a_constant_that_two_rewrites_leave_without_users_is_still_there_for_a_third():
    # On a copy that both were tried on it is gone, though neither alone removes it.
    module = hlograph.Module.from_text("""HloModule m
ENTRY e {
  x = f32[] parameter(0)
  one = f32[] constant(1)
  same = f32[] constant(1)
  dead = f32[] negate(one)
  buried = f32[] exponential(one)
  ROOT r = f32[] add(x, same)
}
""")
    found = module.rewrites(["remove", "merge"])
    assert {r.place for r in found} == {"remove(dead)", "remove(buried)", "merge(same, one)"}
    assert [r.op_count for r in found] == [-1, -1, -1]
    assert found == find_rewrites(module._native, ["remove", "merge"], shared_copies=False)
