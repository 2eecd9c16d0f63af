"""Every rule: its results are equal over finite fields, and wrong variants of them are not."""

import pytest

from tests.proofs.modular.rules import CLAIMS_OF_FUNCTIONS, PROGRAMS, evidence_of, table

DECIDED = [rule for rule in PROGRAMS if rule not in CLAIMS_OF_FUNCTIONS]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, marks=() if number % 5 == 0 else pytest.mark.slow)
        for number, rule in enumerate(DECIDED)
    ],
)
def test_a_result_is_equal_and_a_wrong_variant_is_not(rule):
    evidence = evidence_of(rule, programs=1, mutants=1)
    assert evidence.is_proved, evidence
    assert evidence.mutants["refuted"], evidence
    assert not evidence.missed, evidence
    assert evidence.bound < 1e-6


@pytest.mark.parametrize("rule", CLAIMS_OF_FUNCTIONS)
def test_a_rule_about_a_function_is_left_undecided(rule):
    evidence = evidence_of(rule, programs=1)
    assert {*evidence.verdicts} == {"undecided"}
    assert f"`{rule}`" in table([evidence])
