"""Traits: each on examples; "dead" and "duplicate" also compared with dce and cse."""

import pytest

from hlograph import Module
from hlograph.graph.traits import TRAITS
from tests.hlograph import samples
from tests.hlograph.graph.graph_facts import traits

SHAPES = {
    "zeros": {"uniform", "zero", "zero_operand", "constant_operands", "one_element_operand"},
    "ones": {"uniform", "one", "one_operand", "constant_operands", "one_element_operand"},
    "filled": {"uniform", "one_element_operand"},
    "front": {"prepends_dims"},
    "behind": {"touches_minor_dim"},
    "plus0": {"like_operand", "zero_operand"},
    "times1": {"like_operand", "one_operand"},
    "square": {"like_operand", "repeated_operand"},
    "flat": set(),
    "squeezed": {"unit_dims_only"},
    "again": {"same_opcode_as_operand"},
    "swapped": {"unit_dims_only", "swaps_minor_dims", "touches_minor_dim"},
    "turned": {"touches_minor_dim"},
    "identity": {"like_operand", "unit_dims_only"},
    "same": {"like_operand"},
    "narrow": {"narrows"},
    "wide": {"same_opcode_as_operand"},
    "unit": {"unit_dims_only", "zero_operand"},
    "minor": {"touches_minor_dim", "zero_operand"},
    "major": {"zero_operand"},
    "ne": {"compares_less", "compares_greater", "zero_operand", "one_element_operand"},
    "ge": {"compares_greater", "compares_equal", "zero_operand", "one_element_operand"},
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_simplifiers_look_for(name):
    # Nothing is used in that module, and a broadcast of a scalar makes the minor dimension.
    ignored = {"dead"} | ({"touches_minor_dim"} if name in ("zeros", "ones", "filled") else set())
    assert traits(samples.SHAPES, name) - ignored == SHAPES[name]


def test_windows_slices_and_indices():
    assert traits(samples.CONVOLUTION, "out") == {"strided", "padded", "grouped"}
    assert traits(samples.INDEXING, "cut") == {"strided"}
    assert "constant_indices" in traits(samples.INDEXING, "moved")
    assert "constant_indices" not in traits(samples.INDEXING, "window")
    assert "sorted_indices" in traits(samples.INDEXING, "rows")
    assert "unique_indices" in traits(samples.INDEXING, "put")
    assert traits(samples.INDEXING, "wide") == {"padded", "zero_operand"}


def test_facts_of_the_module():
    assert traits(samples.DYNAMIC, "x") == {"dynamic"}
    assert "has_side_effect" in traits(samples.CUSTOM_CALL, "call")
    assert "has_side_effect" not in traits(samples.CUSTOM_CALL, "other")
    assert "is_sharded" in traits(samples.SHARDING, "x")
    assert {name for name in "xabc" if "has_control" in traits(samples.CONTROL, name)} == set("abc")
    assert "like_operand" not in traits(samples.NESTED_TUPLES, "first")


def test_side_effect_of_a_callee():
    text = """
        HloModule effects

        inner {
          p = f32[] parameter(0)
          ROOT shout = f32[] custom-call(p), custom_call_target="f",
              custom_call_has_side_effect=true
        }

        ENTRY main {
          q = f32[] parameter(0)
          first = f32[] call(q), to_apply=inner
          second = f32[] call(q), to_apply=inner
          ROOT out = f32[] negate(q)
        }
    """
    for name in ("shout", "first", "second", "inner", "main"):
        assert traits(text, name) & {"has_side_effect", "dead", "duplicate"} == {"has_side_effect"}
    assert "has_side_effect" not in traits(text, "out")


def test_dead_and_duplicate():
    names = ("e1", "e2", "n1", "n2", "sum1", "sum2", "sum", "d1", "d2", "gone", "same", "idle")
    found = {name: traits(samples.REDUNDANT, name) & {"dead", "duplicate"} for name in names}
    assert {name for name in names if "dead" in found[name]} == {"d1", "d2", "gone", "same"}
    assert {name for name in names if "duplicate" in found[name]} == {"e2", "n2", "sum2"}
    assert "dead" in traits(samples.REDUNDANT, "unused")
    assert "dead" not in traits(samples.REDUNDANT, "left")


def _count(module: Module, trait: str) -> int:
    graph = module.graph()
    has_trait = graph.traits >> list(TRAITS).index(trait) & 1
    return int(has_trait[graph.opcode >= 0].sum())


def test_dce_removes_what_is_dead_and_cse_what_is_duplicate():
    module = Module.from_text(samples.REDUNDANT)
    dead = _count(module, "dead")
    before = module.op_count
    module.run("dce")
    assert before - module.op_count == dead > 0
    duplicates = _count(module, "duplicate")
    before = module.op_count
    module.run("cse")
    assert before - module.op_count == duplicates == 3


def test_dce_removes_what_is_dead_in_models(small_benchmarks):
    checked = 0
    for benchmark in small_benchmarks[:12]:
        module = benchmark.load()
        for name in ("call-inliner", "simplify-while-loops", "algsimp"):
            module.run(name)
            dead, before = _count(module, "dead"), module.op_count
            after_dce = module.clone()
            after_dce.run("dce")
            assert before - after_dce.op_count == dead, (benchmark.name, name)
            checked += dead
    assert checked > 0
