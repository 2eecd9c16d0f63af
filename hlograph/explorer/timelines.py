"""One run of a program as a timeline of its kernels, and the module that ran, as columns."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from hlograph.profiling.kernel_categories import kind_of
from hlograph.profiling.kernels import Measurement
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import Span

MOST_SPANS = 12_000
"""Steps of a run that a timeline shows; a loop can have a million, and pages are opened often."""


def timeline_data(measurement: Measurement, predicted: Mapping[str, float]) -> dict[str, Any]:
    """Returns a measurement as columns: its kernels, and the steps of its fastest recorded run.

    Args:
        measurement: The measurement.
        predicted: Predicted seconds of kernels in a run, by their names.

    Returns:
        A JSON object. ``kernels`` has the attributes of ``Kernel`` as columns, slowest first; their
        seconds sum to ``seconds``, those of the runs that were disturbed least, because a page
        compares two programs that were recorded one after the other. ``predicted`` has the
        predicted seconds beside them, null where nothing is predicted.
        ``run`` has a row for each step: the number of its kernel, begin and duration in
        microseconds, and its lane. Steps of a loop's body are in lanes below the loop's, and steps
        at the same time on other threads in lanes of their own. Of long runs the shortest steps are
        left out; ``left_out`` is their number and ``left_out_seconds`` their time.
    """
    run = measurement.fastest
    shown = sorted(heapq.nlargest(MOST_SPANS, run.spans, key=_duration), key=_order)
    numbers = {kernel.name: number for number, kernel in enumerate(measurement.kernels)}
    lanes, depths = _lanes(shown, measurement.program)
    hidden = sum(map(_duration, run.spans)) - sum(map(_duration, shown))
    return {
        "module": measurement.program.name,
        "seconds": measurement.quiet_seconds,
        "recorded_seconds": measurement.recorded_seconds,
        "accounted": measurement.accounted,
        "kernels": _columns(measurement, predicted),
        "run": {
            "seconds": run.seconds,
            "kernel": [numbers[span.name] for span in shown],
            "start": [round((span.start - run.start) * 1e-3, 3) for span in shown],
            "duration": [round(_duration(span) * 1e-3, 3) for span in shown],
            "lane": lanes,
            "depths": depths,
            "left_out": len(run.spans) - len(shown),
            "left_out_seconds": hidden * 1e-9,
        },
    }


def _columns(measurement: Measurement, predicted: Mapping[str, float]) -> dict[str, list[Any]]:
    scale = measurement.quiet_seconds / measurement.seconds
    rows = [
        kernel.to_json()
        | {"seconds": scale * kernel.seconds, "predicted": predicted.get(kernel.name)}
        for kernel in measurement.kernels
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _duration(span: Span) -> float:
    return span.end - span.start


def _order(span: Span) -> tuple[float, float]:
    return span.start, -span.end


def _lanes(spans: Sequence[Span], program: OptimizedModule) -> tuple[list[int], list[int]]:
    """Returns the lane of each span, and how many loops, branches and calls are around each lane.

    Args:
        spans: The spans, by their begin.
        program: The module that ran.
    """
    depth_of = _Depths(program)
    depths = [depth_of(span.name) for span in spans]
    ends: dict[int, list[float]] = {}  # by depth: when the last span of each of its lanes ends
    places = []
    for span, depth in zip(spans, depths, strict=True):
        taken = ends.setdefault(depth, [])
        free = next((n for n, end in enumerate(taken) if end <= span.start), len(taken))
        taken[free : free + 1] = [span.end]
        places.append((depth, free))
    lanes = [(depth, n) for depth in sorted(ends) for n in range(len(ends[depth]))]
    numbers = {place: number for number, place in enumerate(lanes)}
    return [numbers[place] for place in places], [depth for depth, _ in lanes]


class _Depths:
    """Counts the loops, branches and calls around an instruction."""

    def __init__(self, program: OptimizedModule) -> None:
        self._program, self._callers = program, program.callers()
        self._known: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        computation = self._program.instructions[name].computation
        if computation not in self._known:
            around = self._callers.get(computation, ())
            self._known[computation] = max((self(caller) + 1 for caller in around), default=0)
        return self._known[computation]


# Attributes of a large convolution or a library's fusion are thousands of characters.
_MOST_CHARACTERS = 300


def optimized_data(module: OptimizedModule) -> dict[str, Any]:
    """Returns an optimized module as columns.

    Returns:
        A JSON object. Opcodes, shapes and names of operations are numbers of rows in tables.
        ``operands`` of instruction n are ``targets[offsets[n]:offsets[n + 1]]``. ``called`` has
        the numbers of the computations that an instruction calls, for those that call any.
        ``parameter`` has the numbers of parameters, and ``roots`` the roots of computations.
    """
    computations = list(module.computations)
    number_of = {name: number for number, name in enumerate(computations)}
    rows = [each for name in computations for each in module.computations[name]]
    row_of = {each.name: number for number, each in enumerate(rows)}
    opcodes, shapes, scopes, kinds = _Table(), _Table(), _Table(), _Table()
    offsets, targets = [0], []
    for each in rows:
        targets += [row_of[name] for name in each.operands if name in row_of]
        offsets.append(len(targets))
    return {
        "name": module.name,
        "entry": number_of[module.entry],
        "computations": computations,
        "names": [each.name for each in rows],
        "opcode": [opcodes(each.opcode) for each in rows],
        "shape": [shapes(each.shape) for each in rows],
        "computation": [number_of[each.computation] for each in rows],
        "scope": [scopes(each.op_name) for each in rows],
        "kind": [kinds(kind_of(each, module)) for each in rows],
        "attributes": [_cut(each.attributes) for each in rows],
        "offsets": offsets,
        "targets": targets,
        "called": {
            number: [number_of[name] for name in each.calls if name in number_of]
            for number, each in enumerate(rows)
            if each.calls
        },
        "parameter": {
            number: int(each.argument)
            for number, each in enumerate(rows)
            if each.opcode == "parameter"
        },
        "roots": [number for number, each in enumerate(rows) if each.is_root],
        "opcodes": opcodes.rows,
        "shapes": shapes.rows,
        "scopes": scopes.rows,
        "kinds": kinds.rows,
    }


class _Table:
    """Collects distinct texts as the rows of a table; returns the row of each."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def rows(self) -> list[str]:
        return list(self._numbers)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
