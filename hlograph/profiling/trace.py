"""Recorded runs: when each step of XLA:CPU's runtime began and ended, from XLA's profiler.

XLA marks each step (thunk) twice: by an event with the name of its instruction, which ends when the
step's function returns, and by an event ``end: <name>`` that begins when the step is done. Steps
that hand work to the thread pool are done later, on another thread. Steps of the bodies of loops
and branches are marked each time they run; a loop that was compiled to one kernel is one step.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from hlograph.errors import HloError

Run = Callable[[], object]
"""Function that runs a program once and returns when the results are there."""

_RUN = "hlograph run"
_END = "end: "
# The last end of a step may be recorded just after the results are there.
_SETTLING_SECONDS = 0.002


class Span(NamedTuple):
    """One execution of a step: name of its instruction, and nanoseconds."""

    name: str
    start: float
    end: float


class RecordedRun(NamedTuple):
    """One run: its begin and end in nanoseconds, and the steps in it."""

    start: float
    end: float
    spans: tuple[Span, ...]

    @property
    def seconds(self) -> float:
        """Wall time of the run under the profiler, in seconds."""
        return (self.end - self.start) * 1e-9


def record(
    run: Run, runs: int, names: Collection[str], before: Run | None = None
) -> list[RecordedRun]:
    """Runs a program under XLA's profiler.

    Args:
        run: Runs the program once; it runs no other program of jaxlib.
        runs: Number of runs.
        names: Names of the instructions of the program.
        before: Called before each run, outside of its time.

    Raises:
        HloError: Another profile is being recorded in this process.
    """
    return recorded_runs(profile(run, runs, before), names)


def profile(run: Run, runs: int, before: Run | None = None) -> bytes:
    """Returns a serialized ``XSpace`` of a program's runs under XLA's profiler.

    Args:
        run: See ``record``.
        runs: Number of runs.
        before: See ``record``.

    Raises:
        HloError: Another profile is being recorded in this process.
    """
    from jax.profiler import TraceAnnotation

    session = _session()
    try:
        for _ in range(runs):
            if before:
                before()
            with TraceAnnotation(_RUN):
                run()
        time.sleep(_SETTLING_SECONDS)
    finally:
        recorded = _stopped(session)
    return recorded


def record_parts(
    run: Run, offsets: Sequence[float], length: float, names: Collection[str]
) -> list[RecordedRun]:
    """Records parts of runs of a program.

    To collect and read a recording takes some microseconds for each step, so a loop of many small
    steps costs a hundred times what it runs. Parts of it show the same. A step that began before a
    part is not in it.

    Args:
        run: Runs the program once; it runs no other program of jaxlib.
        offsets: Seconds from the begin of a run to each part. A part that does not end before the
            run does is left out.
        length: Seconds of each part.
        names: Names of the instructions of the program.

    Raises:
        HloError: Another profile is being recorded in this process.
    """
    parts: list[bytes] = []
    waiting = sorted(offsets)
    while waiting:
        recorded, waiting = _parts_of_run(run, waiting, length)
        parts += recorded
    return [part for data in parts for part in recorded_runs(data, names)]


def _parts_of_run(
    run: Run, offsets: Sequence[float], length: float
) -> tuple[list[bytes], list[float]]:
    """Returns the recordings of the parts of one run, and the offsets that passed meanwhile."""
    from jax.profiler import TraceAnnotation

    ended = threading.Event()

    def take(begun: float) -> tuple[list[bytes], list[float]]:
        recorded: list[bytes] = []
        passed: list[float] = []
        for offset in offsets:
            left = begun + offset - time.perf_counter()
            if left < 0 and recorded:
                passed.append(offset)
                continue
            if ended.wait(max(left, 0.0)):
                break
            session, whole = _session(), False
            try:
                with TraceAnnotation(_RUN):
                    whole = not ended.wait(length)
            finally:
                part = _stopped(session)
            if whole:
                recorded.append(part)
        return recorded, passed

    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(take, time.perf_counter())
        try:
            run()
        finally:
            ended.set()
        return taken.result()


def _session() -> Any:
    """Begins to record; jax.profiler.start_trace would also write files, which takes longer."""
    from jax.profiler import ProfileOptions
    from jaxlib._profiler import ProfilerSession

    options = ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.enable_hlo_proto = False
    return ProfilerSession(options)


def _stopped(session: Any) -> bytes:
    """Stops a recording and returns its data; only here XLA says that it could not start."""
    try:
        return session.stop()
    except RuntimeError as error:
        raise HloError(
            f"XLA's profiler does not record: {error}. Expected that no other profile is being "
            "recorded in this process: stop it first"
        ) from error


def recorded_runs(recorded: bytes, names: Collection[str]) -> list[RecordedRun]:
    """Returns the runs of a profile.

    Args:
        recorded: Result of ``profile``.
        names: Names of the instructions of the program.
    """
    from jax.profiler import ProfileData

    return _recorded_runs(ProfileData.from_serialized_xspace(recorded), names)


def _recorded_runs(data: Any, names: Collection[str]) -> list[RecordedRun]:
    windows: list[tuple[float, float]] = []
    begun: dict[str, list[tuple[float, float]]] = defaultdict(list)
    done: dict[str, list[float]] = defaultdict(list)
    kernels = frozenset(names)
    for event in (event for plane in data.planes for line in plane.lines for event in line.events):
        name = event.name
        if name in kernels:
            begun[name].append((event.start_ns, event.end_ns))
        elif name.startswith(_END):
            done[name.removeprefix(_END)].append(event.start_ns)
        elif name == _RUN:
            windows.append((event.start_ns, event.end_ns))
    windows.sort()
    spans: list[list[Span]] = [[] for _ in windows]
    for name, many in begun.items():
        many.sort()
        ends = sorted(done[name])
        for (start, end), run in zip(windows, spans, strict=True):
            first, last = bisect_left(many, (start,)), bisect_left(many, (end,))
            run += _spans(name, many[first:last], ends, end)
    return [RecordedRun(*window, tuple(many)) for window, many in zip(windows, spans, strict=True)]


def _spans(
    name: str, begun: list[tuple[float, float]], ends: list[float], last: float
) -> list[Span]:
    """Returns the spans of an instruction in a run.

    Args:
        name: The instruction.
        begun: When each of its steps began, and when the step's function returned.
        ends: When steps of the instruction were done, in all runs.
        last: End of the run.
    """
    spans = []
    for number, (start, returned) in enumerate(begun):
        # An instruction does not overlap with itself.
        limit = begun[number + 1][0] if number + 1 < len(begun) else last
        position = bisect_left(ends, start)
        if position < len(ends) and ends[position] <= limit:
            end = ends[position]
        else:  # the results were there before the end was marked
            end = limit if limit == last else returned
        spans.append(Span(name, start, max(start, end)))
    return spans
