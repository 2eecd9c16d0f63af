import math

import numpy as np
import pytest

from hlograph.execution.bootstrap import Interval, bootstrap_interval


def test_bootstrap_interval():
    assert bootstrap_interval([1.5] * 10) == pytest.approx((1.5, 1.5))
    # The logarithm of a mean of n values with deviation s has deviation s / sqrt(n).
    values = np.exp(np.random.default_rng(1).normal(0.1, 0.2, 400)).tolist()
    low, high = bootstrap_interval(values)
    mean = math.exp(np.mean(np.log(values)))
    assert math.log(high / mean) == pytest.approx(1.96 * 0.2 / 20, rel=0.15)
    assert math.log(mean / low) == pytest.approx(1.96 * 0.2 / 20, rel=0.15)
    assert bootstrap_interval(values) == (low, high)
    assert bootstrap_interval(values, confidence=0.5)[0] > low


def test_bootstrap_interval_where_a_ratio_is_zero_or_none_is_there():
    low, high = bootstrap_interval([0.0, 1.0])
    assert (low, high) == (0.0, 1.0)
    assert all(map(math.isnan, bootstrap_interval([])))


def test_bootstrap_interval_of_a_median_ignores_an_outlier():
    values = [1.0] * 20 + [1000.0]
    assert bootstrap_interval(values, statistic="median") == (1.0, 1.0)
    assert bootstrap_interval(values)[1] > 1.5


def test_equal_ratios_leave_no_doubt():
    assert Interval.of_median([2.0] * 5) == (2.0, 2.0, 2.0)


def test_the_interval_holds_the_median():
    median = Interval.of_median([1.0, 1.1, 1.2, 1.3, 9.0])
    assert median.value == 1.2
    assert 0.99 < median.low < median.value < median.high < 9.01


def test_quartiles():
    assert Interval.quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, 2.0, 4.0)
    assert Interval.quartiles([7.0]) == (7.0, 7.0, 7.0)
