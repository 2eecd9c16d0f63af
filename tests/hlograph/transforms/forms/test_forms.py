"""Rules for time: each applies to its pattern, and the result is equivalent."""

import re
from random import Random
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import hlograph
from benchmarks.speed_rules.catalogue import CASES, KERNELS, PROGRAMS, REFUSED
from benchmarks.speed_rules.lowering import array, lowered, program
from benchmarks.speed_rules.topics import loops
from hlograph.execution.executable import Executable
from hlograph.transforms.rewriting import find_rewrites
from tests.hlograph.transforms.rule_checks import check_rule

FORMS = [rule.name for rule in hlograph.rules.for_time]
OF_KERNELS = [rule.name for rule in hlograph.rules.of_kernels]
RANDOM = st.randoms(use_true_random=False)
DETAILS = [(rule, detail) for rule, details in REFUSED.items() for detail in details]


def test_there_are_programs_for_every_rule():
    assert set(FORMS) == set(PROGRAMS)
    assert set(OF_KERNELS) == set(KERNELS)


def test_every_rule_has_a_program_that_it_refuses():
    assert {*FORMS, *OF_KERNELS} == {rule for rule, _ in DETAILS}


def test_every_rule_has_a_case_where_it_pays():
    assert {*FORMS, *OF_KERNELS} == {rule for case in CASES if case.pays for rule in case.rules}


@pytest.mark.parametrize("rule", FORMS)
def test_a_rule_applies_and_keeps_what_is_computed(rule):
    text = PROGRAMS[rule](Random(rule))  # the campaign of forms draws more
    exact = hlograph.rules[rule].exact
    check_rule(rule, text, ("equal",) if exact else ("equal", "close"))


@settings(max_examples=3, deadline=None, derandomize=True)
@given(rng=RANDOM)
def test_hoisted_products_are_read_in_the_parts_that_the_loop_takes(rng: Random):
    text = loops.draw_gates(rng)
    module = hlograph.Module.from_text(text)
    assert not module.rewrites(["slice-of-dynamic-slice"])
    (rewrite,) = module.rewrites(["hoist-projection"])
    module.apply(rewrite)
    assert module.to_text().count(" dynamic-slice(") == text.count(" slice(") > 1
    assert not module.rewrites(["slice-of-dynamic-slice"])


def _sums(rows: jax.Array) -> Any:
    def step(state: jax.Array, row: jax.Array) -> Any:
        state = 3 * state + row
        return state, (state, row - state)

    return lax.scan(step, rows[0], rows)[1]


@pytest.mark.parametrize(("has_side_effect", "scatters"), [(False, 0), (True, 1)])
def test_calls_with_side_effects_may_give_different_places(has_side_effect: bool, scatters: int):
    """An update before a loop is joined with those of the loop only where it is at their place."""

    def function(x: jax.Array) -> jax.Array:
        places = [
            jax.ffi.ffi_call("place", array(dtype="int32"), has_side_effect=has_side_effect)()
            for _ in range(2)
        ]
        x = x.at[places[0]].set(9, mode="clip")
        return lax.fori_loop(0, 4, lambda k, x: x.at[places[1]].set(k, mode="clip"), x)

    module = hlograph.Module.from_text(lowered(function, array(6)))
    (rewrite,) = module.rewrites(["carried-element"])
    module.apply(rewrite)
    assert module.to_text().count(" scatter(") == scatters


def test_loops_with_the_same_body_run_by_blocks():
    text = program(lambda x: _sums(_sums(x.T)[0])[1].T, "s32:40001x8")()
    (first, second) = re.findall(r"condition=(\S+), body=(\S+)", text)
    shared = text.replace(
        f"condition={second[0]}, body={second[1]}", f"condition={first[0]}, body={first[1]}"
    )
    assert shared != text
    check_rule("loop-in-blocks", shared, ("equal",))


@pytest.mark.parametrize("between", [3, 6, 9])
def test_loops_run_by_blocks_with_many_operations_between_them(between):
    def function(x):
        states, rows = _sums(x.T)
        for _ in range(between):
            rows = jax.numpy.abs(rows)
        return lax.fori_loop(1, 8, lambda i, y: y.at[i].add(y[i - 1] * states[i]), rows).T

    check_rule("loop-in-blocks", program(function, "s32:40001x8")(), ("equal",))


def test_a_loop_that_runs_by_blocks_is_not_divided_again():
    module = hlograph.Module.from_text(program(lambda x: _sums(x.T)[0].T, "s32:65536x14")())
    (rewrite,) = module.rewrites(["loop-in-blocks"])
    module.apply(rewrite)
    assert not module.rewrites(["loop-in-blocks"])


@pytest.mark.parametrize("rule", [*FORMS, *OF_KERNELS])
def test_a_rule_reads_no_further_than_it_declares(rule):
    text = {**PROGRAMS, **KERNELS}[rule](Random(rule))
    module = hlograph.Module.from_text(text)
    rules = [*hlograph.rules.general, rule]
    assert module.rewrites(rules) == find_rewrites(module._native, rules, shared_copies=False)


@pytest.mark.parametrize(("rule", "detail"), DETAILS)
def test_a_rule_refuses_what_lacks_one_detail(rule, detail):
    module = hlograph.Module.from_text(REFUSED[rule][detail]())
    assert not module.rewrites([rule])


def test_contractions_in_blocks_are_the_same_in_each_reading():
    def function(x, y, u, v, scale):
        outer, product = u[:, None] * v, x @ y.T
        both = scale * (outer * product)
        return (both - both.max(1, keepdims=True)).sum(1), outer, product

    vectors = [array(1024, 4)] * 2 + [array(1024)] * 2
    text = lowered(function, *vectors, array(dtype="float64"))
    counts, modules = set(), []
    for _ in range(16):  # which objects come first in memory changes
        module = hlograph.Module.from_text(text)
        for reading in (module, module.clone()):
            (rewrite, *_) = reading.rewrites(["contraction-in-blocks"])
            reading.apply(rewrite)
            counts.add((rewrite.op_count, reading.op_count))
            modules.append(reading)
    assert len(counts) == 1


@pytest.mark.parametrize("exponent", [-1.5, -1.25, -0.5, 0.25, 0.75, 1.5, 2.5, 5.0])
def test_powers_of_every_sign_and_of_infinities(exponent):
    values = [-np.inf, -3.5, -1.0, -0.0, 0.0, 1e-30, 0.25, 2.0, np.inf, np.nan]
    x = np.array(values, np.float32)
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
    expected, result = (
        np.frombuffer(Executable(each).run([x])[0], np.float32) for each in (module, rewritten)
    )
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("exponent", [-0.25, -0.75, -2.0, -2.25, -4.0, -7.0, -8.0])
def test_powers_beside_denormal_numbers(exponent):
    results = np.array([2e38, 1e38, 5e37, 1e30], np.float64) ** (1 / exponent)
    x = np.append(results[results > 1.2e-38], [1e20, 3e38])
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
    module.apply(rewrite)
    result = np.frombuffer(Executable(module).run([x.astype(np.float32)])[0], np.float32)
    np.testing.assert_allclose(
        result, x.astype(np.float32).astype(np.float64) ** exponent, rtol=1e-5, atol=1.2e-38
    )
