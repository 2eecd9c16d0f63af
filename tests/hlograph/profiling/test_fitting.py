"""Rates that are fitted to times made up from known rates."""

import numpy as np
import pytest

from hlograph.profiling.calibrating import fit_rates


def made_up(noise):
    rng = np.random.default_rng(0)
    amounts = 10 ** rng.uniform(0, 6, (200, 8)) * (rng.random((200, 8)) < 0.4)
    amounts[:, 0] = 1
    rates = 10.0 ** np.array([-6, -9, -8, -7, -10, -9, -8, -6])
    seconds = amounts @ rates * rng.uniform(1 - noise, 1 + noise, 200)
    return amounts, rates, seconds


def test_exact_times_give_the_rates():
    amounts, rates, seconds = made_up(noise=0)
    np.testing.assert_allclose(fit_rates(amounts, seconds), rates, rtol=0.01)


def test_noisy_times_give_about_the_rates():
    amounts, _, seconds = made_up(noise=0.2)
    found = amounts @ fit_rates(amounts, seconds)
    assert np.median(np.abs(found / seconds - 1)) < 0.2


def test_no_rate_is_negative():
    amounts = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    rates = fit_rates(amounts, np.array([3.0, 2.0, 1.0]))
    assert (rates >= 0).all()
    assert rates[1] == pytest.approx(0)


def test_features_that_no_program_has():
    amounts = np.array([[1.0, 0.0], [2.0, 0.0]])
    assert fit_rates(amounts, np.array([2.0, 4.0])) == pytest.approx([2.0, 0.0], rel=1e-4)
