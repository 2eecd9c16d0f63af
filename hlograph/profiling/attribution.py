"""Attribution of a run's time to instructions: each moment counts once.

At each moment the innermost active steps share the time evenly. A loop is active as long as its
body, so its own time is what passes between the steps of the body. Steps that run at the same time
on several threads share that time, and time in which no step is active is outside of kernels. So
the times of a run sum to the run's time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from hlograph.profiling.clipping import Consumers, clipped
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import RecordedRun


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
