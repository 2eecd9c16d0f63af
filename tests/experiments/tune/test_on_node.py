"""Tests of what a node does: it goes on from what was measured on a machine of its kind."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.speed.trials import Rules, measurements_folder, plan_file
from experiments.tune.on_node import Ended, Key, Task, work
from experiments.tune.programs import programs_of
from hlograph import HloError
from hlograph.measuring.trial import Outcome
from hlograph.optimization.measurements import Measurements
from hlograph.plans import Plan
from tests.experiments.tune.competitors import WIDTHS
from tests.experiments.tune.tiny_program import write_program
from tests.hlograph.own_machine import own_lock, short_finals

__all__ = ["own_lock", "short_finals"]

RULES = Rules(budget=1000.0, methods=["tests.experiments.tune.competitors:widths"])


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    (found,) = programs_of([write_program(tmp_path_factory.mktemp("program"))], None, None)
    return found


@pytest.fixture(scope="module")
def reports(subject, own_lock):
    """Reports of a whole race."""
    return list(work(Task(subject, RULES, {})))


def _files(folder, subject, key, outcomes):
    """Returns the file that the measurements of a race are in."""
    measurements = Measurements(key, measurements_folder(folder, subject))
    for outcome in outcomes:
        measurements.add(outcome)
    return {str(measurements.path.relative_to(folder)): measurements.path.read_bytes()}


def _screened(reports):
    found = [one for one in reports if isinstance(one, Outcome) and not one.thorough]
    return [one.plan.flags["xla_cpu_prefer_vector_width"] for one in found]


def test_a_race_reports_its_key_each_outcome_and_its_result(reports, subject):
    first, *outcomes, last = reports
    assert isinstance(first, Key)
    assert sorted(_screened(outcomes)) == sorted(WIDTHS)
    assert isinstance(last, Ended)
    assert last.result.machine is not None
    assert first.key.endswith(last.result.machine.key)
    assert last.result.plans == len(outcomes) == len(last.result.curve)
    times = [outcome.when for outcome in outcomes]
    assert times == sorted(times)
    assert [point.seconds for point in last.result.curve] == times
    (path,) = last.files
    assert path == str(plan_file(Path(), subject))
    Plan.from_json(last.files[path])


@pytest.mark.slow  # half a minute; test_on_cluster.py shows it in a cluster
def test_a_race_goes_on_from_what_was_measured_on_such_a_machine(reports, subject, tmp_path):
    key, first = reports[0].key, replace(reports[1], when=500.0)
    before = _files(tmp_path, subject, key, [first])
    again = list(work(Task(subject, RULES, before)))
    assert sorted(_screened([first, *again])) == sorted(WIDTHS)
    assert again[-1].result.curve[0].seconds == 500.0
    assert again[-1].result.curve[1].seconds > 500.0  # of the same budget
    elsewhere = _files(tmp_path, subject, f"{key}-of-another-cpu", [first])
    assert sorted(_screened(work(Task(subject, RULES, elsewhere)))) == sorted(WIDTHS)


def test_a_plan_is_measured_again(reports, subject, tmp_path):
    plan = next(one.plan for one in reports if isinstance(one, Outcome))
    plan.save(plan_file(tmp_path, subject))
    path = plan_file(tmp_path, subject)
    files = {str(path.relative_to(tmp_path)): path.read_bytes()}
    result = replace(reports[-1].result, method=plan.method)
    (ended,) = work(Task(subject, RULES, files, result))
    assert ended.result.is_final
    assert ended.result.curve == result.curve


def test_what_a_race_raises_comes_through(subject):
    with pytest.raises(HloError, match="did you mean 'flags"):
        list(work(Task(subject, replace(RULES, methods=["flgs"]), {})))
