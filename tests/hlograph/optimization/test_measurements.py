"""Tests of the file of measurements: what is kept, whoever writes to it and whatever is damaged."""

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest

from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.optimization import measurements as module
from hlograph.optimization.measurements import Measurements
from hlograph.plans import Measured, Placement, Plan
from tests.hlograph.optimization import proposals

NARROW, WIDE, _ = proposals.WIDTHS
STEPS = Plan("f", "1", steps=("call-inliner",), numerics="close", method="passes")


def _outcome(plan, ratio=1.2, thorough=False, **more):
    measured = Measured(ratio, 1.0, ratio, ratio - 0.1, ratio + 0.1, 1.0, 15)
    return PlanMeasurement(
        plan, thorough, measured, Checks(True, "equal", "same", ("given",)), **more
    )


def _placed(number):
    places = (Placement(f"fusion.{n}.clone", "partitions", "2,2") for n in range(number))
    return Plan("f", "1", placements=tuple(places), placed="optimized")


def test_outcomes_are_read_as_they_were_written(tmp_path):
    outcomes = [
        _outcome(NARROW, changes={"sort": (1, 0)}, hot={"sort": 0.5}, compile_seconds=0.25),
        PlanMeasurement(WIDE, error="worker lost", seconds=1.5, accident=True),
        _outcome(STEPS, thorough=True),
        _outcome(_placed(2000)),
        PlanMeasurement(Plan()),
    ]
    measurements = Measurements("key", tmp_path)
    assert measurements.read() == []
    for outcome in outcomes:
        measurements.add(outcome)
    assert Measurements("key", tmp_path).read() == outcomes
    assert Measurements("other", tmp_path).read() == []


def test_a_large_plan_takes_few_bytes(tmp_path):
    measurements = Measurements("key", tmp_path)
    measurements.add(_outcome(_placed(2000)))
    assert measurements.path.stat().st_size < 15 * 2000
    assert measurements.read()[0].plan == _placed(2000)


def test_damaged_lines_are_left_out(tmp_path):
    measurements = Measurements("key", tmp_path)
    first, second = _outcome(NARROW), _outcome(_placed(100))
    measurements.add(first)
    with measurements.path.open("ab") as file:
        file.write(b'{"plan": {"kind": "hlo\xff')  # cut off by a kill
    measurements.add(second)
    line = measurements.path.read_text(errors="replace").splitlines()[-1]
    with measurements.path.open("a") as file:
        file.write('[]\n3\n{"plan": 3}\n{"measured": 1, "checks": 1, "plan": 1}\n')
        file.write('{"plan": "!!"}\n{"plan": {}, "unknown": 1}\n')
        file.write(line.replace(line[12:24], "000000000000") + "\n" + line[: len(line) // 2])
    assert measurements.read() == [first, second]
    measurements.add(first)
    assert measurements.read() == [first, second, first]


def test_the_newest_outcome_counts_and_accidents_do_not(tmp_path):
    measurements = Measurements("key", tmp_path)
    final, again = _outcome(NARROW, thorough=True), _outcome(NARROW, 1.1)
    lost = PlanMeasurement(NARROW, error="worker lost", accident=True)
    refused = PlanMeasurement(WIDE, error="outputs are different")
    for outcome in (_outcome(NARROW, 2.0), final, refused, again, final, lost):
        measurements.add(outcome)
    assert measurements.known() == [final, refused, again, final]


def _refused(*samples):
    checks = Checks(False, "different", f"on {samples[-1]} inputs", samples)
    return PlanMeasurement(NARROW, checks=checks, error="outputs are different")


@pytest.mark.parametrize("samples", [("given",), ("given", "random 0", "random 1", "large")])
def test_outputs_that_were_refused_on_given_inputs_are_refused_on_these_alone(tmp_path, samples):
    ones, twos = np.ones(3, np.float32), np.full(3, 2, np.float32)
    refused, accepted = _refused(*samples), _outcome(WIDE)
    mine = Measurements("key", tmp_path, [ones])
    mine.add(refused)
    mine.add(accepted)
    assert Measurements("key", tmp_path, [ones.copy()]).read() == [refused, accepted]
    for others in ([twos], [ones.astype(np.float64)], [ones, ones], None):
        assert Measurements("key", tmp_path, others).read() == [accepted]


def test_outputs_that_were_refused_on_random_inputs_are_refused_for_all(tmp_path):
    refused = _refused("given", "random 0")
    Measurements("key", tmp_path, [np.ones(3)]).add(refused)
    for others in ([np.zeros(3)], None):
        assert Measurements("key", tmp_path, others).read() == [refused]


def test_outcomes_of_steps_count_for_the_rules_that_they_were_measured_with(tmp_path, monkeypatch):
    measurements = Measurements("key", tmp_path)
    measurements.add(_outcome(STEPS))
    measurements.add(_outcome(NARROW))
    monkeypatch.setattr(module, "rules_digest", lambda: "of another extension")
    assert measurements.read() == [_outcome(NARROW)]


def test_a_refusal_counts_until_the_plan_is_accepted_whatever_the_rules(tmp_path, monkeypatch):
    measurements = Measurements("key", tmp_path)
    measurements.add(replace(_refused("random 0"), plan=STEPS))
    assert measurements.refuse(STEPS)
    monkeypatch.setattr(module, "rules_digest", lambda: "of another extension")
    assert measurements.refuse(STEPS)
    assert measurements.known() == []  # so that a search compares it again
    measurements.add(_outcome(STEPS))
    assert not measurements.refuse(STEPS)


def test_a_file_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    measurements = Measurements("key", tmp_path / "file")
    with pytest.warns(UserWarning, match="cannot write the measurements"):
        measurements.add(_outcome(NARROW))
    measurements.add(_outcome(NARROW))  # says so once
    assert measurements.read() == []


def _add_many(folder, plan, number):
    measurements = Measurements("key", folder)
    for n in range(number):
        measurements.add(_outcome(plan, seconds=float(n)))


def test_two_processes_append_at_the_same_time(tmp_path):
    plans = {"narrow": NARROW, "placed": _placed(1000)}
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_add_many, args=(tmp_path, p, 50)) for p in plans.values()]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    found = Measurements("key", tmp_path).read()
    assert len(found) == 100
    for plan in plans.values():
        of_one = [outcome.seconds for outcome in found if outcome.plan == plan]
        assert of_one == list(range(50))
