"""Profile of a program: times of its kernels, memory, a bound on its speed, and their table."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hlograph.profiling.cost import RunCost, cost_of
from hlograph.profiling.kernel_categories import OUTSIDE
from hlograph.profiling.kernels import Kernel, measure
from hlograph.profiling.peaks import Peaks
from hlograph.profiling.trace import Run

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable

_LONGEST = 44

# Farther from 1 than this factor, `Profile.accounted` shows that runs differed too much.
_ROUGH = 1.25

_LAYOUT = re.compile(r"\{[^}]*\}")
_HEADER = ("share", "time", "calls", "kind", "kernel", "library", "shape", "operation")
_RIGHT = frozenset({"share", "time", "calls"})


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """Memory of a program in bytes.

    Attributes:
        arguments: Its arguments.
        outputs: Its results, also those that replace arguments.
        aliased: The part of the results that replaces donated arguments.
        temporaries: Everything else at run time.
        code: Generated code; 0 if XLA does not say.
        peak: The most that is in use at one time; 0 if XLA does not say.
    """

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    code: int
    peak: int

    @property
    def needed(self) -> int:
        """Arguments, results and temporaries; memory of temporaries is shared by XLA's plan."""
        return self.arguments + self.outputs - self.aliased + self.temporaries

    @classmethod
    def of(cls, executable: LoadedExecutable) -> MemoryUsage:
        """Returns the memory of an executable, as XLA planned it."""
        stats = executable.get_compiled_memory_stats()
        return cls(
            arguments=stats.argument_size_in_bytes,
            outputs=stats.output_size_in_bytes,
            aliased=stats.alias_size_in_bytes,
            temporaries=stats.temp_size_in_bytes,
            code=stats.generated_code_size_in_bytes,
            peak=int(getattr(stats, "peak_memory_in_bytes", 0)),
        )


@dataclass(frozen=True)
class Profile:
    """Run time, memory and work of a program that jaxlib compiled.

    Attributes:
        name: Name of the module.
        seconds: Median wall seconds of a run, without the profiler.
        recorded_seconds: The same under the profiler.
        accounted: How well the kernels' times explain a run: near 1 is good. See
            ``kernels.Measurement``.
        kernels: Time of each kernel, slowest first, and of ``outside kernels``; their sum is
            ``seconds``.
        memory: Memory of the program.
        cost: Work of a run.
    """

    name: str
    seconds: float
    recorded_seconds: float
    accounted: float
    kernels: tuple[Kernel, ...]
    memory: MemoryUsage
    cost: RunCost

    def by_kind(self) -> dict[str, float]:
        """Returns the share of the time of each kind of kernel, largest first; they sum to 1."""
        shares: dict[str, float] = {}
        total = sum(kernel.seconds for kernel in self.kernels)
        for kernel in self.kernels:
            shares[kernel.kind] = shares.get(kernel.kind, 0.0) + kernel.seconds / total
        return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))

    def roofline_seconds(self, peaks: Peaks) -> float:
        """Returns the least seconds that the program's work takes at a machine's peak speeds.

        It is a rough bound. Bytes that stay in a cache count as bytes of memory, so a program can
        be faster; and a program may do work that another one with the same results does not need.
        """
        return max(self.cost.flops / peaks.flops, self.cost.bytes_accessed / peaks.bytes)

    def headroom(self, peaks: Peaks) -> float:
        """Returns how many times as long as the roofline a run takes; inf without any work."""
        roofline = self.roofline_seconds(peaks)
        return self.seconds / roofline if roofline else float("inf")

    def table(self, limit: int = 20, peaks: Peaks | None = None) -> str:
        """Returns the profile as text of several lines.

        Args:
            limit: Largest number of kernels to show.
            peaks: Peak speeds, for the roofline; None leaves it out.
        """
        return _table(self, limit, peaks)

    def to_json(self) -> dict[str, Any]:
        """Returns the profile as a JSON object, with the shares by kind."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "recorded_seconds": self.recorded_seconds,
            "accounted": self.accounted,
            "by_kind": self.by_kind(),
            "memory": asdict(self.memory),
            "cost": self.cost.to_json(),
            "kernels": [kernel.to_json() for kernel in self.kernels],
        }


def profile_executable(
    executable: LoadedExecutable,
    run: Run,
    *,
    runs: int = 20,
    max_seconds: float = 20.0,
    before: Run | None = None,
) -> Profile:
    """Returns the profile of a program that jaxlib compiled.

    Args:
        executable: The program, such as ``jax.jit(f).lower(x).compile().runtime_executable()``.
        run: Runs it once, returns when the results are there, and runs no other program.
        runs: Number of runs without and under XLA's profiler.
        max_seconds: Seconds for all runs, which lowers their number.
        before: Called before each run, outside of its time, for example to copy donated inputs.

    Raises:
        HloError: As for ``kernels.measure``.
        ValueError: The number of runs is not positive.
    """
    measured = measure(executable, run, runs=runs, max_seconds=max_seconds, before=before)
    calls = {kernel.name: kernel.calls for kernel in measured.kernels}
    return Profile(
        name=measured.program.name,
        seconds=measured.seconds,
        recorded_seconds=measured.recorded_seconds,
        accounted=measured.accounted,
        kernels=measured.kernels,
        memory=MemoryUsage.of(executable),
        cost=cost_of(executable, measured.program, calls),
    )


def shortened(text: str) -> str:
    """Returns a text as it is, or its begin if it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def without_layouts(shape: str) -> str:
    """Returns the text of a shape without its layouts: ``f32[8,16]`` of ``f32[8,16]{1,0}``."""
    return _LAYOUT.sub("", shape)


def _table(profile: Profile, limit: int, peaks: Peaks | None) -> str:
    """Returns a profile as text: a summary, the shares by kind, and the slowest kernels."""
    rows: list[tuple[str, ...]] = [_HEADER]
    for kernel in profile.kernels[: max(0, limit)]:
        rows.append(
            (
                _percent(kernel.seconds / profile.seconds),
                _duration(kernel.seconds),
                f"{kernel.calls:g}" if kernel.kind != OUTSIDE else "",
                kernel.kind,
                shortened(kernel.name),
                "" if kernel.library == "none" else kernel.library,
                shortened(without_layouts(kernel.shape)),
                _end(kernel.op_name),
            )
        )
    if (hidden := profile.kernels[max(0, limit) :]) and limit > 0:
        seconds = sum(kernel.seconds for kernel in hidden)
        rest = (_percent(seconds / profile.seconds), _duration(seconds), "", f"{len(hidden)} more")
        rows.append((*rest, *[""] * (len(_HEADER) - len(rest))))
    lines = [*_summary(profile, peaks), "", *_shares(profile)]
    return "\n".join([*lines, "", *_aligned(rows)] if limit > 0 else lines)


def _duration(seconds: float) -> str:
    """Returns a time with a unit, such as ``1.23 ms``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def _summary(profile: Profile, peaks: Peaks | None) -> list[str]:
    memory, cost = profile.memory, profile.cost
    lines = [
        f"{profile.name}: {_duration(profile.seconds)} a run (median), "
        f"{_duration(profile.recorded_seconds)} under the profiler; the kernels' times sum to "
        f"{_percent(profile.accounted)} of a run before they are scaled to it"
        + ("" if 1 / _ROUGH < profile.accounted < _ROUGH else ": rough, the machine was busy"),
        f"memory: arguments {_bytes(memory.arguments)}, results {_bytes(memory.outputs)}, "
        f"temporaries {_bytes(memory.temporaries)}"
        + (f", peak {_bytes(memory.peak)}" if memory.peak else ""),
        f"work: {_count(cost.flops)}flop, {_bytes(cost.bytes_accessed)} accessed",
    ]
    if peaks:
        lines[-1] += (
            f"; at least {_duration(profile.roofline_seconds(peaks))} at this machine's peaks of "
            f"{_count(peaks.flops)}flop/s and {_bytes(peaks.bytes)}/s, headroom "
            f"{profile.headroom(peaks):.3g}"
        )
    return lines


def _shares(profile: Profile) -> list[str]:
    return _aligned(
        [("share", "kind"), *((_percent(s), kind) for kind, s in profile.by_kind().items())]
    )


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if name in _RIGHT else text.ljust(width)
            for text, width, name in zip(row, widths, rows[0], strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _end(text: str) -> str:
    """Returns the end of a long text: the last part of an operation's name says most."""
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(number: float) -> str:
    for unit, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} "


def _bytes(number: float) -> str:
    return f"{_count(number)}B"
