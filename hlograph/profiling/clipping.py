"""Correction of steps whose end XLA marked too late.

When a step ends on another thread, that thread may run the steps that waited for it before it marks
the end. So a step is taken to end at the latest when a step begins that needs its result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from hlograph.profiling.optimized_module import OptimizedModule
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
            found: set[str] = set()
            waiting, seen = [name], {name}
            while waiting:
                for user in self._users.get(waiting.pop(), ()):
                    if self._program.instructions[user].opcode not in _PASSED_ON:
                        found.add(user)
                    elif user not in seen:
                        seen.add(user)
                        waiting.append(user)
            self._known[name] = frozenset(found)
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
