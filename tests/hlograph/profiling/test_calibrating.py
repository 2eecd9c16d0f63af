"""Rates of a machine: small programs are measured, and rates fitted to their times."""

import numpy as np
import pytest

from hlograph.execution.rates import features
from hlograph.profiling.calibrating import (
    CalibrationSample,
    calibrate,
    errors_by_kind,
    fit,
    fit_rates,
)


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


pytest.importorskip("jax")


def test_a_few_programs():
    from hlograph.profiling.calibration_programs import SmallProgram

    x = np.ones((64, 64), np.float32)
    programs = [
        SmallProgram("dot", "dot", lambda x, y: x @ y, (x, x)),
        SmallProgram("elementwise", "sum", lambda x, y: x + y, (x, x)),
    ]
    seen = []
    rates, points = calibrate(programs, seen.append)
    assert [point.name for point in points] == ["dot", "sum"] == [point.name for point in seen]
    assert all(0 < point.seconds < 1 for point in points)
    errors = errors_by_kind(rates, points)
    assert errors.keys() == {"dot", "elementwise"}
    assert all(1 <= error < 2 for error in errors.values())


def test_fit_of_known_rates():
    kernels = features().index("kernels")
    elements = features().index("cheap_elements")
    points = [
        CalibrationSample(
            "sum", str(size), ((kernels, 1.0), (elements, float(size))), 1e-6 + 1e-9 * size
        )
        for size in (10, 100, 1000, 10_000, 100_000)
    ]
    rates = fit(points)
    assert rates.seconds[kernels] == pytest.approx(1e-6, rel=0.01)
    assert rates.seconds[elements] == pytest.approx(1e-9, rel=0.01)
    assert errors_by_kind(rates, points) == pytest.approx({"sum": 1.0}, rel=0.01)


def test_programs_are_many_and_have_names_of_their_own():
    from hlograph.profiling.calibration_programs import small_programs

    programs = list(small_programs())
    assert len({(program.kind, program.name) for program in programs}) == len(programs) > 200
