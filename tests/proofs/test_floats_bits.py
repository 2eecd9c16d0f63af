"""Bits, integers, NaNs and infinities: what rules claim holds, and wrong variants are seen."""

import ml_dtypes
import numpy as np
import pytest

import hlograph
from tests.proofs.claim import claims
from tests.proofs.floats.exhaustive import every_key
from tests.proofs.floats.programs import draws, retyped
from tests.proofs.floats.rows import QUICK, RULES, Effort, float_row
from tests.proofs.floats.special import CHANGES, changed, claim_of, keeps_bits
from tests.proofs.floats.values import drawn, finite, special


def test_every_rule_has_a_class():
    classes = {rule.name: claim_of(rule) for rule in RULES}
    assert set(classes) == set(claims())
    assert {name for name, claim in classes.items() if "finite" in claim} == set(CHANGES)
    assert not any(keeps_bits(hlograph.rules[name]) for name in CHANGES)


QUICK_RULES = ("rearrange-result", "factor-products", "sort-by-integer-keys")


@pytest.mark.parametrize("rule", QUICK_RULES)
def test_what_a_rule_claims_holds(rule):
    row = float_row(hlograph.rules[rule], QUICK)
    assert row.result == "holds"
    assert {"f32", "bf16", "f64"} <= set(row.types)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [r.name for r in RULES if r.name not in QUICK_RULES])
def test_what_every_other_rule_claims_holds(rule):
    assert float_row(hlograph.rules[rule], QUICK).result == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["contraction-in-parts", "loop-in-blocks"])
def test_rules_of_large_programs_have_bounds_with_more_effort(rule):
    row = float_row(hlograph.rules[rule], Effort(programs=1, samples=1))
    assert row.result == "holds"
    assert 0 < row.bound < np.inf
    assert "no bound" not in row.method


def test_the_position_of_the_greatest_is_the_same_for_all_values():
    others = np.array([-np.inf, -0.0, np.nan]).astype(ml_dtypes.bfloat16)
    pair, inputs = every_key("argmax-as-first-maximum", "bf16", others)
    assert inputs[0].shape == (2 * 3 << 16, 2)
    before, after = pair.compiled(inputs)
    assert not any(changed(before, after))
    wrong = pair.with_after(pair.after.to_text().replace("direction=NE", "direction=LT"))
    assert changed(*wrong.compiled(inputs)).kinds["integer"]


# Rule, type, class of values, and what is replaced in the module after the rule.
WRONG = {
    "a difference instead of a sum": ("join-pointwise", "f32", "special", " add(", " subtract("),
    "integers that do not wrap": ("factor-products", "s8", "special", " add(", " maximum("),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variant_changes_bits(name):
    rule, element_type, kind, old, new = WRONG[name]
    pair = next(pair for pair in draws(rule, element_type, 8) if old in pair.after.to_text())
    inputs = drawn(pair, kind, 0)
    assert not changed(*pair.evaluated(inputs)).kinds
    wrong = pair.with_after(pair.after.to_text().replace(old, new))
    assert changed(*wrong.evaluated(inputs)).kinds


def test_kinds_of_changes_are_told_apart():
    values = np.array([0, 1, np.inf, np.nan, np.inf, 2, np.nan, 1], np.float32)
    others = np.array([-0.0, np.nan, np.nan, 3, 4, np.inf, -np.nan, 1 + 2**-23], np.float32)
    payloads, kinds = changed([values], [others])
    assert payloads == 1
    assert kinds == {
        "sign of zero": 1,
        "NaN for number": 1,
        "NaN for infinity": 1,
        "number for NaN": 1,
        "number for infinity": 1,
        "infinity for number": 1,
        "rounding": 1,
    }


@pytest.mark.parametrize("element_type", ["f32", "bf16", "f16", "f64", "f8e5m2"])
def test_special_values_are_of_every_class(element_type):
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = special(element_type).astype(np.float64)
    assert {-np.inf, np.inf, 0.0, 1.0} <= set(values)
    assert np.isnan(values).sum() >= 6
    assert {True, False} == set(np.signbit(values[values == 0]))
    assert np.isfinite(finite(element_type).astype(np.float64)).all()


def test_a_program_in_another_type_has_no_array_of_the_first():
    text = "ENTRY e {\n  x = f32[2] parameter(0)\n  i = s32[] parameter(1)\n}"
    assert retyped(text, "bf16") == text.replace("f32", "bf16")
