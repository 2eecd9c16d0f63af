"""The measures against numbers worked out by hand, and where they are not defined."""

import math

import pytest

from experiments.evaluate.metrics import (
    better_of,
    count_ratio,
    geometric_mean,
    ratios,
    reduction_ratio,
    share,
    share_within,
    worst,
)


def test_geometric_mean():
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([2.0, 0.0]) == 0.0
    assert math.isnan(geometric_mean([]))


def test_count_ratio_is_above_one_where_the_agent_is_better():
    assert count_ratio([100, 100], [50, 200]) == pytest.approx(1.0)
    assert count_ratio([900], [800]) == pytest.approx(1.125)


def test_reduction_ratio():
    # Reductions of 30 against 20, and of 10 against 40: sqrt(1.5 * 0.25).
    found = reduction_ratio(["a", "b"], [100, 100], [80, 60], [70, 90])
    assert found.ratio == pytest.approx(math.sqrt(1.5 * 0.25))
    assert found.counted == 2
    assert found.not_reduced_by_reference == ()
    assert found.not_reduced_by_agent == ()


def test_benchmarks_without_a_ratio_are_named():
    names = ["reduced", "same", "grown", "agent grows"]
    found = reduction_ratio(names, [100] * 4, [80, 100, 120, 90], [60, 50, 50, 130])
    assert found.counted == 2
    assert found.not_reduced_by_reference == ("same", "grown")
    assert found.not_reduced_by_agent == ("agent grows",)
    assert found.ratio == 0.0


def test_no_benchmark_is_reduced():
    found = reduction_ratio(["a"], [10], [12], [8])
    assert math.isnan(found.ratio)
    assert found.counted == 0


def test_the_better_of_two_is_the_least_and_needs_both():
    assert better_of({"a": 90, "b": 80, "c": 10}, ("a", "b")) == 80
    assert better_of({"a": 90}, ("a", "b")) is None
    assert better_of({"a": 90}, ()) is None


def test_worst_and_shares():
    values = ratios([100, 99, 50], [100, 100, 25])
    assert values == [1.0, 0.99, 2.0]
    assert worst(values) == 0.99
    assert share(values, at_least=1.0) == pytest.approx(2 / 3)
    assert math.isnan(worst([]))
    assert math.isnan(share([], 1.0))


def test_shares_near_the_best_known():
    assert share_within([100, 100, 200], [101, 102, 150], 0.01) == pytest.approx(2 / 3)
    assert math.isnan(share_within([], [], 0.01))
