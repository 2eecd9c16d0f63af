"""Quality of rankings: known answers."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.cost_model.comparison import log_seconds, repeated
from experiments.cost_model.ranking import ranking
from tests.experiments.cost_model.data import plan

# Seconds 1, 2, 4 and 8 of some unit, in another order.
PLANS = [replace(plan("p", [0]), ratios=(1 / s,) * 4) for s in (4.0, 1.0, 8.0, 2.0)]
SECONDS = log_seconds(PLANS)


def test_a_perfect_order():
    found = ranking([40.0, 10.0, 80.0, 20.0], SECONDS)
    assert found.tau == pytest.approx(1)
    assert found.clear == 1
    assert found.slowdown == pytest.approx((0, 0))
    assert found.needed == 1


def test_the_opposite_order():
    found = ranking([-4.0, -1.0, -8.0, -2.0], SECONDS)
    assert found.tau == pytest.approx(-1)
    assert found.clear == 0
    assert found.slowdown == pytest.approx((7, 0))  # five plans hold all four
    assert found.needed == 4


def test_no_order_is_the_mean_over_random_ones():
    found = ranking([1.0] * 4, SECONDS)
    assert found.tau == 0
    assert found.clear == 0.5
    assert 1.5 < found.needed < 3.5
    assert 0 < found.slowdown[0] < 7


def test_equal_halves_of_measurements_agree():
    assert repeated(PLANS) == pytest.approx(1)
    noisy = [replace(p, ratios=(p.ratio, 1 / p.ratio)) for p in PLANS]
    assert repeated(noisy) == pytest.approx(-1)


def test_predictions_scale_does_not_matter():
    random = np.random.default_rng(0).random(4)
    assert ranking(random, SECONDS) == ranking(1e3 * random, SECONDS)
