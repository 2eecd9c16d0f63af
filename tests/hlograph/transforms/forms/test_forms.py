"""Rules for time: each applies to its pattern, and the result is equivalent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph.execution.executable import Executable
from hlograph.transforms.rewriting import find_rewrites
from tests.hlograph.transforms.forms import (
    attention_dots,
    carried_loops,
    contraction_parts,
    convolutions,
    distances,
    dots,
    dynamic_slices,
    gathers,
    indexing,
    input_gradients,
    loops,
    pointwise,
    reductions,
    scans,
    sorting,
    stored_values,
    swapped_dots,
    windows,
)
from tests.hlograph.transforms.rule_checks import check_rule

TOPICS = (
    convolutions,
    sorting,
    distances,
    indexing,
    dots,
    dynamic_slices,
    loops,
    scans,
    reductions,
    pointwise,
    gathers,
    stored_values,
    windows,
    input_gradients,
    swapped_dots,
    attention_dots,
    carried_loops,
    contraction_parts,
)
PROGRAMS = {rule: programs for topic in TOPICS for rule, programs in topic.PROGRAMS.items()}
REFUSED = {
    f"{rule}: {detail}": (rule, text)
    for topic in TOPICS
    for detail, (rule, text) in topic.REFUSED.items()
}
FORMS = [rule.name for rule in hlograph.rules.for_time]


def test_there_are_programs_for_every_rule():
    assert set(FORMS) == set(PROGRAMS)


def test_every_rule_has_a_program_that_it_refuses():
    assert set(FORMS) == {rule for rule, _ in REFUSED.values()}


@pytest.mark.parametrize("rule", FORMS)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_rule_applies_and_keeps_what_is_computed(rule, data):
    text = data.draw(PROGRAMS[rule]())
    exact = hlograph.rules[rule].exact
    check_rule(rule, text, ("equal",) if exact else ("equal", "close"))


@settings(max_examples=3, deadline=None, derandomize=True)
@given(text=loops.gated())
def test_hoisted_products_are_read_in_the_parts_that_the_loop_takes(text):
    module = hlograph.Module.from_text(text)
    assert not module.rewrites(["slice-of-dynamic-slice"])
    (found,) = module.rewrites(["hoist-projection"])
    module.apply(found)
    assert module.to_text().count(" dynamic-slice(") == text.count(" slice(") > 1
    assert not module.rewrites(["slice-of-dynamic-slice"])


@pytest.mark.parametrize("rule", FORMS)
@settings(max_examples=1, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_rule_reads_no_further_than_it_declares(rule, data):
    text = data.draw(PROGRAMS[rule]())
    module = hlograph.Module.from_text(text)
    rules = [*hlograph.rules.general, rule]
    assert module.rewrites(rules) == find_rewrites(module._native, rules, shared_copies=False)


@pytest.mark.parametrize("case", REFUSED)
def test_a_rule_refuses_what_lacks_one_detail(case):
    rule, text = REFUSED[case]
    module = hlograph.Module.from_text(text())
    assert not module.rewrites([rule])


@pytest.mark.parametrize("exponent", [-1.5, -1.25, -0.5, 0.25, 0.75, 1.5, 2.5, 5.0])
def test_powers_of_every_sign_and_of_infinities(exponent):
    numbers = [-np.inf, -3.5, -1.0, -0.0, 0.0, 1e-30, 0.25, 2.0, np.inf, np.nan]
    x = np.array(numbers, np.float32)
    module = hlograph.Module.from_text(f"""
HloModule powers
ENTRY main {{
  x = f32[{len(x)}] parameter(0)
  exponent = f32[] constant({exponent})
  exponents = f32[{len(x)}] broadcast(exponent), dimensions={{}}
  ROOT y = f32[{len(x)}] power(x, exponents)
}}
""")
    (rewrite,) = module.rewrites("power-as-roots")
    rewritten = module.clone()
    rewritten.apply(rewrite)
    one, other = (
        np.frombuffer(Executable(each).run([x])[0], np.float32) for each in (module, rewritten)
    )
    np.testing.assert_allclose(other, one, rtol=1e-5)
    known = ~np.isnan(one)
    np.testing.assert_array_equal(np.signbit(other)[known], np.signbit(one)[known])
