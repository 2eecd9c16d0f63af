"""Functions that rules approximate stay within their errors, and a wrong polynomial does not."""

import dataclasses

import numpy as np
import pytest

import hlograph
from benchmarks.speed_rules.lowering import array, lowered
from tests.proofs.floats.functions import (
    APPROXIMATIONS,
    Approximation,
    compiled,
    floats_between,
    measured,
)
from tests.proofs.floats.programs import applied

BY_NAME = {each.name: each for each in APPROXIMATIONS}


@pytest.mark.parametrize(
    "name",
    ["sine", "cosine", "angle of (1, y)", "angle of points", "remainder", "x^-2.5", "x^0.75"],
)
def test_a_function_is_as_exact_as_claimed(name):
    approximation = BY_NAME[name]
    result = measured(approximation, 1 << 14, chunk=1 << 14)
    assert result.count >= 1 << 10
    assert 0 <= result.epsilons <= approximation.epsilons


@pytest.mark.parametrize("name", [each.name for each in APPROXIMATIONS if each.name[0] == "x"][::3])
def test_a_power_is_as_exact_at_every_exponent(name):
    approximation = BY_NAME[name]
    numbers = (1.37 * np.exp2(np.arange(-126, 127.5, 0.25))).astype(np.float32)
    run = compiled(approximation.rule, approximation.function, array(*numbers.shape))
    exact = approximation.reference(numbers.astype(np.float64))
    # What is less than the least normal number is zero, also where its reciprocal is the result.
    least = float(np.finfo(np.float32).tiny)
    use = (least < exact) & (exact < 1 / least)
    errors = np.abs(np.asarray(run(numbers))[use] - exact[use]) / exact[use] / 2.0**-23
    assert use.sum() > 100
    assert errors.max() <= approximation.epsilons


def test_every_approximated_function_is_measured():
    names = {"sine-by-polynomial", "arctangent-by-polynomial", "remainder-by-subtraction"}
    assert {each.rule for each in APPROXIMATIONS} == names | {"power-as-roots"}


def test_floats_of_a_range_are_all_there():
    chunks = list(floats_between(1, 1.5, 1, 1 << 20))
    values = np.concatenate([chunk for (chunk,) in chunks])
    distinct = np.unique(values)
    assert len(distinct) == (1 << 22) + 1
    assert distinct[0] == 1
    assert distinct[-1] == 1.5


def _text(approximation: Approximation, size: int) -> str:
    arguments = next(approximation.arguments(1, 1))
    return lowered(approximation.function, *(array(size) for _ in arguments))


# Function, and what is replaced in the module after the rule.
WRONG = {
    "a coefficient that is off by 2^-20": ("angle of (1, y)", "-0.333332777", "-0.333331823"),
    "a part of a quarter turn that is dropped": ("sine", "constant(0.000483751297)", "constant(0)"),
    "a quarter turn less": ("cosine", "constant(1)", "constant(0)"),
    "one subtraction less": ("remainder", "constant(2)", "constant(1)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_approximation_exceeds_the_claim(name):
    function, old, new = WRONG[name]
    approximation = BY_NAME[function]
    pair = applied(approximation.rule, _text(approximation, 1 << 14))
    assert pair is not None
    text = pair.after.to_text()
    assert old in text, text
    wrong = pair.with_after(text.replace(old, new))

    def run(*arguments: np.ndarray) -> np.ndarray:
        return wrong.compiled(list(arguments))[1][0]

    result = measured(approximation, 1 << 14, chunk=1 << 14, run=run)
    assert result.epsilons > approximation.epsilons


def test_a_rule_of_approximation_is_close():
    for approximation in APPROXIMATIONS:
        assert not hlograph.rules[approximation.rule].exact
        assert dataclasses.is_dataclass(approximation)
