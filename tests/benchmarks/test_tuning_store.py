"""Test of the measurement of a folder of measurements."""

import pytest

from benchmarks.tuning_store import StoreConfig, measured
from hlograph.errors import HloError
from hlograph.measuring.trial import Outcome
from hlograph.optimization.measurements import Measurements
from hlograph.plans import Plan


def test_figures_of_a_folder(tmp_path):
    for number in range(3):
        plan = Plan(flags={"xla_cpu_prefer_vector_width": 128 << number})
        Measurements("key", tmp_path / "races").add(Outcome(plan, seconds=1.0))
    found = dict(measured(StoreConfig(tmp_path, most=50)))
    (path,) = tmp_path.rglob("*.jsonl")
    # Each line stands between two newlines.
    assert found["bytes of a measurement, mean"] == f"{path.stat().st_size / 3 - 2:.0f}"
    assert found["measurements of a program, mean"] == "3.0"
    assert all(float(figure.replace(",", "")) > 0 for figure in found.values())
    assert [path.name for path in tmp_path.iterdir()] == ["races"]  # nothing is left


def test_a_folder_without_measurements_is_an_error(tmp_path):
    with pytest.raises(HloError, match="expected measurements of this version"):
        list(measured(StoreConfig(tmp_path)))
