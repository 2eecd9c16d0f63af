"""Times plans of one program beside jaxlib's default, in turns, while nothing else runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from hlograph.execution import lock
from hlograph.execution.load import LoadMeter, on_one_cpu
from hlograph.execution.runs import Run
from hlograph.execution.turns import Turns, in_turns
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.trial import LONG_RUN, Effort
from hlograph.plans import Measured

LEADS = 1.03
"""Ratio from which a plan may win."""

# A measurement is repeated if the control's ratio differs from 1 by more than this.
_QUIET = 0.04
_ATTEMPTS = 3

# A plan is given up if its ratio in each of the first turns is below this, to the default or to the
# fastest plan.
_SLOW_PLAN, _BEHIND = 0.8, 0.9

# Turns of a screening end when a plan is surely not that much faster than the fastest plan and the
# default, or surely faster and its ratio is known this well: logarithms, within so many standard
# errors, of at least so many turns.
_GAIN, _WELL, _ERRORS, _FEW = 0.005, 0.02, 3.0, 5

# Threads keep each other from one CPU if a run there takes this many times as long as all CPUs
# together should take, plus what a few slices of the scheduler take.
_SPINS, _SLICES = 4.0, 0.05  # seconds

# A plan may take this many times as long as the default, and a second, in a run; an operation may
# take some seconds beyond that.
_SLOW_RUN, _SECONDS = 4.0, 20.0


class PlanTimer:
    """Times plans beside jaxlib's default, or another reference.

    Args:
        default: Runs the default.
        seconds: Seconds of a run of it.
        control: Returns what runs it compiled again; called once, when it is needed.
        recorder: Records each operation that may end the process.
    """

    def __init__(
        self,
        default: Run,
        seconds: float,
        control: Callable[[], Run],
        recorder: FlightRecorder,
    ) -> None:
        self._default, self._seconds, self._recorder = default, seconds, recorder
        self._make_control, self._control = control, None
        self._remembered = _OneRun(default)
        self._read = LoadMeter()

    @property
    def _is_long(self) -> bool:
        return self._seconds >= LONG_RUN

    def screened(self, run: Run, effort: Effort, note: bytes, best: float) -> Measured:
        """Times a plan briefly.

        Args:
            run: Runs the plan.
            effort: Duration.
            note: Note of the plan in the flight recorder.
            best: Ratio of the fastest plan so far; 0 if not known.
        """
        default = self._remembered if self._is_long else self._default
        return self.in_turns([default, run], effort, note, best)

    def confirmed(self, run: Run, effort: Effort, note: bytes) -> Measured:
        """Times a plan beside the default and a control; on a busy machine on one CPU, too.

        Args:
            run: Runs the plan.
            effort: Duration.
            note: Note of the plan in the flight recorder.
        """
        if self._is_long:
            return self.in_turns([self._default, run], effort, note)
        if self._control is None:
            self._control = self._make_control()
        runs = [self._default, run, self._control]
        best = self.in_turns(runs, effort, note)
        if best.busy:  # perhaps for a moment
            again = self.in_turns(runs, effort, note)
            best = min(best, again, key=lambda measured: measured.load)
        for _ in range(1, _ATTEMPTS):
            if best.busy or _noise(best) < _QUIET:
                break
            best = min(best, self.in_turns(runs, effort, note), key=_noise)
        if not best.busy or best.ratio < LEADS or len(os.sched_getaffinity(0)) < 2:
            return best
        # What others take slows a default of two threads and leaves alone a plan of one: the lead
        # has to hold at equal threads.
        if self._spins_on_one_cpu(note):
            return replace(best, low=min(best.low, 1.0))
        bound = self.in_turns(runs, effort, note, one_cpu=True)
        return min(best, bound, key=lambda measured: measured.low)

    def _spins_on_one_cpu(self, note: bytes) -> bool:
        """Returns True if threads of the default keep each other from the one CPU that they have.

        Those of BLAS wait for each other in a loop: times say nothing then, and are long.
        """
        expected = len(os.sched_getaffinity(0)) * self._seconds
        limit = _SECONDS + 100 * expected
        with lock.alone(), self._recorder.noted(note, limit), on_one_cpu():
            return self._default.seconds() > _SPINS * expected + _SLICES

    def in_turns(
        self,
        runs: Sequence[Run | _OneRun],
        effort: Effort,
        note: bytes,
        best: float = 0.0,
        one_cpu: bool = False,
    ) -> Measured:
        """Times programs in turns.

        Args:
            runs: The default, a plan, and perhaps a control.
            effort: Duration.
            note: Note of the plan in the flight recorder.
            best: Ratio of the fastest plan so far; 0 if not known.
            one_cpu: True binds all threads to one CPU.
        """
        # A run that takes long was warmed by the comparison of its outputs.
        least = max(1, effort.least // 3) if self._is_long else effort.least
        calls = len(runs) * (least + 2)
        limit = _SECONDS + 2 * effort.max_seconds + calls * longest_run(self._seconds)
        cpus = on_one_cpu() if one_cpu else nullcontext()
        with lock.alone(), self._recorder.noted(note, limit), cpus:
            turns = in_turns(
                [run.seconds for run in runs],
                turns=least if self._is_long else effort.pairs,
                calls=[1] * len(runs) if self._is_long else (),
                block_seconds=effort.block_seconds,
                max_seconds=effort.max_seconds,
                least=least,
                stop=lambda turns: not effort.thorough and is_decided(turns, best),
                read=self._read,
            )
        return Measured.of(turns.undisturbed(least), one_cpu=one_cpu)


def longest_run(seconds: float) -> float:
    """Returns how long a run of a plan may take.

    Args:
        seconds: Seconds of a run of the default.
    """
    return 1.0 + _SLOW_RUN * seconds


class _OneRun:
    """The time of one run, which stands for all others.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seconds: float | None = None

    def seconds(self, calls: int = 1) -> float:
        """Returns the seconds of the first call."""
        if self._seconds is None:
            self._seconds = self._run.seconds(calls)
        return self._seconds


def is_decided(turns: Turns, best: float = 0.0) -> bool:
    """Returns True if the turns of a screening say enough of a plan.

    Args:
        turns: Times of the default, the plan, and others.
        best: Ratio default / plan of the fastest plan so far; 0 if not known.
    """
    default, plan, *_ = turns.undisturbed(len(turns.seconds)).seconds.T
    ratios = default / plan
    if np.max(ratios) < max(_SLOW_PLAN, _BEHIND * best):
        return True
    if len(ratios) < _FEW:
        return False
    error = _ERRORS * float(np.std(np.log(ratios), ddof=1)) / math.sqrt(len(ratios))
    lead = float(np.mean(np.log(ratios))) - math.log(max(best, 1.0))
    return lead + error < _GAIN or error < min(lead, _WELL)


def _noise(measured: Measured) -> float:
    return abs(math.log(measured.control))
