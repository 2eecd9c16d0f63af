"""hlograph's own rules: each applies to its pattern, and the result is equivalent."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph.transforms.rewriting import find_rewrites
from tests.hlograph.transforms.algebra_programs import PROGRAMS
from tests.hlograph.transforms.rule_checks import check_rule

RANDOM = st.randoms(use_true_random=False)
OWN = [rule.name for rule in hlograph.rules if rule.equation and not (rule.for_time or rule.kernel)]


def test_there_are_programs_for_every_rule_of_our_own():
    assert set(OWN) == set(PROGRAMS)


@pytest.mark.parametrize("rule", OWN)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(rng=RANDOM)
def test_a_rule_of_our_own_applies_and_keeps_what_is_computed(rule, rng: Random):
    text = PROGRAMS[rule](rng)
    check_rule(rule, text, ("equal",) if "s32" in text else ("equal", "close"))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rule=st.sampled_from(OWN), rng=RANDOM)
def test_rules_found_side_by_side_are_those_found_alone(rule, rng: Random):
    module = hlograph.Module.from_text(PROGRAMS[rule](rng))
    assert module.rewrites() == find_rewrites(module._native, None, shared_copies=False)


MATRICES = """
  x = f32[4,4] parameter(0)
  y = f32[4,4] parameter(1)
  z = f32[4,4] parameter(2)
  s = f32[4] parameter(3)
"""
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
TRANSPOSED = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
IMAGES = """
  x = f32[1,8,4] parameter(0)
  k = f32[3,4,2] parameter(1)
  l = f32[3,4,2] parameter(2)
  g = f32[3,2,4] parameter(3)
  h = f32[3,2,4] parameter(4)
"""
CONVOLUTION = "window={size=3}, dim_labels=b0f_0io->b0f"

# Rule, and instructions where its pattern is all but there.
REFUSED = {
    "merge: one needs the other": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n e = f32[4,4] exponential(a)\n"
        f" ROOT b = f32[4,4] dot(x, e), {DOT}",
    ),
    "merge: over other dimensions": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n b = f32[4,4] dot(x, z), {TRANSPOSED}\n"
        " ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)",
    ),
    "merge: nothing to concatenate along": (
        "merge-dots:lhs",
        f"{MATRICES} r = f32[4] parameter(4)\n a = f32[4] dot(x, s), {DOT}\n"
        f" b = f32[4] dot(x, r), {DOT}\n ROOT t = (f32[4], f32[4]) tuple(a, b)",
    ),
    "merge: another precision": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n"
        f" b = f32[4,4] dot(x, z), {DOT}, operand_precision={{highest,highest}}\n"
        " ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)",
    ),
    "merge: another type of result": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n b = f64[4,4] dot(x, z), {DOT}\n"
        " ROOT t = (f32[4,4], f64[4,4]) tuple(a, b)",
    ),
    "merge: sharded": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n"
        f" b = f32[4,4] dot(x, z), {DOT}, sharding={{replicated}}\n"
        " ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)",
    ),
    "merge: before or after another": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n e = f32[4,4] exponential(z)\n"
        f" b = f32[4,4] dot(x, z), {DOT}, control-predecessors={{e}}\n"
        " ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)",
    ),
    "merge: a path of control": (
        "merge-dots:lhs",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n e = f32[4,4] exponential(a)\n"
        " c = f32[4,4] negate(z), control-predecessors={e}\n"
        f" b = f32[4,4] dot(x, c), {DOT}\n ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)",
    ),
    "merge: groups of features": (
        "merge-convolutions:input",
        f"{IMAGES} a = f32[1,6,4] convolution(x, g), {CONVOLUTION}, feature_group_count=2\n"
        f" b = f32[1,6,4] convolution(x, h), {CONVOLUTION}, feature_group_count=2\n"
        " ROOT t = (f32[1,6,4], f32[1,6,4]) tuple(a, b)",
    ),
    "merge: another window": (
        "merge-convolutions:input",
        f"{IMAGES} a = f32[1,6,2] convolution(x, k), {CONVOLUTION}\n"
        " b = f32[1,3,2] convolution(x, l), window={size=3 stride=2}, dim_labels=b0f_0io->b0f\n"
        " ROOT t = (f32[1,6,2], f32[1,3,2]) tuple(a, b)",
    ),
    "split: what is summed over": (
        "split-dot",
        " x = f32[4,2] parameter(0)\n y = f32[4,4] parameter(1)\n"
        " c = f32[4,4] concatenate(x, x), dimensions={1}\n"
        f" ROOT a = f32[4,4] dot(c, y), {DOT}",
    ),
    "join: nothing shared": (
        "join-dots",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n b = f32[4,4] dot(y, x), {DOT}\n"
        " ROOT c = f32[8,4] concatenate(a, b), dimensions={0}",
    ),
    "join: along the shared operand": (
        "join-dots",
        f"{MATRICES} a = f32[4,4] dot(x, z), {DOT}\n b = f32[4,4] dot(y, z), {DOT}\n"
        " ROOT c = f32[4,8] concatenate(a, b), dimensions={1}",
    ),
    "factor: nothing shared": (
        "factor-products",
        f"{MATRICES} a = f32[4,4] multiply(x, x)\n b = f32[4,4] multiply(y, z)\n"
        " ROOT c = f32[4,4] add(a, b)",
    ),
    "factor: dots do not commute": (
        "factor-dots",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n b = f32[4,4] dot(z, x), {DOT}\n"
        " ROOT c = f32[4,4] add(a, b)",
    ),
    "factor: a sum of operands would overflow": (
        "factor-dots",
        " x = s8[4,4] parameter(0)\n y = s8[4,4] parameter(1)\n z = s8[4,4] parameter(2)\n"
        f" a = s32[4,4] dot(x, z), {DOT}\n b = s32[4,4] dot(y, z), {DOT}\n"
        " ROOT c = s32[4,4] add(a, b)",
    ),
    "scale: along what is summed over": (
        "scale-result:dot",
        f"{MATRICES} w = f32[4,4] broadcast(s), dimensions={{1}}\n"
        f" m = f32[4,4] multiply(x, w)\n ROOT a = f32[4,4] dot(m, y), {DOT}",
    ),
    "scale: along a spatial dimension": (
        "scale-operand:convolution",
        f"{IMAGES} r = f32[6] parameter(5)\n a = f32[1,6,2] convolution(x, k), {CONVOLUTION}\n"
        " w = f32[1,6,2] broadcast(r), dimensions={1}\n ROOT m = f32[1,6,2] multiply(a, w)",
    ),
    "reassociate: no chain": (
        "reassociate-dots:right",
        f"{MATRICES} a = f32[4,4] dot(x, y), {DOT}\n ROOT b = f32[4,4] dot(a, z), {TRANSPOSED}",
    ),
    "pointwise: split elsewhere": (
        "split-pointwise",
        " x = f32[1] parameter(0)\n y = f32[3] parameter(1)\n"
        " a = f32[4] concatenate(x, y), dimensions={0}\n"
        " b = f32[4] concatenate(y, x), dimensions={0}\n ROOT c = f32[4] add(a, b)",
    ),
    "pointwise: other operations": (
        "join-pointwise",
        f"{MATRICES} a = f32[4,4] exponential(x)\n b = f32[4,4] negate(y)\n"
        " ROOT c = f32[8,4] concatenate(a, b), dimensions={0}",
    ),
    "rearrange: another permutation": (
        "rearrange-result",
        " x = f32[2,2,2] parameter(0)\n a = f32[2,2,2] transpose(x), dimensions={1,0,2}\n"
        " b = f32[2,2,2] transpose(x), dimensions={2,1,0}\n ROOT c = f32[2,2,2] add(a, b)",
    ),
    "rearrange: reshaped from another shape": (
        "rearrange-result",
        " x = f32[2,6] parameter(0)\n y = f32[3,4] parameter(1)\n a = f32[12] reshape(x)\n"
        " b = f32[12] reshape(y)\n ROOT c = f32[12] add(a, b)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_rule_of_our_own_does_not_apply_where_it_would_be_wrong(case):
    rule, body = REFUSED[case]
    module = hlograph.Module.from_text(f"HloModule m\n\nENTRY main {{\n{body}\n}}\n")
    module.verify()
    assert module.rewrites([rule]) == []


# Each pair is independent, until the other one is one product; no rule reads from one to the other.
CROSSED = f"""
HloModule crossed
ENTRY main {{
  {MATRICES}
  first = f32[4,4] dot(x, y), {DOT}
  second = f32[4,4] dot(z, y), {DOT}
  after_first = f32[4,4] exponential(first)
  after_second = f32[4,4] exponential(second)
  far_from_first = f32[4,4] negate(after_first)
  far_from_second = f32[4,4] negate(after_second)
  third = f32[4,4] dot(x, far_from_second), {DOT}
  fourth = f32[4,4] dot(z, far_from_first), {DOT}
  ROOT all = (f32[4,4], f32[4,4]) tuple(third, fourth)
}}
"""


def test_two_pairs_that_would_wait_for_each_other_are_not_both_merged():
    module = hlograph.Module.from_text(CROSSED)
    found = module.rewrites(["merge-dots:lhs"])
    assert {frozenset((r.instruction, r.other)) for r in found} == {
        frozenset(("first", "third")),
        frozenset(("second", "fourth")),
    }
    assert found == find_rewrites(module._native, ["merge-dots:lhs"], shared_copies=False)
    module.apply(found[0])
    module.verify()
    assert module.rewrites(["merge-dots:lhs"]) == []
    with pytest.raises(hlograph.errors.RewriteError, match="does not apply"):
        module.apply(found[1])


def test_query_key_and_value_become_one_dot():
    x = "x = f32[6,4] parameter(0)"
    weights = "\n".join(f"w{i} = f32[4,{3 + i}] parameter({i + 1})" for i in range(3))
    dots = "\n".join(f"d{i} = f32[6,{3 + i}] dot(x, w{i}), {DOT}" for i in range(3))
    root = "ROOT t = (f32[6,3], f32[6,4], f32[6,5]) tuple(d0, d1, d2)"
    text = f"HloModule qkv\n\nENTRY main {{\n{x}\n{weights}\n{dots}\n{root}\n}}\n"
    module = hlograph.Module.from_text(text)
    original = module.clone()
    while found := module.rewrites(["merge-dots:lhs"]):
        module.apply(found[0])
    module.verify()
    assert module.op_counts()[hlograph.OPCODES.index("dot")] == 1
    assert module.equivalent_to(original).verdict in ("equal", "close")


@pytest.mark.parametrize(
    ("there", "back"), [("split-dot", "join-dots"), ("distribute-dot", "factor-dots")]
)
def test_what_is_taken_apart_can_be_put_together(there, back):
    pieces = {
        "split-dot": "c = f32[8,4] concatenate(x, y), dimensions={0}\n"
        f" ROOT a = f32[8,4] dot(c, z), {DOT}",
        "distribute-dot": f"c = f32[4,4] add(x, y)\n ROOT a = f32[4,4] dot(c, z), {DOT}",
    }
    module = hlograph.Module.from_text(
        f"HloModule m\n\nENTRY main {{\n{MATRICES}{pieces[there]}\n}}\n"
    )
    before = module.fingerprint()
    module.apply(module.rewrites([there])[0])
    assert module.fingerprint() != before
    module.apply(module.rewrites([back])[0])
    assert module.fingerprint() == before
