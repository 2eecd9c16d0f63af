"""Removal of the profiler's own time from attributed times.

The profiler adds about half a microsecond to each step, most of it between the steps. That is
nothing beside a large kernel, and twenty times the time of a small one. How much it added in all
is known, because the runs are also timed without it.
"""

from __future__ import annotations

from hlograph.profiling.attribution import Times
from hlograph.profiling.optimized_module import CONTROL, OptimizedModule

# Largest part of the added time that can lie inside of steps: reading the clock twice and writing
# the second mark. In loops of small steps it was measured as 0.3 to 0.5.
_INSIDE = 0.5

# The profiler adds less than this to a step, in seconds. More is noise of the machine.
_MOST_PER_STEP = 2e-6

# What is left to remove after that is taken from outside of kernels: jax's own code runs slower
# after many marks, which fill the caches. Measured as up to this many seconds for each step.
_MOST_OUTSIDE_PER_STEP = 20e-9

# Marks of jax and of XLA's runtime in each run, beside those of steps.
_MARKS_PER_RUN = 16


def without_overhead(times: Times, program: OptimizedModule, added: float) -> Times:
    """Returns the times without what the profiler added.

    The same time is taken from each step: one part from the step itself, which is at most the time
    of the smallest step, and the rest from the time between steps, which is in the loop, branch or
    call around it, or outside of kernels.

    Args:
        times: Times of recorded runs.
        program: The module that ran.
        added: Seconds that the profiler added to a run; negative by noise.
    """
    steps = sum(times.calls.values())
    if not steps or added <= 0:
        return times
    each = min(added / (steps + _MARKS_PER_RUN), _MOST_PER_STEP)
    inside = min(_INSIDE * each, _smallest_step(times, program))
    cleaned = Times(outside=times.outside - _MARKS_PER_RUN * each)
    cleaned.calls.update(times.calls)
    cleaned.own.update(times.own)
    callers = program.callers()
    for name, calls in times.calls.items():
        within = 0.0 if _is_control(name, program) else inside
        cleaned.own[name] -= within * calls
        between = (each - within) * calls
        around = callers.get(program.instructions[name].computation, ())
        if not (around := [caller for caller in around if caller in times.own]):
            cleaned.outside -= between
        for caller in around:
            cleaned.own[caller] -= between / len(around)
    cleaned.own.update({name: max(0.0, own) for name, own in cleaned.own.items()})
    left = cleaned.seconds - (times.seconds - added)
    cleaned.outside -= max(0.0, min(left, _MOST_OUTSIDE_PER_STEP * steps))
    cleaned.outside = max(0.0, cleaned.outside)
    return cleaned


def _smallest_step(times: Times, program: OptimizedModule) -> float:
    """Returns the mean seconds of the step that takes the least time; 0 if there are only loops."""
    steps = (name for name in times.calls if not _is_control(name, program))
    return min((times.own[name] / times.calls[name] for name in steps), default=0.0)


def _is_control(name: str, program: OptimizedModule) -> bool:
    return program.instructions[name].opcode in CONTROL
