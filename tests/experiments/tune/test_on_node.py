"""Tests of what a node does: it goes on from what was measured on a machine of its kind."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.tune.on_cluster import NodeTask, work
from experiments.tune.programs import programs_of
from experiments.tune.races import TuningRace
from experiments.tune.results import RaceResult
from hlograph import HloError
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.measurements import Measurements
from tests.experiments.tune.competitors import WIDTHS
from tests.experiments.tune.tiny_program import write_program
from tests.hlograph.own_machine import SHORT, own_lock, short_finals

__all__ = ["own_lock", "short_finals"]

WIDTHS_METHOD = "tests.experiments.tune.competitors:widths"


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    (program,) = programs_of([write_program(tmp_path_factory.mktemp("program"))], None, None)
    # The node does not have the folder of the run.
    return TuningRace(program, Path("/nowhere"), 1000.0, competitor=WIDTHS_METHOD)


@pytest.fixture(scope="module")
def reports(race, own_lock):
    """Reports of a whole race."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.tune.races.FINAL", SHORT)
        return list(work(NodeTask(race, {})))


def _files(folder, key, outcomes):
    """Returns the file that the measurements of a race are in."""
    measurements = Measurements(key, folder)
    for outcome in outcomes:
        measurements.add(outcome)
    return {measurements.path.name: measurements.path.read_bytes()}


def _screened(reports):
    screenings = [r for r in reports if isinstance(r, PlanMeasurement) and not r.thorough]
    flag = "xla_cpu_prefer_vector_width"  # the plain reference has other flags
    return [each.plan.flags[flag] for each in screenings if flag in each.plan.flags]


def test_a_race_reports_its_key_each_outcome_and_its_result(reports):
    key, *outcomes, result = reports
    assert sorted(_screened(outcomes)) == sorted(WIDTHS)
    assert isinstance(result, RaceResult)
    assert result.machine is not None
    assert key.endswith(result.machine.key)
    assert result.plans == len(outcomes) == len(result.curve)
    times = [outcome.when for outcome in outcomes]
    assert times == sorted(times)
    assert [point.seconds for point in result.curve] == times
    assert result.plan.fingerprint


@pytest.mark.slow  # half a minute; test_on_cluster.py shows it in a cluster
def test_a_race_goes_on_from_what_was_measured_on_such_a_machine(reports, race, tmp_path):
    key, first = reports[0], replace(reports[1], when=500.0)
    again = list(work(NodeTask(race, _files(tmp_path, key, [first]))))
    assert sorted(_screened([first, *again])) == sorted(WIDTHS)
    assert again[-1].curve[0].seconds == 500.0
    assert again[-1].curve[1].seconds > 500.0  # of the same budget
    elsewhere = _files(tmp_path, f"{key}-of-another-cpu", [first])
    assert sorted(_screened(work(NodeTask(race, elsewhere)))) == sorted(WIDTHS)


def test_a_plan_is_measured_again(reports, race):
    plan = next(report.plan for report in reports if isinstance(report, PlanMeasurement))
    result = replace(reports[-1], method=plan.method, plan=plan)
    (ended,) = work(NodeTask(race, {}, result))
    assert ended.is_final
    assert (ended.curve, ended.plan) == (result.curve, plan)


def test_what_a_race_raises_comes_through(race):
    with pytest.raises(HloError, match="did you mean 'flags"):
        list(work(NodeTask(replace(race, competitor="flgs"), {})))
