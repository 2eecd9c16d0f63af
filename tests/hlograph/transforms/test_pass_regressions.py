"""Defects of XLA's passes that walks over the corpus found, each on the smallest module."""

from __future__ import annotations

import pytest

import hlograph
from hlograph import Module


def run_twice(text: str, name: str) -> tuple[Module, Module]:
    modules = Module.from_text(text), Module.from_text(text)
    for module in modules:
        module.verify()
        module.run(name)
        module.verify()
    return modules


# One side of the new dot has no dimension of its own: XLA builds it and decides against it.
UNPROFITABLE = {
    "slice": """
HloModule slice_of_dot
ENTRY main {
  a = f32[5,5] parameter(0)
  b = f32[4,5] parameter(1)
  product = f32[5,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT row = f32[1,4] slice(product), slice={[0:1], [0:4]}
}
""",
    "reduce": """
HloModule reduce_of_dot
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}
ENTRY main {
  a = f32[5,5] parameter(0)
  b = f32[4,5] parameter(1)
  zero = f32[] constant(0)
  product = f32[5,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT sums = f32[4] reduce(product, zero), dimensions={0}, to_apply=add
}
""",
}


@pytest.mark.parametrize("text", UNPROFITABLE.values(), ids=UNPROFITABLE)
def test_raise_through_dot_leaves_nothing_of_what_it_decides_against(text):
    """XLA's pass adds a dot and more on each run, and reports no change."""
    module = Module.from_text(text)
    for _ in range(4):
        fingerprint = module.fingerprint()
        changed = module.run("algsimp:raise-through-dot")
        assert (module.fingerprint(cached=False) != fingerprint) == changed
    assert not changed
    assert module.op_count < 20
    assert not module.run("dce")


def test_raise_through_dot_still_raises_slices():
    text = """
HloModule slice_of_dot
ENTRY main {
  a = f32[16,5] parameter(0)
  b = f32[5,16] parameter(1)
  product = f32[16,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT corner = f32[4,4] slice(product), slice={[0:4], [0:4]}
}
"""
    module = Module.from_text(text)
    plain = module.clone()
    plain.run("algsimp")
    assert module.run("algsimp:raise-through-dot")
    assert "f32[16,16]" in plain.to_text()
    assert "f32[16,16]" not in module.to_text()


INDEX_VECTOR = """
HloModule indices_in_a_vector
ENTRY main {
  x = f32[6,4] parameter(0)
  index = s32[2] parameter(1)
  y = f32[2,2] parameter(2)
  cut = f32[2,2] dynamic-slice(x, index), dynamic_slice_sizes={2,2}
  put = f32[6,4] dynamic-update-slice(x, y, index)
  ROOT both = (f32[2,2], f32[6,4]) tuple(cut, put)
}
"""


@pytest.mark.parametrize("name", [n for n in hlograph.passes.names if n.startswith("algsimp")])
def test_algsimp_takes_dynamic_slices_with_an_index_vector(name):
    """XLA's pass reads beyond the operands, unless dynamic-index-splitter runs first."""
    module, _ = run_twice(INDEX_VECTOR, name)
    assert "(x, index)" not in module.to_text()


TOPK_OF_VALUES = """
HloModule topk
greater {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT more = pred[] compare(x, y), direction=GT, type=TOTALORDER
}
ENTRY main {
  p = f32[8,32] parameter(0)
  top = (f32[8,3], s32[8,3]) custom-call(p), custom_call_target="TopK",
      called_computations={greater}
  ROOT indices = s32[8,3] get-tuple-element(top), index=1
}
"""


def test_topk_decomposer_leaves_a_comparator_of_values_alone():
    """XLA's pass calls it from a sort of values and indices, which the verifier rejects."""
    module, _ = run_twice(TOPK_OF_VALUES, "topk-decomposer")
    assert "TopK" in module.to_text()


def test_topk_decomposer_takes_custom_calls_of_any_form():
    text = TOPK_OF_VALUES.replace(",\n      called_computations={greater}", "")
    run_twice(text, "topk-decomposer")
    run_twice(text.replace("TopK", "other"), "topk-decomposer")


def test_topk_decomposer_still_decomposes_the_operation():
    text = """
HloModule topk
ENTRY main {
  p = f32[8,32] parameter(0)
  top = (f32[8,3], s32[8,3]) topk(p), k=3, largest=true
  ROOT indices = s32[8,3] get-tuple-element(top), index=1
}
"""
    module, _ = run_twice(text, "topk-decomposer")
    assert " sort(" in module.to_text()
    assert " topk(" not in module.to_text()


RNG = """
HloModule rng
ENTRY main {
  a = f32[] constant(0)
  b = f32[] constant(1)
  uniform = f32[3,5] rng(a, b), distribution=rng_uniform
  normal = f32[7] rng(a, b), distribution=rng_normal
  ROOT both = (f32[3,5], f32[7]) tuple(uniform, normal)
}
"""


def test_rng_expander_is_deterministic():
    """XLA's pass draws the key of each rng from a generator of the process."""
    one, other = run_twice(RNG, "rng-expander")
    assert one.fingerprint() == other.fingerprint()
    assert " rng(" not in one.to_text()
    # Both calls, and both states that make their numbers differ, are there.
    assert one.to_text().count(" rng-get-and-update-state(") == 2


SHARED_COMPUTATION = """
HloModule shared, replica_count=2
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}
ENTRY main {
  p = f32[4,3] parameter(0)
  zero = f32[] constant(0)
  sums = f32[4] reduce(p, zero), dimensions={1}, to_apply=add
  ROOT all = f32[4] all-reduce(sums), replica_groups={{0,1}}, to_apply=add
}
"""


@pytest.mark.parametrize("name", ["float-normalization-bf16", "bf16-mixed-precision-removal"])
def test_float_normalization_reports_the_computations_that_it_clones(name):
    module = Module.from_text(SHARED_COMPUTATION)
    fingerprint = module.fingerprint()
    assert module.run(name)
    assert module.fingerprint() != fingerprint
    assert not module.run(name)
    module.verify()


ENDLESS = """
HloModule endless
body {
  n = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(n, one)
}
condition {
  m = s32[] parameter(0)
  ROOT yes = pred[] constant(true)
}
ENTRY main {
  zero = s32[] constant(0)
  ROOT never = s32[] while(zero), condition=condition, body=body
}
"""


def test_no_pass_evaluates_a_loop_that_does_not_end():
    """Constant folding of level kAggressive would, for ever."""
    assert "constant_folding:aggressive" not in hlograph.passes
    for entry in hlograph.passes:
        Module.from_text(ENDLESS).run(entry)


# XLA prints "-0", and its parser reads that as an integer.
NEGATIVE_ZERO = """
HloModule zeros
ENTRY main {
  scalar = f32[] constant(-0.0)
  row = f32[3] constant({-0.0, -0.5, -0.0})
  table = bf16[2,2] constant({{-0.0, 0}, {0, -0.0}})
  complex = c64[] constant((-0.0, 2))
  whole = s32[2] constant({0, -10})
  odd = f32[] constant(-0.0), frontend_attributes={text="( -0, -0 )"}
  ROOT all = (f32[], f32[3], bf16[2,2], c64[], s32[2], f32[])
      tuple(scalar, row, table, complex, whole, odd)
}
"""


def test_text_keeps_negative_zeros():
    module = Module.from_text(NEGATIVE_ZERO)
    assert Module.from_text(module.to_text()).fingerprint() == module.fingerprint()
    positive = Module.from_text(NEGATIVE_ZERO.replace("-0.0", "0"))
    assert positive.fingerprint() != module.fingerprint()
    assert 'text="( -0, -0 )"' in module.to_text()
