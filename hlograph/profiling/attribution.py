"""Attribution of a run's time to instructions: each moment counts once.

At each moment the innermost active steps share the time evenly. A loop is active as long as its
body, so its own time is what passes between the steps of the body. Steps that run at the same time
on several threads share that time, and time in which no step is active is outside of kernels. So
the times of a run sum to the run's time.

When a step ends on another thread, that thread may run the steps that waited for it before it marks
the end. So a step is taken to end at the latest when a step begins that needs its result. The
profiler adds about half a microsecond to each step, most of it between the steps. That is nothing
beside a large kernel, and twenty times the time of a small one. How much it added in all is known,
because the runs are also timed without it, and is removed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from hlograph.profiling.optimized_module import CONTROL, OptimizedModule
from hlograph.profiling.trace import RecordedRun

# Opcodes without a step of their own, which pass their operands on.
_PASSED_ON = frozenset({"tuple", "get-tuple-element", "bitcast", "optimization-barrier"})


class Consumers:
    """The instructions that need the result of each instruction.

    Args:
        program: The module.
    """

    def __init__(self, program: OptimizedModule) -> None:
        self._program = program
        self._users: dict[str, list[str]] = defaultdict(list)
        for instruction in program.instructions.values():
            for operand in instruction.operands:
                self._users[operand].append(instruction.name)
        self._known: dict[str, frozenset[str]] = {}

    def of(self, name: str) -> frozenset[str]:
        """Returns the names of those that have steps of their own, in the same computation."""
        if name not in self._known:
            users: set[str] = set()
            waiting, seen = [name], {name}
            while waiting:
                for user in self._users.get(waiting.pop(), ()):
                    if self._program.instructions[user].opcode not in _PASSED_ON:
                        users.add(user)
                    elif user not in seen:
                        seen.add(user)
                        waiting.append(user)
            self._known[name] = frozenset(users)
        return self._known[name]


def clipped(run: RecordedRun, consumers: Consumers) -> RecordedRun:
    """Returns a run in which each step ends before the next step that needs its result."""
    starts: dict[str, list[float]] = defaultdict(list)
    for span in run.spans:
        starts[span.name].append(span.start)
    for many in starts.values():
        many.sort()
    spans = []
    for span in run.spans:
        end = min(span.end, run.end)
        for consumer in consumers.of(span.name):
            begun = starts.get(consumer, [])
            position = bisect_right(begun, span.start)
            if position < len(begun):
                end = min(end, begun[position])
        spans.append(span._replace(end=end))
    return run._replace(spans=tuple(spans))


@dataclass
class Times:
    """Times of the instructions, per run.

    Attributes:
        own: Seconds of each instruction, without those that it calls.
        calls: Number of steps of each instruction.
        outside: Seconds in which no step was active.
    """

    own: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    outside: float = 0.0

    @property
    def seconds(self) -> float:
        """Sum of all times in seconds."""
        return sum(self.own.values()) + self.outside


def attribute(runs: list[RecordedRun], program: OptimizedModule) -> Times:
    """Returns the mean times over recorded runs.

    Args:
        runs: At least one recorded run.
        program: The module that ran.
    """
    enclosing, consumers = _Enclosing(program), Consumers(program)
    total = Times()
    for run in runs:
        _add(clipped(run, consumers), enclosing, total)
    times = Times(outside=total.outside * 1e-9 / len(runs))
    times.own.update({name: own * 1e-9 / len(runs) for name, own in total.own.items()})
    times.calls.update({name: calls / len(runs) for name, calls in total.calls.items()})
    return times


class _Enclosing:
    """The loops, branches and calls around each instruction."""

    def __init__(self, program: OptimizedModule) -> None:
        self._program = program
        self._callers = program.callers()
        self._known: dict[str, frozenset[str]] = {}

    def of(self, name: str) -> frozenset[str]:
        if name not in self._known:
            direct = self._callers.get(self._program.instructions[name].computation, ())
            self._known[name] = frozenset(direct).union(*map(self.of, direct))
        return self._known[name]


def _add(run: RecordedRun, enclosing: _Enclosing, total: Times) -> None:
    """Adds the times of a run in nanoseconds."""
    # At equal times, ends come before starts.
    changes = [(span.start, 1, span.name) for span in run.spans]
    changes += [(span.end, -1, span.name) for span in run.spans]
    changes.sort(key=lambda change: (change[0], change[1]))
    active: dict[str, int] = {}
    innermost: tuple[str, ...] = ()
    now = run.start
    for moment, change, name in changes:
        if moment > now:
            for each in innermost:
                total.own[each] += (moment - now) / len(innermost)
            total.outside += 0.0 if innermost else moment - now
            now = moment
        if change > 0:
            total.calls[name] += 1
        active[name] = active.get(name, 0) + change
        if active[name] == 0:
            del active[name]
        outer = frozenset().union(*map(enclosing.of, active))
        innermost = tuple(each for each in active if each not in outer)
    total.outside += run.end - now


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
    rest = cleaned.seconds - (times.seconds - added)
    cleaned.outside -= max(0.0, min(rest, _MOST_OUTSIDE_PER_STEP * steps))
    cleaned.outside = max(0.0, cleaned.outside)
    return cleaned


def _smallest_step(times: Times, program: OptimizedModule) -> float:
    """Returns the mean seconds of the step that takes the least time; 0 if there are only loops."""
    steps = (name for name in times.calls if not _is_control(name, program))
    return min((times.own[name] / times.calls[name] for name in steps), default=0.0)


def _is_control(name: str, program: OptimizedModule) -> bool:
    return program.instructions[name].opcode in CONTROL
