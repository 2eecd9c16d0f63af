"""Tests of how far repeated searches agree, on known results."""

import pytest

from experiments.tune.page import page
from experiments.tune.repeats import repeatability, repeated
from experiments.tune.scores import Scores
from hlograph.plans import Plan
from tests.experiments.tune.known_results import PLAN, result

OTHER_PLACE = Plan(**{**vars(PLAN), "steps": (*PLAN.steps[:2], "dot-merger(%c)")})
RESULTS = [
    result("joint", "a", 2.0),
    result("joint", "a", 2.02, repeat=1),
    result("joint", "a", 2.5, repeat=2, plan=OTHER_PLACE),
    result("joint", "b", 1.0),
    result("joint", "b", 1.0, repeat=1),
    result("joint", "b", 1.1, repeat=2),
]


def test_pairs_of_searches_are_compared():
    of_a, of_b = repeated(RESULTS)
    assert of_a.same_plans == [True, False, False]
    assert of_a.same_kinds == [True, True, True]
    assert of_a.same_ratios == [True, False, False]
    assert of_a.spread == pytest.approx(1.25)
    # Searches that keep jaxlib's default have the same plan.
    assert of_b.same_plans == of_b.same_kinds == [True, False, False]


def test_findings_and_table_of_repeated_searches():
    (finding,) = repeatability(RESULTS)
    assert finding.startswith(
        "joint: of 6 pairs of searches on 2 programs, 2 came to the same plan"
    )
    assert "4 to the same decisions, and 2 to ratios within 5%" in finding
    assert finding.endswith("1.175 times the least in the median, at most 1.250 times")
    table = page(Scores.of(RESULTS), 20).partition("## How far searches agree")[2]
    assert "| a | 3 | 1 of 3 | 3 of 3 | 1 of 3 | 2.000 to 2.500 |" in table


def test_searches_with_other_seeds_are_no_repeats():
    others = [result("joint", "a", 2.0), result("joint", "a", 2.0, seed=1)]
    assert repeated(others) == [] == repeatability(others)
    assert "How far searches agree" not in page(Scores.of(others), 20)
