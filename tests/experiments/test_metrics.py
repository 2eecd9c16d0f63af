"""The measures against numbers worked out by hand, and where they are not defined."""

import math

import pytest

from experiments.metrics import count_ratio, geometric_mean, reduction_ratio


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
