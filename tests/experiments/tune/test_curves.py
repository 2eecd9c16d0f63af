"""Tests of what is said of a race."""

from experiments.tune.curves import agreement
from hlograph.plans import Plan
from tests.hlograph.optimization.outcomes import made_outcome


def test_finals_are_compared_with_the_screening_of_their_plan():
    plans = [Plan(steps=("dce",) * count) for count in (1, 2)]
    screened = [made_outcome(plan, 2.0, 1.9, thorough=False) for plan in plans]
    finals = [made_outcome(plan, ratio, ratio) for plan in plans[:1] for ratio in (1.8, 1.0)]
    sentence = agreement([[*screened, *finals], screened])
    assert sentence.startswith("In 2 measurements of finals, plans had 0.70 times the ratio")
    assert sentence.endswith("1 kept a lead.")
    assert agreement([screened]) == "No plan was in a final."
