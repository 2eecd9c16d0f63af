"""benchmarks.ranking: Kendall's tau, a report, and errors of predictions."""

import numpy as np
import pytest

import hlograph
from benchmarks.ranking import (
    Pair,
    errors_report,
    kendall_tau,
    kernel_pairs,
    measured_errors,
    read_times,
    recorded_defaults,
    report,
)
from hlograph import corpus
from hlograph.execution.prediction_errors import default_errors
from hlograph.execution.rates import default_rates
from hlograph.profiling.kernel_seconds import RatedKernels


@pytest.mark.parametrize(
    ("other", "tau"),
    [([1, 2, 3, 4], 1), ([4, 3, 2, 1], -1), ([1, 2, 4, 3], 4 / 6), ([5, 5, 5, 5], 0)],
)
def test_tau(other, tau):
    assert kendall_tau([10, 20, 30, 40], other) == pytest.approx(tau)


def test_times_without_failures(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("name,ms,error\na/b,2.5,\nc/d,,it failed\n")
    assert read_times(path) == {"a/b": 0.0025}


def test_report():
    pairs = [Pair(f"p{n}", "g", n * 1e-3, (n + (n == 3)) * 1e-3) for n in range(1, 5)]
    text = report(pairs, 1)
    assert "4 measured: tau 0.9" in text
    assert "p3" in text
    assert report([], 1) == "nothing was measured"


def test_pairs_by_kernels_are_of_validation_programs_as_predicted():
    name = "decomposition/svd/n96-d64"
    times = {name: 6e-4, "albert/l6-h256-a4-cls/forward-b2-s128": 0.018}  # the latter is of train
    (pair,) = kernel_pairs(times, RatedKernels(default_rates(), alone=True))
    benchmark = next(b for b in corpus.load("speed", split="validation") if b.name == name)
    prediction = hlograph.predict(benchmark.load(), rates=default_rates())
    assert pair.predicted == pytest.approx(prediction.seconds)
    assert (pair.name, pair.group, pair.measured) == (name, "decomposition", 6e-4)


def test_recorded_defaults_are_within_the_interval_that_comes_with_hlograph():
    defaults = recorded_defaults(RatedKernels(alone=True), "validation", "small")
    errors = default_errors()
    pairs = [default.pair for default in defaults]
    inside = [errors.low <= pair.measured / pair.predicted <= errors.high for pair in pairs]
    assert len(inside) > 100
    assert np.mean(inside) >= 0.9
    text = errors_report(errors, defaults)
    assert "small: 9" in text
    of_small = measured_errors([pair for pair in pairs if pair.group == "small"], default_rates())
    assert of_small.shortest < errors.shortest
    assert of_small.families == 1
