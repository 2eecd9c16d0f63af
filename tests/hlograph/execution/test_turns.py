"""The loop, on traces: lists of seconds and of loads, with a clock that stands still."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.load import Reading
from hlograph.execution.measured import Measured
from hlograph.execution.runs import Run
from hlograph.execution.turns import Turns, in_turns, without_collector
from hlograph.measuring.plan_timer import is_decided
from hlograph.plans import Program, compile_program

X = np.arange(12, dtype=np.float32).reshape(3, 4)


class _Trace:
    """Blocks and a load meter that repeat what was recorded.

    Args:
        seconds: Seconds of a call of each thing, turn by turn; the last turn goes on.
        loads: Loads of each thing, likewise.
    """

    def __init__(self, seconds, loads=((0.0, 0.0),)):
        self._seconds, self._loads = seconds, loads
        self._calls = [0] * len(seconds[0])
        self.now, self.waited = 0.0, 0
        self.log = []

    def block(self, thing):
        def run(calls):
            turn = self._calls[thing]
            self._calls[thing] += 1
            seconds = self._seconds[min(turn, len(self._seconds) - 1)][thing]
            load = self._loads[min(turn, len(self._loads) - 1)][thing]
            self.log.append((thing, calls))
            self.now += calls * seconds
            self.waited += round(1e9 * seconds * calls * load / (1 - load))
            return seconds

        return run

    @property
    def blocks(self):
        return [self.block(thing) for thing in range(len(self._calls))]

    def clock(self):
        return self.now

    def read(self):
        # Threads asked for the CPU all the time, on many CPUs.
        now = round(1e9 * self.now)
        return Reading(now, now, self.waited, 0, 100)

    def timed(self, **options):
        settings = {"calls": [1] * len(self._calls), "clock": self.clock, "read": self.read}
        return in_turns(self.blocks, **{**settings, **options})


def test_each_thing_has_its_turn_and_none_is_always_first():
    trace = _Trace([(1.0, 2.0, 3.0)], [(0.0, 0.0, 0.0)])
    turns = trace.timed(turns=3, calls=[1, 2, 3])
    assert [thing for thing, _ in trace.log] == [0, 1, 2, 1, 2, 0, 2, 0, 1]
    assert dict(trace.log) == {0: 1, 1: 2, 2: 3}
    np.testing.assert_array_equal(turns.seconds, [[1, 2, 3]] * 3)
    np.testing.assert_array_equal(turns.load, np.zeros((3, 3)))


def test_things_are_warmed_and_have_as_many_calls_as_take_the_seconds_of_a_block():
    trace = _Trace([(0.04, 0.5)])
    trace.timed(turns=1, least=1, calls=(), block_seconds=0.1)
    assert trace.log == [(0, 1), (0, 1), (1, 1), (0, 3), (1, 1)]


def test_the_time_ends_the_turns_but_not_before_the_least():
    for max_seconds, made in ((0.0, 3), (12.0, 5), (1000.0, 9)):
        turns = _Trace([(1.0, 2.0)]).timed(turns=9, max_seconds=max_seconds)
        assert turns.seconds.shape == (made, 2)


def test_stop_is_asked_from_the_least_turns_on():
    asked = []
    turns = _Trace([(1.0, 2.0)]).timed(turns=9, least=4, stop=lambda turns: asked.append(turns))
    assert [len(turns.seconds) for turns in asked] == [4, 5, 6, 7, 8]
    assert len(turns.seconds) == 9
    assert len(_Trace([(1.0, 2.0)]).timed(turns=9, stop=lambda turns: True).seconds) == 3


def test_turns_under_load_are_made_again():
    loads = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.0, 0.05)]
    seconds = [(2.0, 1.0), (4.0, 1.0), (2.0, 5.0), (2.2, 1.0)]
    turns = _Trace(seconds, loads).timed(turns=6)
    assert len(turns.seconds) == 8  # two of them under load
    quiet = turns.undisturbed(3)
    assert len(quiet.seconds) == 6
    assert Measured.of(quiet).ratio == pytest.approx(2.2)
    assert not Measured.of(quiet).busy
    # Without a meter all turns count.
    assert len(_Trace(seconds, loads).timed(turns=6, read=None).seconds) == 6


def test_not_more_than_three_of_ten_turns_are_made_again():
    turns = _Trace([(2.0, 1.0)], [(0.5, 0.0)]).timed(turns=70)
    assert len(turns.seconds) == 100
    measured = Measured.of(turns.undisturbed(3))
    assert (measured.pairs, measured.load, measured.busy) == (100, 0.5, True)
    assert (measured.default_seconds, measured.seconds) == (1.0, 1.0)  # without what others took


def test_a_turn_of_which_others_had_all_says_nothing():
    seconds, load = np.array([[2.0, 1.0], [8.0, 1.0]]), np.array([[0.5, 0.0], [1.0, 0.0]])
    turns = Turns(seconds, load).undisturbed(1)
    np.testing.assert_array_equal(turns.seconds, [[1.0, 1.0]])
    lost = Turns(seconds[1:], load[1:])
    assert lost.undisturbed(1) is lost


def test_the_load_of_a_default_with_two_threads_beside_a_plan_with_one():
    # Recorded with a niced loop on one of two CPUs: milliseconds of a depthwise convolution.
    seconds = [(13.9e-3, 0.704e-3), *[(27.0e-3, 0.706e-3)] * 20]
    loads = [(0.01, 0.0), *[(0.45, 0.02)] * 20]
    turns = _Trace(seconds, loads).timed(turns=15)
    busy = Measured.of(turns.undisturbed(3))
    assert busy.busy
    assert np.median(turns.seconds[:, 0] / turns.seconds[:, 1]) > 38
    assert busy.ratio == pytest.approx(13.9 / 0.704, rel=0.1)
    some = Measured.of(_Trace(seconds * 2, loads * 2).timed(turns=60).undisturbed(2))
    assert not some.busy
    assert some.ratio == pytest.approx(13.9 / 0.704)


def test_a_control_is_the_third_thing():
    turns = _Trace([(2.0, 1.0, 2.5)], [(0.0, 0.0, 0.0)]).timed(turns=5)
    assert Measured.of(turns, one_cpu=True) == Measured(
        2.0, 1.0, 2.0, 2.0, 2.0, 0.8, 5, 0.0, one_cpu=True
    )


@pytest.mark.parametrize(
    ("seconds", "best", "made"),
    [
        ([1.3], 0.0, 4),  # slower than the default
        ([0.5], 2.3, 4),  # faster than the default, far behind the best plan
        ([1.3], 0.5, 4),
        ([1.0], 0.0, 5),  # surely as fast as the default
        ([0.5], 2.0, 5),  # surely as fast as the best plan
        ([0.5], 1.5, 5),  # surely faster
        ([1.3, 1.3, 1.2, 1.3], 0.0, 5),  # slower, but not that much in each of its turns
        ([0.99, 1.01] * 5, 0.0, 9),  # may be a little faster
        ([0.98, 0.9] * 5, 0.0, 9),  # surely faster, but not known how much
    ],
)
def test_a_screening_ends_when_it_says_enough(seconds, best, made):
    trace = _Trace([(1.0, plan) for plan in seconds])
    turns = trace.timed(turns=9, least=4, stop=lambda turns: is_decided(turns, best))
    assert turns.seconds.shape == (made, 2)


def test_runs_of_jaxlib():
    runs = []
    for function in (jnp.sin, jnp.cos):
        program = Program.of(jax.jit(function).lower(X))
        runs.append(Run(compile_program(program), [X]))
    turns = in_turns([run.seconds for run in runs], turns=5, block_seconds=0.0001)
    assert turns.seconds.shape == (5, 2)
    assert (turns.seconds > 0).all()


def test_the_collector_stands_still_within_the_block_only():
    assert gc.isenabled()
    with without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
