"""Calibration: a few small programs, and rates fitted to their times."""

import numpy as np
import pytest

from hlograph.execution.rates import features
from hlograph.profiling.calibrating import CalibrationSample, calibrate, errors_by_kind, fit

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
