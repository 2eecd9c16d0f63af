"""Tests of the attribution of time to instructions, on spans with known answers."""

import pytest

from hlograph.profiling.attribution import Consumers, attribute, without_overhead
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import RecordedRun, Span
from tests.hlograph.profiling.programs import LOOP

PROGRAM = OptimizedModule.from_text(LOOP)
SECOND = 1e9


def _run(*spans, end=10):
    scaled = [Span(name, begin * SECOND, until * SECOND) for name, begin, until in spans]
    return RecordedRun(0.0, end * SECOND, tuple(scaled))


def test_time_of_the_body_is_not_of_the_loop():
    run = _run(("loop", 1, 8), ("twice", 2, 4), ("twice", 5, 6), ("last", 8, 9))
    times = attribute([run], PROGRAM)
    assert times.own == pytest.approx({"loop": 4, "twice": 3, "last": 1})
    assert times.calls == {"loop": 1, "twice": 2, "last": 1}
    assert times.outside == pytest.approx(2)


def test_steps_at_the_same_time_share_it():
    times = attribute([_run(("last", 0, 6), ("loop", 2, 10), ("twice", 4, 8))], PROGRAM)
    # last alone, last and loop, last and twice, twice, loop.
    assert times.own == pytest.approx({"last": 2 + 1 + 1, "loop": 1 + 2, "twice": 1 + 2})
    assert times.outside == pytest.approx(0)


def test_consumers_are_found_through_tuples():
    consumers = Consumers(PROGRAM)
    assert consumers.of("y") == {"loop"}
    assert consumers.of("loop") == {"last"}
    assert consumers.of("twice") == consumers.of("last") == frozenset()


def test_step_ends_before_one_that_needs_its_result():
    times = attribute([_run(("loop", 0, 9), ("last", 4, 10))], PROGRAM)
    assert times.own == pytest.approx({"loop": 4, "last": 6})


def test_times_are_means_that_sum_to_the_run():
    runs = [_run(("last", 0, 4)), _run(("last", 1, 3), end=6), _run(end=5)]
    times = attribute(runs, PROGRAM)
    assert times.own == pytest.approx({"last": 2})
    assert times.calls == pytest.approx({"last": 2 / 3})
    assert times.seconds == pytest.approx(7)


def test_step_that_ends_after_the_run_ends_with_it():
    assert attribute([_run(("last", 4, 12))], PROGRAM).own == pytest.approx({"last": 6})


def _microseconds(*spans, end):
    scaled = [Span(name, begin * 1e3, until * 1e3) for name, begin, until in spans]
    return attribute([RecordedRun(0.0, end * 1e3, tuple(scaled))], PROGRAM)


def test_overhead_is_taken_from_between_the_steps():
    body = [("twice", 10 + 2 * n, 11 + 2 * n) for n in range(100)]
    times = _microseconds(("loop", 10, 300), *body, ("last", 300, 400), end=500)
    added = 102 * 0.5e-6 + 16 * 0.5e-6  # half a microsecond for each mark
    cleaned = without_overhead(times, PROGRAM, added)
    assert cleaned.seconds == pytest.approx(times.seconds - added)
    assert cleaned.own["last"] == pytest.approx(100e-6, rel=0.01)
    assert cleaned.own["twice"] == pytest.approx(75e-6)
    assert cleaned.own["loop"] == pytest.approx(190e-6 - 100 * 0.25e-6)


def test_no_time_gets_negative():
    times = _microseconds(("loop", 0, 3), ("twice", 0, 1), ("twice", 2, 3), end=3)
    cleaned = without_overhead(times, PROGRAM, 1.0)
    assert min(cleaned.own.values()) >= 0
    assert cleaned.outside == 0


def test_noise_is_no_overhead():
    times = _microseconds(("last", 1, 3), end=5)
    assert without_overhead(times, PROGRAM, -1e-6) is times
    # More than two microseconds a mark is the machine's noise.
    slow = _microseconds(("last", 1000, 3000), end=5000)
    assert without_overhead(slow, PROGRAM, 1e-3).own["last"] == pytest.approx(2e-3, rel=1e-3)
