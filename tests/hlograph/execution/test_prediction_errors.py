"""Errors of predictions: percentiles, intervals, files, and those that come with hlograph."""

import json

import pytest

from hlograph.errors import DamagedFileError
from hlograph.execution.prediction_errors import PredictionErrors, default_errors
from hlograph.execution.rates import default_rates
from hlograph.storage.machine import machine


def some_errors():
    predicted = [2.0] * 21
    measured = [0.1 * number for number in range(10, 31)]
    families = ["a", "b", "c"] * 7
    return PredictionErrors.of(machine(), families, predicted, measured)


def test_they_are_percentiles_of_measured_over_predicted():
    errors = some_errors()
    assert (errors.low, errors.median, errors.high) == (0.55, 1.0, 1.45)
    assert (errors.programs, errors.families) == (21, 3)
    assert (errors.shortest, errors.longest) == (1.0, 3.0)
    assert errors.interval(10.0) == (5.5, 14.5)


def test_files(tmp_path):
    path = tmp_path / "errors.json"
    some_errors().save(path)
    assert PredictionErrors.load(path) == some_errors()
    path.write_text(path.read_text().replace("1.45", "1.05"))
    with pytest.raises(DamagedFileError):
        PredictionErrors.load(path)


@pytest.mark.parametrize("wrong", [{}, {"low": "1"}, {"high": -1.0}, {"median": float("inf")}])
def test_other_content_is_refused(wrong):
    content = some_errors().to_json() | wrong if wrong else {}
    with pytest.raises(DamagedFileError):
        PredictionErrors.from_json(content)


def test_those_that_come_with_hlograph_are_of_its_rates():
    errors = default_errors()
    assert errors.machine == default_rates().machine
    assert errors.low < 1 < errors.high
    assert errors.programs >= 40  # one in twenty of fewer is hardly one
    assert json.loads(json.dumps(errors.to_json())) == errors.to_json()
