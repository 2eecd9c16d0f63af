"""Fusion: legal pairs, the effect of fusing a pair, and the generated code."""

import random
import re

import numpy as np
import pytest

import hlograph
from hlograph import Module
from hlograph.errors import HloError, RewriteError
from hlograph.execution.executable import Executable, random_inputs
from hlograph.transforms.rewriting import Place, find_rewrites
from hlograph.transforms.xla_cpu import before_fusion
from tests.hlograph.transforms.small_programs import small_programs

RULES = [hlograph.rules["fusion"], hlograph.rules["multi-output-fusion"]]
DIAMOND = """
HloModule diamond
ENTRY main {
  x = f32[64,64] parameter(0)
  y = f32[64] parameter(1)
  wave = f32[64,64] exponential(x)
  left = f32[64,64] multiply(wave, x)
  right = f32[64,64] negate(wave)
  row = f32[64,64] broadcast(y), dimensions={1}
  sum = f32[64,64] add(left, row)
  ROOT both = (f32[64,64], f32[64,64]) tuple(sum, right)
}
"""
# Fusing a with d and b with c would need each of the two kernels before the other.
CROSSED = """
HloModule crossed
ENTRY main {
  x = f32[64] parameter(0)
  a = f32[64] sine(x)
  b = f32[64] cosine(x)
  dot.a = f32[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  dot.b = f32[] dot(b, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  row.a = f32[64] broadcast(dot.a), dimensions={}
  row.b = f32[64] broadcast(dot.b), dimensions={}
  c = f32[64] multiply(x, row.a)
  d = f32[64] add(x, row.b)
  ROOT both = (f32[64], f32[64]) tuple(c, d)
}
"""
NESTED = """
HloModule nested, frontend_attributes={hlograph_lowered="true"}
inner { p = f32[8] parameter(0) ROOT e = f32[8] exponential(p) }
outer {
  p = f32[8] parameter(0)
  f = f32[8] fusion(p), kind=kLoop, calls=inner
  ROOT n = f32[8] negate(f)
}
ENTRY main {
  x = f32[8] parameter(0)
  ROOT f = f32[8] fusion(x), kind=kLoop, calls=outer
}
"""
# With collectives, or routines of LAPACK that XLA is not linked with.
NOT_FOR_ONE_CPU = ("collective-matmul", "dense-linear-algebra", "linear-solve", "stencil")
APART = """
HloModule apart
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  twice = f32[] multiply(q, q)
  ROOT sum = f32[] add(p, twice)
}
ENTRY main {
  x = f32[64,8] parameter(0)
  zero = f32[] constant(0)
  t = f32[64,8] tanh(x)
  order = token[] after-all()
  s = (f32[64,8], token[]) infeed(order)
  fed = f32[64,8] get-tuple-element(s), index=0
  u = f32[64,8] add(t, fed)
  ROOT r = f32[64] reduce(u, zero), dimensions={1}, to_apply=add
}
"""


@pytest.fixture(
    scope="module", params=small_programs(6, without=NOT_FOR_ONE_CPU), ids=lambda b: b.name
)
def program(request):
    return request.param.load()


@pytest.fixture
def diamond():
    return before_fusion(Module.from_text(DIAMOND))


def _places(module, rule):
    return [(p.other, p.instruction) for p in module.places([rule])]


def _fuse(module, rule, producer, consumer):
    module.apply(Place(rule, consumer, producer))


def _fuse_at_random(module, seed, share=0.7):
    rng = random.Random(seed)
    for rule in RULES:
        for _ in range(200):
            places = module.places([rule])
            if not places or rng.random() > share**0.1:
                break
            module.apply(rng.choice(places))


def assert_close(came, expected):
    """Checks floats up to the error of fused multiply-add, and integers bit for bit."""
    for one, other in zip(came, expected, strict=True):
        if one != other:
            np.testing.assert_allclose(np.frombuffer(one, "f4"), np.frombuffer(other, "f4"), 1e-4)


def test_each_operand_that_a_loop_can_compute_may_be_fused(diamond):
    assert _places(diamond, "fusion") == [
        ("wave", "left"),
        ("left", "sum"),
        ("row", "sum"),
        ("wave", "right"),
    ]


def test_two_of_a_shape_that_share_an_operand_or_use_each_other_may_be_fused(diamond):
    assert _places(diamond, "multi-output-fusion") == [
        ("wave", "left"),
        ("wave", "right"),
        ("left", "right"),
    ]


def test_a_producer_with_other_users_is_computed_again(diamond):
    found = {(r.other, r.instruction): r for r in diamond.rewrites(["fusion"])}
    again, alone = found["wave", "left"], found["left", "sum"]
    assert again.gone == ("left",)
    assert again.flops == 0  # exponentials are no flops; left is computed as before
    assert again.bytes_accessed == -64 * 64 * 4  # wave is not read
    assert alone.gone == ("left", "sum")
    assert alone.bytes_accessed == -2 * 64 * 64 * 4  # left is neither written nor read
    _fuse(diamond, "fusion", "wave", "left")
    diamond.verify()
    counts = dict(zip(hlograph.OPCODES, diamond.op_counts(), strict=True))
    assert counts["exponential"] == 2


def test_the_fusion_has_the_name_of_its_consumer_and_goes_on(diamond):
    _fuse(diamond, "fusion", "left", "sum")
    assert ("row", "sum") in _places(diamond, "fusion")
    assert ("wave", "sum") in _places(diamond, "fusion")
    _fuse(diamond, "fusion", "row", "sum")
    _fuse(diamond, "fusion", "wave", "sum")
    counts = dict(zip(hlograph.OPCODES, diamond.op_counts(), strict=True))
    assert counts["fusion"] == 1
    with pytest.raises(RewriteError, match="does not apply"):
        _fuse(diamond, "fusion", "wave", "sum")


def test_results_are_computed_once_by_a_fusion_with_several(diamond):
    _fuse(diamond, "multi-output-fusion", "left", "right")
    _fuse(diamond, "multi-output-fusion", "wave", "right")
    diamond.verify()
    counts = dict(zip(hlograph.OPCODES, diamond.op_counts(), strict=True))
    assert (counts["fusion"], counts["exponential"]) == (1, 1)
    # wave is used within the fusion alone.
    assert counts["get-tuple-element"] >= 2


def test_fusions_that_would_wait_for_each_other_are_not_both_legal():
    module = before_fusion(Module.from_text(CROSSED))
    pairs = _places(module, "multi-output-fusion")
    # c comes before b in the computation's order, and needs the product of a.
    assert {("a", "d"), ("c", "b")} <= set(pairs)
    assert not {("a", "c"), ("c", "a")} & set(pairs)
    assert module.rewrites(RULES) == find_rewrites(module._native, RULES, shared_copies=False)
    _fuse(module, "multi-output-fusion", "a", "d")
    assert ("c", "b") not in _places(module, "multi-output-fusion")
    module.verify()


def test_what_is_no_kernel_is_not_fused():
    module = Module.from_text(APART)
    # Not the multiplication of the reduction, nor what is fed in.
    assert _places(module, "fusion") == [("t", "u"), ("u", "r")]


def test_rules_for_the_target_are_listed_by_name_alone(diamond):
    assert [rule.name for rule in hlograph.rules if rule.for_target] == [r.name for r in RULES]
    assert not {r.name for r in RULES} & {rewrite.rule for rewrite in diamond.rewrites()}


def test_the_code_has_the_kernels_that_were_chosen(diamond):
    everything_apart = Executable(diamond, lowered=True)
    assert everything_apart.kernels == 5
    _fuse(diamond, "fusion", "left", "sum")
    chosen = Executable(diamond, lowered=True)
    steps = chosen.steps()
    assert {step.kind for step in steps} == {"kernel"}
    # Others are kernels of one instruction, which XLA wraps.
    assert {s.instruction for s in steps if not s.instruction.startswith("wrapped_")} == {"sum"}
    assert len(steps) == chosen.kernels == 4
    inputs = random_inputs(Module.from_text(DIAMOND))
    assert_close(chosen.run(inputs), everything_apart.run(inputs))


def test_a_fusion_with_several_results_is_one_kernel(diamond):
    _fuse(diamond, "multi-output-fusion", "left", "right")
    chosen = Executable(diamond, lowered=True)
    assert "right" in {step.instruction for step in chosen.steps()}
    assert chosen.kernels == 4
    inputs = random_inputs(Module.from_text(DIAMOND))
    assert_close(chosen.run(inputs), Executable(Module.from_text(DIAMOND)).run(inputs))


def test_fusions_of_the_code_are_those_of_the_module(program):
    module = before_fusion(program)
    _fuse_at_random(module, seed=1)
    fused = fused_computations(module)
    code = fused_computations(Executable(module, lowered=True).optimized())
    # XLA may compute a constant again beside its users, and wraps single instructions.
    assert {name: fused[name] for name in fused} == {name: code.get(name) for name in fused}


def fused_computations(module):
    """Returns the opcodes of each fusion's computation by the fusion's name."""
    computations, calls = {}, {}
    for line in module.to_text().splitlines():
        if heading := re.match(r"(?:ENTRY )?(\S+) \{", line):
            body = computations.setdefault(heading[1], [])
        elif opcode := re.match(r"  (?:ROOT )?(\S+) = .*? ([a-z][\w-]*)\(", line):
            body.append(opcode[2])
            if opcode[2] == "fusion":
                calls[opcode[1]] = re.search(r"calls=([^\s,]+)", line)[1]
    return {name: sorted(computations[called]) for name, called in calls.items()}


def test_what_a_fused_program_computes_is_what_was_computed(program):
    module = before_fusion(program)
    apart = Executable(module, lowered=True)
    _fuse_at_random(module, seed=2, share=1.0)
    module.verify()
    inputs = random_inputs(program)
    assert_close(Executable(module, lowered=True).run(inputs), apart.run(inputs))


def test_fused_modules_are_compared_with_others(program):
    module = before_fusion(program)
    _fuse_at_random(module, seed=3)
    assert module.equivalent_to(program).verdict in ("equal", "close", "not comparable")


def test_each_fusion_changes_what_it_says(program):
    module = before_fusion(program)
    for _ in range(3):
        found = module.rewrites(RULES)
        assert found == find_rewrites(module._native, RULES, shared_copies=False)
        assert [(r.rule, r.instruction, r.other) for r in found] == [
            (p.rule, p.instruction, p.other) for p in module.places(RULES)
        ]
        if not found:
            break
        for rewrite in found[:: max(1, len(found) // 8)]:
            copy = module.clone()
            copy.apply(rewrite)
            copy.verify()
            assert copy.op_count - module.op_count == rewrite.op_count, str(rewrite)
        module.apply(found[len(found) // 2])


def test_fusions_without_code_are_an_error():
    with pytest.raises(HloError, match="no code for f, fusion"):
        Executable(Module.from_text(NESTED), lowered=True)


def test_modules_that_were_not_lowered_are_not_compiled_as_if_they_were(diamond):
    with pytest.raises(HloError, match="has lowered"):
        Executable(Module.from_text(DIAMOND), lowered=True)
    for copy in (diamond.clone(), Module.from_text(diamond.to_text())):
        assert Executable(copy, lowered=True).kernels == 5
