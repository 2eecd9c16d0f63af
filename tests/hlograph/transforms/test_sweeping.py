"""Sweeps: one rule at all places where it applies, as one change."""

import pytest

import hlograph
from hlograph import Module
from hlograph.errors import RewriteError, UnknownNameError
from hlograph.module import take_step
from hlograph.transforms.rewriting import find_rewrites
from hlograph.transforms.sweeping import sweep, sweeps_of
from tests.hlograph.transforms.small_programs import small_programs

NESTED = """
HloModule nested
double { p = f32[2] parameter(0) ROOT sum = f32[2] add(p, p) }
fourfold {
  q = f32[2] parameter(0)
  once = f32[2] call(q), to_apply=double
  ROOT twice = f32[2] call(once), to_apply=double
}
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] call(x), to_apply=fourfold
  ROOT z = f32[2] call(y), to_apply=fourfold
}
"""


@pytest.fixture(scope="module", params=small_programs(12), ids=lambda b: b.name)
def program(request) -> Module:
    return request.param.load()


@pytest.fixture
def nested() -> Module:
    return Module.from_text(NESTED)


def test_a_sweep_leads_where_its_rewrites_lead_one_after_the_other(program):
    swept = 0
    for rule in hlograph.rules.general:
        one, other = program.clone(), program.clone()
        assert one.sweep(rule) == len(sweep(other, rule.name))
        assert one.fingerprint() == other.fingerprint(), rule.name
        swept += one.fingerprint() != program.fingerprint()
    assert swept


def test_what_is_listed_after_sweeps_is_what_a_listing_anew_finds(program):
    module = program.clone()
    module.rewrites()
    for rule in ("inline", "algebraic", "merge", "algebraic"):
        module.sweep(rule)
        assert module.rewrites() == find_rewrites(module._native, None, reuse=False)
    module.verify()
    assert module.equivalent_to(program).verdict in ("equal", "close", "not comparable")


def test_places_that_a_sweep_makes_are_left_alone(nested):
    assert nested.sweep("inline") == 4
    # The copies of the inner calls, of which there are none any more: callees came first.
    assert nested.sweep("inline") == 0
    assert nested.op_count == 1 + 4


def test_a_sweep_is_a_step_by_name(nested):
    other = nested.clone()
    assert take_step(nested, "inline(*)")
    assert other.sweep(hlograph.rules["inline"]) == 4
    assert nested.fingerprint() == other.fingerprint()
    with pytest.raises(RewriteError, match=r"inline\(\*\) applies nowhere"):
        nested.apply("inline(*)")
    assert nested.sweep("inline") == 0
    with pytest.raises(UnknownNameError, match="did you mean 'inline'"):
        nested.sweep("inlin")


def test_a_sweep_may_keep_to_places_that_leave_fewer_instructions(program):
    module, other = program.clone(), program.clone()
    for rule in ("inline", "algebraic", "merge"):
        before = module.op_count
        places = sweep(other, rule, lambda rewrite: rewrite.op_count < 0)
        assert module.sweep(rule, fewer=True) == len(places)
        assert module.fingerprint() == other.fingerprint()
        assert module.op_count < before or not places
    fewer = {one.rule for one in sweeps_of(program.rewrites()) if one.instruction == "-"}
    for rule in fewer:
        one, other = program.clone(), program.clone()
        one.apply(f"{rule}(-)")
        other.sweep(rule, fewer=True)
        assert one.fingerprint() == other.fingerprint()


def test_a_plan_may_have_sweeps_as_steps(nested):
    from hlograph.plans.transforming import apply_steps

    other = nested.clone()
    apply_steps(nested, ("inline(*)", "dce"))
    other.sweep("inline")
    other.run("dce")
    assert nested.fingerprint() == other.fingerprint()


def test_sweeps_add_up_the_changes_of_their_rewrites(nested):
    found = nested.rewrites()
    (inlined,) = [one for one in sweeps_of(found) if one.rule == "inline"]
    assert len(inlined.rewrites) == 4
    assert inlined.op_count == sum(one.op_count for one in found if one.rule == "inline")
    assert str(inlined) == f"inline(*) {inlined.op_count:+d}"
    # A rule with one place needs no sweep.
    assert not sweeps_of(inlined.rewrites[:1])
