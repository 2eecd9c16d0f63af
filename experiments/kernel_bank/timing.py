"""Times of the variants of one kernel, in turns in one process, under XLA's profiler.

A call of an executable takes some ten microseconds, more than a small kernel does. So what is taken
is the time from the begin of the first step to the end of the last one, which XLA marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from hlograph.errors import HloError
from hlograph.execution.load import LoadMeter
from hlograph.execution.runs import Run
from hlograph.profiling.attribution import attribute
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import RecordedRun, profile, recorded_runs

_TURNS, _COLD_TURNS = 5, 3
# Warm runs of a turn: as many as take this long, up to a number.
_TURN_SECONDS, _MOST_RUNS = 5e-4, 10
# Longer runs are less noisy, and depend less on what the caches hold.
_LONG, _LONG_TURNS, _LONG_COLD_TURNS = 2e-3, 3, 1

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_USUAL_CACHE = 32 << 20


class Compiled(NamedTuple):
    """A variant to time.

    Attributes:
        run: Runs it.
        program: The module that jaxlib generated code from.
    """

    run: Run
    program: OptimizedModule


class VariantTimes(NamedTuple):
    """Times of a variant.

    Attributes:
        warm: Seconds of a warm run, for each turn.
        cold: Seconds of cold runs.
        kernels: Text, calls and seconds of each kernel; no seconds where XLA marked none.
    """

    warm: tuple[float, ...]
    cold: tuple[float, ...]
    kernels: tuple[tuple[str, float, float | None], ...]


class _Item(NamedTuple):
    """One recorded run: of which variant, in which turn, and what comes before it."""

    variant: int
    turn: int
    before: str


class CacheSweep:
    """Fills the caches with other data."""

    def __init__(self) -> None:
        self._data = np.ones(5 * largest_cache() // 4 // 8)

    def __call__(self) -> None:
        """Reads more data than the caches hold."""
        self._data.sum()


def largest_cache() -> int:
    """Returns the bytes of the largest cache of a CPU, as Linux says; 32 MiB elsewhere."""
    sizes = [int(file.read_text().strip().rstrip("K")) << 10 for file in _CACHES.glob("*/size")]
    return max(sizes, default=_USUAL_CACHE)


class RunInTurns(NamedTuple):
    """Runs of variants in turns, which the profiler recorded.

    Attributes:
        variants: The variants.
        schedule: The runs.
        recorded: The profile.
        load: Load of the machine meanwhile.
    """

    variants: Sequence[Compiled]
    schedule: Sequence[_Item]
    recorded: bytes
    load: float

    def times(self) -> list[VariantTimes]:
        """Returns the times of each variant.

        Raises:
            HloError: XLA's profiler recorded no step of a variant.
        """
        names = {name for variant in self.variants for name in variant.program.instructions}
        of_variant: list[list[tuple[_Item, RecordedRun]]] = [[] for _ in self.variants]
        runs = recorded_runs(self.recorded, names)
        for item, run in zip(self.schedule, runs, strict=True):
            of_variant[item.variant].append((item, run))
        return [_times(v, runs) for v, runs in zip(self.variants, of_variant, strict=True)]


def run_in_turns(variants: Sequence[Compiled], sweep: CacheSweep) -> RunInTurns:
    """Runs variants in turns under the profiler. Nothing else should run meanwhile.

    Args:
        variants: The variants, each warmed by a run.
        sweep: Fills the caches.
    """
    schedule = _schedule([variant.run.seconds() for variant in variants])
    read, items, coming = LoadMeter(), iter(schedule), iter(schedule)

    def before() -> None:
        item = next(coming)
        if item.before == "sweep":
            sweep()
        elif item.before == "run":
            variants[item.variant].run.seconds()

    def run() -> Any:
        return variants[next(items).variant].run.seconds()

    begun = read()
    recorded = profile(run, len(schedule), before)
    return RunInTurns(variants, schedule, recorded, begun.load_until(read()))


def _schedule(seconds: Sequence[float]) -> list[_Item]:
    """Returns the runs: in each turn all variants, each turn beginning with another one."""
    is_long = max(seconds) > _LONG
    turns, cold_turns = (_LONG_TURNS, _LONG_COLD_TURNS) if is_long else (_TURNS, _COLD_TURNS)
    schedule = []
    for turn in range(turns):
        for offset in range(len(seconds)):
            variant = (turn + offset) % len(seconds)
            # The first run after another variant's brings back operands and code.
            first = "" if seconds[variant] > _LONG else "run"
            runs = max(1, min(_MOST_RUNS, int(_TURN_SECONDS / seconds[variant])))
            schedule += [_Item(variant, turn, "" if n else first) for n in range(runs)]
            if turn < cold_turns:
                schedule.append(_Item(variant, turn, "sweep"))
    return schedule


def _times(variant: Compiled, runs: Sequence[tuple[_Item, RecordedRun]]) -> VariantTimes:
    if not all(recorded.spans for _, recorded in runs):
        raise HloError("XLA's profiler recorded no step of a kernel")
    warm = [(item, recorded) for item, recorded in runs if item.before != "sweep"]
    last = max(item.turn for item, _ in warm)
    turns = [[_seconds(r) for item, r in warm if item.turn == turn] for turn in range(last + 1)]
    times = attribute([recorded for _, recorded in warm], variant.program)
    return VariantTimes(
        tuple(median(turn) for turn in turns),
        tuple(_seconds(recorded) for item, recorded in runs if item.before == "sweep"),
        tuple(
            (kernel.text, times.calls.get(kernel.name, kernel.calls), times.own.get(kernel.name))
            for kernel in kernel_modules(variant.program)
        ),
    )


def _seconds(run: RecordedRun) -> float:
    begun = min(span.start for span in run.spans)
    return 1e-9 * (max(span.end for span in run.spans) - begun)
